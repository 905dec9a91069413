"""Examines one file: the matches of the patterns, their replacements, and overlapping replacements.

``serve`` is the worker process: it reads a request and then batches of files, and writes the results of each batch.
Each message is a pickle. The engine holds the GIL while it works, so threads would not be faster, and one large file
would block the event loop. A process can also be killed at any time, and a crash affects no other process.

Only this module imports the engine. On some input the engine panics, which raises a BaseException that is not an
``Exception``; ``examine`` returns a result in any case.
"""

import errno
import gc
import pickle
import re
import sys
from collections.abc import Sequence
from functools import cache
from typing import IO, TYPE_CHECKING, Any

from callgate.host.beneath import OpenFolder
from callgate.tools.structural.scan_types import NAMED, FileResult, Op, ScanLimits, SkipKind, SkippedFile
from callgate.tools.structural.source_text import HOST, SourceText, SpanEdit, apart, embedded, parse_template, span
from callgate.tools.structural.source_walk import SourceFile
from callgate.words.noun import noun

if TYPE_CHECKING:
    from ast_grep_py import Rule, SgNode


@noun
class ScanRequest:
    """The work for each file: find the matches of ``pattern``, or apply ``ops``. If ``language`` is set, only the
    scripts in this language are searched in an HTML file."""

    root: str
    limits: ScanLimits
    pattern: str = ""
    ops: tuple[Op, ...] = ()
    language: str | None = None


@noun
class _Part:
    """A syntax tree to search. If ``sure``, its language was requested or is the language of the file, so an invalid
    pattern is an error."""

    language: str
    root: "SgNode"
    sure: bool


_FLAWED: "list[Rule]" = [{"kind": "ERROR"}, {"regex": "^$"}]


class _Refused(Exception):
    """Raised to skip a file, with the reason."""

    def __init__(self, kind: SkipKind, reason: str) -> None:
        super().__init__(reason)
        self.kind: SkipKind = kind


def examine(request: ScanRequest, file: SourceFile) -> FileResult:
    """Return the result for one file. Raise only KeyboardInterrupt and SystemExit."""
    try:
        return _examine(request, file)
    except _Refused as refused:
        return left_out(file, refused.kind, str(refused))
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:
        return left_out(file, "crashed", f"the engine cannot process the file: {str(error).partition(chr(10))[0]}")


def left_out(file: SourceFile, kind: SkipKind, reason: str) -> FileResult:
    return FileResult(file.path, file.language, SkippedFile(file.path, kind, reason))


def _examine(request: ScanRequest, file: SourceFile) -> FileResult:
    data = _read(request, file)
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise _Refused("encoding", f"is not UTF-8, from byte {error.start + 1} on") from None
    root = _tree(text, file.language)
    source = SourceText(file.path, text, request.limits.characters)
    parts = _parts(request, file, root, text)
    if not request.ops:
        return _searched(request, file, source, parts)
    _refuse_flawed(root, file.language, source)
    return _rewritten(request, file, source, parts, data)


def _read(request: ScanRequest, file: SourceFile) -> bytes:
    most = request.limits.file_bytes
    too_big = _Refused("size", f"has more than {most} bytes")
    if file.size > most:
        raise too_big
    try:
        *folders, name = file.path.split("/")
        with OpenFolder.held(request.root) as top, top.below(folders) as at, open(at.opened(name), "rb") as opened:
            data = opened.read(most + 1)
    except OSError as error:
        raise _Refused("link" if error.errno == errno.ELOOP else "unreadable", error.strerror or str(error)) from None
    if len(data) > most:
        raise too_big
    return data


def _tree(text: str, language: str) -> "SgNode":
    from ast_grep_py import SgRoot  # an optional dependency of 46 MB

    return SgRoot(text, language).root()


def _parts(request: ScanRequest, file: SourceFile, root: "SgNode", text: str) -> list[_Part]:
    """Return the syntax tree of the file and the trees of its embedded scripts and styles. If a language was
    requested, the trees of other languages are omitted."""
    parts = [_Part(file.language, root, sure=True)]
    if file.language == HOST:
        inside = embedded(root, text)
        parts += [_Part(name, _tree(inner, name), sure=request.language == name) for name, inner in inside]
        parts = [part for part in parts if request.language in (None, part.language)]
    return parts


def _refuse_flawed(root: "SgNode", language: str, source: SourceText) -> None:
    flaw = _flaw(root)
    if flaw is not None:
        line, column = source.spot(span(flaw)[0])
        raise _Refused("syntax", f"does not parse as {language}, at line {line} column {column}")


