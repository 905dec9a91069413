"""Paths that a command may touch although no word names them: patterns of the shell, and programs that read whole
folders."""

import os
import re
from collections.abc import Callable, Iterator, Sequence
from fnmatch import fnmatchcase
from itertools import islice, product
from posixpath import join

from callgate.policy.path_patterns import PathPattern
from callgate.policy.protected import is_secret
from callgate.words.late_pattern import late_pattern
from callgate.words.resolved_path import ResolvedPath

_GLOB = late_pattern(r"[*?[]")
_MOST_PATHS = 32
_MOST_LISTED = 5_000
_MOST_FILLED = 300
_INSTALLED = frozenset((".git", "node_modules", ".venv", "venv", "site-packages", "target", "__pycache__"))


def spellings(path: str, pattern: PathPattern) -> list[str]:
    """The paths that a shell may make of a pattern, as far as names in the rule fit it."""
    parts = path.split("/")
    if not _GLOB.search(path):
        return []
    names = [re.sub(r"\\(.)|[*?]", lambda found: found[1] or "x", part) for part in pattern.text.split("/") if part]
    choices = [_fitting(part, names) if _GLOB.search(part) else [part] for part in parts]
    return ["/".join(each) for each in islice(product(*choices), _MOST_PATHS)]


def _fitting(part: str, names: Sequence[str]) -> list[str]:
    """Those a shell would put there: it leaves out what begins with a dot, unless the dot is written."""
    return [name for name in names if fnmatchcase(name, part) and (name[0] != "." or part[0] == ".")]


def filled(pattern: str, listed: Callable[[str], Sequence[str] | None]) -> tuple[str, ...] | None:
    """The paths that a shell makes of a pattern now; None where a folder cannot be listed or there are too many.
    ``listed`` gives the names in a folder, none for a file. ``**`` stands for folders below as well, as in some
    shells."""
    found: list[str] = []
    todo = [("/" if pattern.startswith("/") else "", tuple(filter(None, pattern.split("/"))))]
    looked = 0
    while todo:
        folder, parts = todo.pop()
        if not parts:
            found.append(folder)
        elif not _GLOB.search(parts[0]):
            todo.append((join(folder, parts[0]), parts[1:]))
        else:
            names = listed(folder or ".")
            looked += 1 + len(names or ())
            if names is None or looked > _MOST_LISTED or len(found) + len(todo) > _MOST_FILLED:
                return None
            fitting = [name for name in names if _fits(name, parts[0])]
            todo += [(join(folder, name), parts[1:]) for name in fitting]
            if parts[0] == "**":
                todo += [(join(folder, name), parts) for name in fitting]
                todo += [(folder, parts[1:])] if parts[1:] else []
    return tuple(dict.fromkeys(found))


def _fits(name: str, part: str) -> bool:
    """A shell leaves out names that begin with a dot, unless the dot is written."""
    return fnmatchcase(name, part.replace("[^", "[!")) and (name[0] != "." or part[0] == ".")


def says_little(path: str) -> bool:
    """True if one of its patterns does not fix the beginning of a name: it may match much of a folder."""
    return any(_GLOB.match(part.lstrip(".")) for part in path.split("/"))


def secrets_in(folder: str) -> Iterator[str]:
    """Paths below the folder that hold keys or passwords, by their names: looked for where people put them, not among
    installed packages, and not beyond the first few thousand files."""
    todo, looked = [folder], 0
    for here in todo:
        try:
            with os.scandir(here) as listed:
                entries = sorted(listed, key=lambda entry: entry.name)
        except OSError:
            continue
        for entry in entries:
            if is_secret(entry.name):
                yield entry.path
            elif entry.name not in _INSTALLED and entry.is_dir(follow_symlinks=False):
                todo.append(entry.path)
        looked += len(entries)
        if looked > _MOST_LISTED:
            return


def may_hold(folder: ResolvedPath, pattern: PathPattern, *, root: str, home: str) -> bool:
    """True if a path that the pattern matches may be somewhere in the folder."""
    text = pattern.text.rstrip("/")
    if "/" not in text:
        start = root
    elif text.startswith("//"):
        start = _literal(text[1:])
    elif text.startswith("~/"):
        start = _literal(join(home, text[2:]))
    else:
        start = _literal(join(root, text.removeprefix(root.rstrip("/") + "/").lstrip("./")))
    return any(_beneath(start, hop) or _beneath(hop, start) for hop in (folder.hops[0], folder.resolved))


def _literal(path: str) -> str:
    """As much of the path as has no pattern in it."""
    found = _GLOB.search(path)
    return path if found is None else path[: found.start()].rpartition("/")[0]


def _beneath(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")
