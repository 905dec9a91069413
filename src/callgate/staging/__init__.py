"""Pending actions: staged by a tool, applied or discarded by ``resolve``, reminded of and forced until then."""
