"""``python -m callgate``."""

import os
import sys

if __name__ == "__main__":
    # Python puts the current folder first on its path, and that is the workspace: a module in it, which any command may
    # have written, would be loaded in place of one of ours.
    try:
        here = os.getcwd()
    except FileNotFoundError:  # it was removed; the command says so
        here = ""
    sys.path[:] = [place for place in sys.path if place not in ("", here)]
    from callgate.cli import main

    sys.exit(main())