def _flaw(root: "SgNode") -> "SgNode | None":
    return next(filter(_is_flaw, root.find_all(any=_FLAWED)), None)


def _is_flaw(node: "SgNode") -> bool:
    """Return True for a syntax error, and for a token or name without text that the parser inserted. Other nodes
    without text may be valid, such as the content of an empty script or a line ending."""
    kind = node.kind()
    if kind == "ERROR":
        return True
    start, end = span(node)
    return start == end and (kind.endswith("identifier") or (not node.is_named() and bool(kind.strip("\0\r\n"))))


def _all(part: _Part, pattern: str) -> "list[SgNode]":
    try:
        return part.root.find_all(pattern=pattern)
    except RuntimeError as error:
        if not part.sure:
            return []
        raise _Refused("pattern", f"The pattern {pattern!r} is invalid in {part.language}. {_cause(error)}") from None


def _cause(error: RuntimeError) -> str:
    causes = str(error).partition("Stack backtrace:")[0].strip().splitlines()
    return causes[-1].strip().lstrip("0123456789: ") if causes else ""


@cache
def _flaws(pattern: str, language: str) -> tuple[str, ...]:
    """Return a note if the pattern does not parse after its metavariables are replaced by names."""
    named = _tree(re.sub(r"\$+(?=[A-Z_])", "", pattern.replace("$$$", "$A_")), language)
    return () if _flaw(named) is None else (f"The pattern {pattern!r} does not parse as {language}",)


def _searched(request: ScanRequest, file: SourceFile, source: SourceText, parts: Sequence[_Part]) -> FileResult:
    nodes = [node for part in parts for node in _all(part, request.pattern)]
    if len(parts) > 1:
        nodes.sort(key=lambda node: (span(node)[0], -span(node)[1]))
    kept = tuple(source.match(*span(node)) for node in nodes[: request.limits.matches])
    flaws = () if nodes else _flaws(request.pattern, file.language)
    return FileResult(file.path, file.language, count=len(nodes), matches=kept, flaws=flaws)


def _rewritten(
    request: ScanRequest, file: SourceFile, source: SourceText, parts: Sequence[_Part], data: bytes
) -> FileResult:
    edits: list[SpanEdit] = []
    flaws: list[str] = []
    for number, op in enumerate(request.ops):
        template, found = parse_template(op.rewrite, op.pattern), len(edits)
        for part in parts:
            nodes = _all(part, op.pattern)
            if nodes and part.language != file.language:
                _refuse_flawed(part.root, part.language, source)
            edits += [source.edit(node, template, number) for node in nodes]
        flaws += () if len(edits) > found else _flaws(op.pattern, file.language)
    edits.sort(key=lambda edit: (edit.start, -edit.end, edit.op))
    kept, pairs, held = apart(edits)
    overlaps = tuple(source.overlap(*pair, held=held) for pair in pairs[:NAMED])
    made = [edit for edit in kept if edit.after != source.text[edit.start : edit.end]]
    if held or not made:
        return FileResult(file.path, file.language, overlaps=overlaps, overlap_count=len(pairs), flaws=tuple(flaws))
    return FileResult(
        file.path,
        file.language,
        count=len(made),
        matches=tuple(map(source.replacement, made[: request.limits.matches])),
        overlaps=overlaps,
        overlap_count=len(pairs),
        before=data,
        after=source.applied(made).encode("utf-8"),
    )


START = "import sys; sys.path[:] = sys.argv[1:]; from callgate.tools.structural.examination import serve; serve()"
"""The program for the interpreter; its arguments are the module search path."""


def serve() -> None:
    """Process batches of files until the input ends."""
    gc.disable()  # there are no reference cycles to collect
    taken, given = sys.stdin.buffer, sys.stdout.buffer
    asked: ScanRequest | None = receive(taken)
    while asked is not None:
        batch: Sequence[SourceFile] | None = receive(taken)
        if batch is None:
            return
        send(given, [examine(asked, file) for file in batch])


def send(stream: IO[bytes], value: object) -> None:
    pickle.dump(value, stream, pickle.HIGHEST_PROTOCOL)
    stream.flush()


def receive(stream: IO[bytes]) -> Any:
    """Return the next message, or None if the other process has ended, even in the middle of a message."""
    try:
        return pickle.load(stream)
    except (EOFError, pickle.UnpicklingError):
        return None
