"""The built-in search program: reads a SearchRequest as JSON and writes output like ripgrep.

It is a separate process so that a slow search can be killed, and so that all engines have one output format. Ignore
files are obeyed, hidden files skipped, links not followed. Ignore files have this precedence, regardless of their
folders: ``.rgignore``, ``.ignore``, ``.gitignore``, ``.git/info/exclude``. Among files of one kind, the innermost
decides. The ignore files of git apply up to the root of the repository.
"""

import codecs
import json
import os
import re
import sys
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import Literal

from callgate.host.ports import Files, FolderEntry
from callgate.tools.ignore_files import IgnoreFile, parse_glob, parse_ignore, read_ignore, verdict
from callgate.tools.ripgrep.search_engine import SearchRequest
from callgate.words.errors import ToolFailure

Lists = tuple[tuple[IgnoreFile, ...], ...]
"""Ignore files by kind: .rgignore, .ignore, .gitignore, .git/info/exclude; each kind from the outermost folder to
the innermost."""

IGNORE_FILES = (".rgignore", ".ignore", ".gitignore", ".git/info/exclude")
_NONE: Lists = ((), (), (), ())
_OF_GIT = 2
"""The first index of git's kinds."""
_MOST_FILE_BYTES = 1_000_000_000
"""The largest file in bytes that is searched if the files of the host are not on this machine."""


class DiskTree:
    """The files of this machine. Nothing is raised: a folder or file that cannot be read is empty or missing."""

    def is_there(self, path: str) -> bool:
        return os.path.lexists(path)

    def is_folder(self, path: str) -> bool:
        return os.path.isdir(path)

    def ignore_lines(self, path: str) -> str:
        return read_ignore(path)

    def entries(self, path: str) -> Sequence[FolderEntry]:
        try:
            with os.scandir(path) as found:
                return [FolderEntry(each.name, _kind(each)) for each in found]
        except OSError:
            return []

    def read(self, path: str) -> bytes | None:
        try:
            with open(path, "rb") as file:
                return file.read()
        except OSError:
            return None


class PortTree:
    """The files of a host that are not on this machine, with the methods of DiskTree."""

    def __init__(self, files: Files) -> None:
        self._files = files

    def is_there(self, path: str) -> bool:
        return self._files.status(path).kind != "missing"

    def is_folder(self, path: str) -> bool:
        return self._files.status(path).kind == "folder"

    def entries(self, path: str) -> Sequence[FolderEntry]:
        try:
            return self._files.entries(path)
        except ToolFailure:
            return []

    def read(self, path: str) -> bytes | None:
        try:
            return self._files.read(path, _MOST_FILE_BYTES)
        except ToolFailure:
            return None

    def ignore_lines(self, path: str) -> str:
        return (self.read(path) or b"").decode("utf-8", "replace")


Tree = DiskTree | PortTree


def _kind(entry: "os.DirEntry[str]") -> Literal["folder", "file", "other"]:
    """Return the kind of an entry. Links and devices are neither folders nor files."""
    if entry.is_dir(follow_symlinks=False):
        return "folder"
    return "file" if entry.is_file(follow_symlinks=False) else "other"


def walked(
    tree: Tree, folder: str, path: str, names: Sequence[str], *, in_repository: bool
) -> Iterator[tuple[str, str]]:
    """Yield the path to print and the whole path of each file below a path of a folder, in order. If the path is a
    file, it is yielded even if it is ignored."""
    start = f"./{path}" if path else "."
    place = f"{folder.rstrip('/')}/{path}" if path else folder
    if not tree.is_folder(place):
        if tree.is_there(place):
            yield start, place
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
            if not _kept(lists, below, entry.name, folder=entry.kind == "folder"):
                continue
            if entry.kind == "folder":
                inner.append((f"{shown}/{entry.name}", below, lists))
            elif entry.kind == "file" and (not globs or any(glob.matches(entry.name) for glob in globs)):
                yield f"{shown}/{entry.name}", below
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
        texts = (self._tree.ignore_lines(f"{lead}/{name}") for name in IGNORE_FILES)
        pairs = zip(lists, texts, strict=True)
        return tuple((*files, parse_ignore(text, home)) if text else files for files, text in pairs)


