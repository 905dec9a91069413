"""Layer 1: the calls of tools, from their arguments to their results. Start with ``executor``, then read ``engine``."""
