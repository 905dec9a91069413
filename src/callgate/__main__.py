"""The program ``callgate``, also as ``python -m callgate``."""

import os
import sys
from contextlib import suppress

from callgate._version import __version__


def run() -> int:
    if sys.argv[1:] == ["--version"]:  # package managers ask every program, so the command line is not loaded for it
        with suppress(OSError):  # then the command line tries
            os.write(1, f"callgate {__version__}\n".encode())
            return 0
    from callgate.cli import main

    return main()


if __name__ == "__main__":
    # Python puts the current folder first on its path, and that is the workspace: a module in it, which any command may
    # have written, would be loaded in place of one of ours.
    try:
        here = os.getcwd()
    except FileNotFoundError:  # it was removed; the command says so
        here = ""
    sys.path[:] = [place for place in sys.path if place not in ("", here)]
    sys.exit(run())
