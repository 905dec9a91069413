"""The built-in search program: reads a SearchRequest as JSON and writes output like ripgrep.

It is a separate process so that a slow search can be killed, and so that all engines have one output format.
"""

import codecs
import json
import os
import re
import sys
from bisect import bisect_right
from collections.abc import Iterator
from itertools import accumulate

from callgate.tools.ripgrep.file_walk import DiskTree, Tree, WalkedFile, walked
from callgate.tools.ripgrep.search_request import SearchRequest
from callgate.words.errors import ToolFailure

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
        return (os.fsencode(file.shown) + b"\0" for file in files)
    pattern = compiled(request.pattern, ignore_case=request.ignore_case, multiline=request.multiline)
    return (_answer(tree, file, request, pattern) for file in files)


def _answer(tree: Tree, file: WalkedFile, request: SearchRequest, pattern: re.Pattern[str]) -> bytes:
    data = tree.read(file.place)
    text = None if data is None else text_of(data)
    if text is None:
        return b""
    if request.crlf:
        text = text.replace("\r\n", "\n")
    lines, found, count = matching_lines(pattern, text, multiline=request.multiline)
    name = os.fsencode(file.shown)
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
