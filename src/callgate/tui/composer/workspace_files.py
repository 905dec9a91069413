"""Lists the files of a workspace for completion. All functions block."""

import os
import re
import subprocess
from itertools import islice
from pathlib import Path

from callgate.host.environment import reading_environment, scrubbed
from callgate.tools.ripgrep.search_engine import SearchRequest, argv, available_engine

MOST_FILES = 300_000
_PIECE = 1 << 16
_COMPILED = re.compile(rb"(^|/)(__pycache__|node_modules)/|\.(py[cod]|o|obj|a|so|dylib|dll|exe|class)$")


def workspace_files(root: Path, most: int = MOST_FILES) -> list[str]:
    """Return the paths that Glob would find, unsorted: without hidden, git-ignored and compiled files.

    most  the maximum number of paths, so that a start in a home folder does not read the whole disk
    """
    inside = any((folder / ".git").exists() for folder in (root, *root.parents))
    command = argv(available_engine(), SearchRequest("", "files", in_repository=inside))
    found: list[str] = []
    try:
        program = subprocess.Popen(
            command,
            cwd=root,
            env=reading_environment(scrubbed(os.environ), str(root)),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # keeps Ctrl-C from ending it
        )
    except OSError:
        return []
    assert program.stdout is not None
    with program, program.stdout as output:
        rest = b""
        while len(found) < most and (piece := output.read(_PIECE)):
            *names, rest = (rest + piece).split(b"\0")
            found += [os.fsdecode(name).removeprefix("./") for name in names if not _COMPILED.search(name)]
        program.kill()
    return found[:most]


def folder_names(folder: Path, most: int = 2_000) -> list[str]:
    """Return the names in one folder, hidden names last; names of folders end with ``/``. Empty if the folder cannot
    be read."""
    try:
        with os.scandir(folder) as entries:
            found = [f"{each.name}/" if each.is_dir() else each.name for each in islice(entries, most)]
    except OSError:
        return []
    return sorted(found, key=lambda name: (name.startswith("."), name))
