"""Turns, the loop and the state of a conversation. The package ``core`` handles single calls."""
