"""Finds the files that ripgrep would search: ignore files are obeyed, hidden files skipped, links not followed.

Ignore files have this precedence, regardless of their folders: ``.rgignore``, ``.ignore``, ``.gitignore``,
``.git/info/exclude``. Among files of one kind, the innermost decides. The ignore files of git apply up to the root of
the repository.
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
"""Ignore files by kind: .rgignore, .ignore, .gitignore, .git/info/exclude; each kind from the outermost folder to
the innermost."""

_FILES = (".rgignore", ".ignore", ".gitignore", ".git/info/exclude")
_NONE: Lists = ((), (), (), ())
_OF_GIT = 2
"""The first index of git's kinds."""
_MOST_FILE_BYTES = 1_000_000_000
"""The largest file in bytes that is searched if the files of the host are not on this machine."""


@noun
class WalkedFile:
    """A file that was found. ``shown`` is the path to print, ``place`` the whole path."""

    shown: str
    place: str


@noun
class TreeEntry:
    """An entry of a folder. Links and devices are neither folders nor files."""

    name: str
    is_folder: bool
    is_file: bool


class Tree(Protocol):
    """A file system with absolute paths. Nothing is raised: a folder or file that cannot be read is treated as empty or
    missing."""

    def is_there(self, path: str) -> bool: ...

    def is_folder(self, path: str) -> bool: ...

    def entries(self, path: str) -> list[TreeEntry]: ...

    def read(self, path: str) -> bytes | None: ...

    def ignore_lines(self, path: str) -> str:
        """Return the text of an ignore file; empty if it does not exist or is a link."""
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
    """The files of a host that are not on this machine."""

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
    """Yield the files below a path of a folder, in order. If the path is a file, it is yielded even if it is
    ignored."""
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
    """Walks a folder and collects the ignore files on the way down."""

    def __init__(self, tree: Tree, in_repository: bool) -> None:
        self._tree = tree
        self._in_repository = in_repository

    def above(self, place: str) -> Lists:
        """Return the ignore files of the folders above a folder, without the ignore files of the folder."""
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
