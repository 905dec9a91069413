"""Pending actions: a tool stages them, ``resolve`` applies or discards them; until then the model is reminded."""
