"""Staged actions: a tool stages an action, the model is reminded of the action, and ``resolve`` applies or discards
the action."""
