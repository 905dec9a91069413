"""A real program that applies a change to files, for tests that kill it or take its disk away.

    apply_program.py <root> <journal> <files>

It says ``done``, or ``refused`` and why. What it applies is ``tests.crash.changed.change``.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from callgate.host.applying.apply import apply_changes
from callgate.words.errors import ToolFailure
from tests.crash.changed import change


def main(root: Path, journal: Path, files: int) -> None:
    try:
        apply_changes(change(files), root, journal)
    except ToolFailure as failure:
        print("refused", failure)
    else:
        print("done")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]))
