"""Turns, the loop and the state of a conversation. Single calls are in core."""
