"""Floor 1: the corridor every call walks through. Read ``turn`` first, then ``executor``."""
