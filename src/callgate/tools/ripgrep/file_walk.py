"""The files that ripgrep would look at, found by our own walk: ignore files are obeyed, hidden files are left out, and
links are not followed.

Of several ignore files ``.rgignore`` goes before ``.ignore``, that before ``.gitignore``, and that before
``.git/info/exclude``, wherever they stand; of one kind the innermost decides. Those of git hold up to the repository.
"""

import os
from collections.abc import Iterator, Sequence
from typing import Protocol

from callgate.host.ports import Files
from callgate.tools.ignore_files import IgnoreFile, parse_glob, parse_ignore, verdict
from callgate.tools.structural.source_walk import read_ignore
from callgate.words.errors import ToolFailure
from callgate.words.noun import noun

Lists = tuple[tuple[IgnoreFile, ...], ...]
"""By kind: .rgignore, .ignore, .gitignore, .git/info/exclude; each from the outermost folder to the innermost."""

_FILES = (".rgignore", ".ignore", ".gitignore", ".git/info/exclude")
_NONE: Lists = ((), (), (), ())
_OF_GIT = 2
"""Kinds from here on are git's."""
_MOST_FILE_BYTES = 1_000_000_000
"""Bytes of a file that is searched in a host's own files."""


@noun
class WalkedFile:
    """``shown`` is its path as it is printed, ``place`` the whole path."""

    shown: str
    place: str


@noun
class TreeEntry:
    """A name in a folder; neither a folder nor a file is a link or a device."""

    name: str
    is_folder: bool
    is_file: bool


class Tree(Protocol):
    """The files that are walked, by absolute paths. Nothing is raised: what cannot be read is empty or not there."""

    def is_there(self, path: str) -> bool: ...

    def is_folder(self, path: str) -> bool: ...

    def entries(self, path: str) -> list[TreeEntry]: ...

    def read(self, path: str) -> bytes | None: ...

    def ignore_lines(self, path: str) -> str:
        """The text of an ignore file; empty for none, and for a link."""
        ...


class DiskTree:
    """The files of this machine."""

    def is_there(self, path: str) -> bool:
        return os.path.lexists(path)

    def is_folder(self, path: str) -> bool:
        return os.path.isdir(path)

    def ignore_lines(self, path: str) -> str:
        return read_ignore(path)

    def entries(self, path: str) -> list[TreeEntry]:
        try:
            with os.scandir(path) as found:
                return [
                    TreeEntry(each.name, each.is_dir(follow_symlinks=False), each.is_file(follow_symlinks=False))
                    for each in found
                ]
        except OSError:
            return []

    def read(self, path: str) -> bytes | None:
        try:
            with open(path, "rb") as file:
                return file.read()
        except OSError:
            return None


class PortTree:
    """The files of a host that keeps them elsewhere."""

    def __init__(self, files: Files) -> None:
        self._files = files

    def is_there(self, path: str) -> bool:
        return self._files.status(path).kind != "missing"

    def is_folder(self, path: str) -> bool:
        return self._files.status(path).kind == "folder"

    def entries(self, path: str) -> list[TreeEntry]:
        try:
            found = self._files.entries(path)
        except ToolFailure:
            return []
        return [TreeEntry(each.name, each.kind == "folder", each.kind == "file") for each in found]

    def read(self, path: str) -> bytes | None:
        try:
            return self._files.read(path, _MOST_FILE_BYTES)
        except ToolFailure:
            return None

    def ignore_lines(self, path: str) -> str:
        return (self.read(path) or b"").decode("utf-8", "replace")


def walked(tree: Tree, folder: str, path: str, names: Sequence[str], *, in_repository: bool) -> Iterator[WalkedFile]:
    """The files below a path of a folder, in order; a file that is named is taken whatever is said of it."""
    start = f"./{path}" if path else "."
    place = f"{folder.rstrip('/')}/{path}" if path else folder
    if not tree.is_folder(place):
        if tree.is_there(place):
            yield WalkedFile(start, place)
        return
    globs = [glob for name in names if (glob := parse_glob(name)) is not None]
    walk = _Walk(tree, in_repository)
    todo = [(start, place, walk.above(place))]
    while todo:
        shown, here, outer = todo.pop()
        lists = walk.added(outer, here)
        inner: list[tuple[str, str, Lists]] = []
        for entry in sorted(tree.entries(here), key=lambda entry: os.fsencode(entry.name)):
            below = f"{here.rstrip('/')}/{entry.name}"
            if not _kept(lists, below, entry.name, folder=entry.is_folder):
                continue
            if entry.is_folder:
                inner.append((f"{shown}/{entry.name}", below, lists))
            elif entry.is_file and (not globs or any(glob.matches(entry.name) for glob in globs)):
                yield WalkedFile(f"{shown}/{entry.name}", below)
        todo += reversed(inner)


def _kept(lists: Lists, path: str, name: str, *, folder: bool) -> bool:
    said = next((v for files in lists if (v := verdict(files, path.lstrip("/"), folder=folder)) is not None), None)
    return not said and (said is False or not name.startswith("."))


class _Walk:
    """Collects ignore files on the way down."""

    def __init__(self, tree: Tree, in_repository: bool) -> None:
        self._tree = tree
        self._in_repository = in_repository

    def above(self, place: str) -> Lists:
        """Those of the folders above a folder, but not its own."""
        lists, parts = _NONE, place.rstrip("/").split("/")
        for depth in range(1, len(parts)):
            lists = self.added(lists, "/".join(parts[:depth]) or "/")
        return lists

    def added(self, lists: Lists, folder: str) -> Lists:
        home, lead = folder.strip("/"), folder.rstrip("/")
        if self._in_repository and self._tree.is_there(f"{lead}/.git"):
            lists = (*lists[:_OF_GIT], (), ())
        texts = [self._tree.ignore_lines(f"{lead}/{name}") for name in _FILES]
        return tuple(
            (*files, parse_ignore(text, home)) if text else files for files, text in zip(lists, texts, strict=True)
        )
