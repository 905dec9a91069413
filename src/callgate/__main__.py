"""``python -m callgate``."""

import sys

from callgate.cli import main

if __name__ == "__main__":
    sys.exit(main())
