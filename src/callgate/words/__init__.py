"""Floor 0: the nouns. Frozen dataclasses and tables, standard library only, no async."""
