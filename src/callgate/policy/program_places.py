"""Finds programs on PATH in folders that are empty inside the sandbox, such as a Python environment below ``/tmp``."""

import os
from contextlib import suppress

from callgate.host.sandbox.sandbox import EMPTY_INSIDE, places_in_empty_folders

_OF_THE_SYSTEM = frozenset(("/bin", "/sbin", "/usr/bin", "/usr/sbin", "/usr/local/sbin"))
_ENVIRONMENTS = ("pyvenv.cfg", "conda-meta")
_BESIDE = ("lib", "lib64", "libexec", "share", "include")  # what programs in ``bin`` read
_MOST_LINKS = 1_000


def places_of_programs(path: str, root: str) -> set[str]:
    """Return the folders that are empty inside the sandbox (such as folders below ``/tmp``) and contain programs on
    PATH or targets of links on PATH. Folders in the workspace are omitted, because they are visible inside the
    sandbox."""
    found: set[str] = set()
    for entry in map(os.path.normpath, path.split(":")):
        if os.path.isabs(entry) and entry not in _OF_THE_SYSTEM:
            # A folder that is reached over a link in an empty folder is bound at its own path too.
            spelled = [entry] if entry.startswith(tuple(f"{each}/" for each in EMPTY_INSIDE)) else []
            for folder in (*spelled, *places_in_empty_folders(entry, *_targets(entry))):
                found.update(_whole(folder))
    return {place for place in found if not f"{place}/".startswith(f"{root}/") and os.path.isdir(place)}


def _targets(folder: str) -> list[str]:
    """Return the folders that contain the targets of links in a folder."""
    found: list[str] = []
    with suppress(OSError), os.scandir(folder) as listed:
        for entry in listed:
            if len(found) < _MOST_LINKS and entry.is_symlink():
                found.append(os.path.dirname(os.path.realpath(entry.path)))
    return found


def _whole(folder: str) -> list[str]:
    """Return the folders that the programs in a folder need. For an environment of Python or Node this is the folder
    of the environment. For other programs these are their folder and the folders beside it that the programs read."""
    above, name = os.path.split(folder)
    if above in EMPTY_INSIDE:
        return [folder]
    if name == ".bin" or any(os.path.exists(os.path.join(above, each)) for each in _ENVIRONMENTS):
        return [above]
    return [folder, *(os.path.join(above, each) for each in _BESIDE)] if name in ("bin", "sbin") else [folder]
