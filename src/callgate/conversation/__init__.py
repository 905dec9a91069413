"""The turn, the loop and the state of a conversation; what a single call needs is in core."""