_UNLIKE = (
    (re.compile(r"(?<!\\)(?:\\\\)*\(\?(?:[=!>]|<[=!])"), "look-around"),
    (re.compile(r"(?<!\\)(?:\\\\)*\\[1-9]"), "backreferences"),
    (re.compile(r"(?<!\\)(?:\\\\)*\\[pP]"), "classes of Unicode characters"),
    (re.compile(r"&&|--|~~"), "operations on sets of characters"),
)
_CLASSES = {
    "alnum": "0-9A-Za-z",
    "alpha": "A-Za-z",
    "blank": "\\t ",
    "cntrl": "\\x00-\\x1f\\x7f",
    "digit": "0-9",
    "lower": "a-z",
    "print": " -~",
    "punct": "!-/:-@\\[-`{-~",
    "space": "\\t\\n\\v\\f\\r ",
    "upper": "A-Z",
    "word": "0-9A-Za-z_",
    "xdigit": "0-9A-Fa-f",
}
_POSIX = re.compile(r"\[:([a-z]+):\]")
_IN_LINES = re.compile(r"\n|(?<!\\)(?:\\\\)*\\n")


class BadPattern(ToolFailure):
    """A pattern that Python cannot compile. The message is for the model."""


def compiled(pattern: str, *, ignore_case: bool, multiline: bool) -> re.Pattern[str]:
    """Compile a pattern of ripgrep with Python. Raise BadPattern if Python cannot express it."""
    for unlike, what in _UNLIKE:
        inside = what.startswith("operations") and "[" not in pattern
        if unlike.search(pattern) and not inside:
            raise BadPattern(f"the built-in search does not support {what}; avoid them, or install ripgrep")
    if not multiline and _IN_LINES.search(pattern):
        raise BadPattern('the literal "\\n" is not allowed in a pattern unless multiline is true')
    text = _POSIX.sub(lambda found: _CLASSES.get(found[1], found[0]), pattern)
    text = re.sub(r"(?<!\\)((?:\\\\)*)\\z", r"\1\\Z", text)
    flags = re.MULTILINE | (re.IGNORECASE if ignore_case else 0) | (re.DOTALL if multiline else 0)
    try:
        return re.compile(text, flags)
    except (re.error, OverflowError, RecursionError) as error:
        raise BadPattern(f"regex parse error: {error}") from error


def text_of(data: bytes) -> str | None:
    """Return the text of a file, with the same encodings as ripgrep; None for a binary file."""
    for mark, encoding in ((codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be")):
        if data.startswith(mark):
            return data[2:].decode(encoding, "replace")
    if b"\0" in data:
        return None
    return data.removeprefix(codecs.BOM_UTF8).decode("utf-8", "surrogateescape")


def matching_lines(pattern: re.Pattern[str], text: str, *, multiline: bool) -> tuple[list[str], list[int], int]:
    """Return the lines, the indices of the matching lines, and the number of matches as counted by ripgrep."""
    lines = text.split("\n")
    if not lines[-1]:
        lines.pop()
    if not multiline:
        found = [at for at, line in enumerate(lines) if pattern.search(line)]
        return lines, found, len(found)
    starts = [0, *accumulate(len(line) + 1 for line in lines)]
    spanned: set[int] = set()
    count = 0
    for match in pattern.finditer(text):
        first = bisect_right(starts, match.start()) - 1
        last = bisect_right(starts, max(match.end() - 1, match.start())) - 1
        if first < len(lines):
            count += 1
            spanned.update(range(first, min(last, len(lines) - 1) + 1))
    return lines, sorted(spanned), count


def answers(tree: Tree, folder: str, request: SearchRequest) -> Iterator[bytes]:
    """Yield the output for each file, as ripgrep run in this folder would write it. Raise BadPattern before the first
    output."""
    files = walked(tree, folder, request.path, request.names, in_repository=request.in_repository)
    if request.find == "files":
        return (os.fsencode(shown) + b"\0" for shown, _ in files)
    pattern = compiled(request.pattern, ignore_case=request.ignore_case, multiline=request.multiline)
    return (_answer(tree, *file, request, pattern) for file in files)


def _answer(tree: Tree, shown: str, place: str, request: SearchRequest, pattern: re.Pattern[str]) -> bytes:
    data = tree.read(place)
    text = None if data is None else text_of(data)
    if text is None:
        return b""
    if request.crlf:
        text = text.replace("\r\n", "\n")
    lines, found, count = matching_lines(pattern, text, multiline=request.multiline)
    name = os.fsencode(shown)
    if not found or request.find == "counts":
        return b"%s\0%d\n" % (name, count) if count else b""
    before, after, hits = request.before, request.after, set(found)
    wanted = {near for at in found for near in range(max(at - before, 0), min(at + after + 1, len(lines)))}
    rows = (f"{at + 1}{':' if at in hits else '-'}{lines[at]}\n" for at in sorted(wanted))
    return b"%s\0%s\n" % (name, "".join(rows).encode("utf-8", "surrogateescape"))


def main() -> None:
    try:
        found = answers(DiskTree(), os.getcwd(), SearchRequest(**json.loads(sys.argv[1])))
    except BadPattern as bad:
        sys.stderr.write(f"{bad}\n")
        sys.exit(2)
    sys.stdout.buffer.writelines(found)
