"""The files that ripgrep would look at, found by our own walk: ignore files are obeyed, hidden files are left out, and
links are not followed.

Of several ignore files ``.rgignore`` goes before ``.ignore``, that before ``.gitignore``, and that before
``.git/info/exclude``, wherever they stand; of one kind the innermost decides. Those of git hold up to the repository.
"""

import os
import stat
from collections.abc import Iterator, Sequence

from callgate.tools.structural.files import read_ignore
from callgate.tools.structural.ignore import IgnoreFile, parse_glob, parse_ignore, verdict
from callgate.words.noun import noun

Lists = tuple[tuple[IgnoreFile, ...], ...]
"""By kind: .rgignore, .ignore, .gitignore, .git/info/exclude; each from the outermost folder to the innermost."""

_NAMES = (".rgignore", ".ignore", ".gitignore")
_NONE: Lists = ((), (), (), ())
_OF_GIT = 2
"""Kinds from here on are git's."""


@noun
class WalkedFile:
    """A file: ``shown`` is its path as it is printed, ``place`` where it is."""

    shown: str
    place: str


def walked(path: str, names: Sequence[str], *, in_repository: bool) -> Iterator[WalkedFile]:
    """The files below a path of the current folder, in order; a file that is named is taken whatever is said of it."""
    start = f"./{path}" if path else "."
    place = os.path.abspath(start)
    try:
        mode = os.stat(start).st_mode
    except OSError:
        return
    if not stat.S_ISDIR(mode):
        yield WalkedFile(start, place)
        return
    globs = [glob for name in names if (glob := parse_glob(name)) is not None]
    todo = [(start if path else "", place, _above(place, in_repository))]
    while todo:
        shown, folder, outer = todo.pop()
        lists = _with(outer, folder, in_repository)
        try:
            entries = sorted(os.scandir(folder), key=lambda entry: os.fsencode(entry.name))
        except OSError:
            continue
        inner: list[tuple[str, str, Lists]] = []
        for entry in entries:
            name = f"{shown}/{entry.name}" if shown else f"./{entry.name}"
            is_folder = entry.is_dir(follow_symlinks=False)
            if not _kept(lists, entry.path, entry.name, folder=is_folder):
                continue
            if is_folder:
                inner.append((name, entry.path, lists))
            elif entry.is_file(follow_symlinks=False) and (not globs or any(g.matches(entry.name) for g in globs)):
                yield WalkedFile(name, entry.path)
        todo += reversed(inner)


def _kept(lists: Lists, path: str, name: str, *, folder: bool) -> bool:
    said = next((v for files in lists if (v := verdict(files, path.lstrip("/"), folder=folder)) is not None), None)
    return not said and (said is False or not name.startswith("."))


def _above(place: str, in_repository: bool) -> Lists:
    """The ignore files of the folders above a folder, but not its own."""
    lists, parts = _NONE, place.split("/")
    for depth in range(1, len(parts)):
        lists = _with(lists, "/".join(parts[:depth]) or "/", in_repository)
    return lists


def _with(lists: Lists, folder: str, in_repository: bool) -> Lists:
    home = folder.strip("/")
    git = os.path.join(folder, ".git")
    if in_repository and os.path.exists(git):
        lists = (*lists[:_OF_GIT], (), ())
    texts = [read_ignore(os.path.join(folder, name)) for name in _NAMES]
    texts.append(read_ignore(os.path.join(git, "info", "exclude")))
    return tuple(
        (*files, parse_ignore(text, home)) if text else files for files, text in zip(lists, texts, strict=True)
    )
