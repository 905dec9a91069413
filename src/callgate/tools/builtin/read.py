"""The tool Read: shows files and folders to a model. ``file_kinds`` formats their content."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches
from posixpath import basename, dirname
from typing import Annotated, Any

from pydantic import Field

from callgate.changes.diff import quoted
from callgate.changes.text import TextLines, read_lines
from callgate.core.ports import Run
from callgate.host.environment import holds_git_settings, without_credentials
from callgate.host.ports import Files, FileStatus, files_of
from callgate.tools.builtin import builtin_tool
from callgate.tools.files.read_marks import ReadMark, Span, holds, joined, marks_of
from callgate.tools.tool import FunctionTool
from callgate.words.calls import Result
from callgate.words.changes import digest
from callgate.words.errors import ToolFailure
from callgate.words.messages import Text

MOST_BYTES = 32_000_000
"""The largest file in bytes that is read, because its hash requires the whole content."""
RESULT = 130_000
"""The most characters of a result. The tool's own limits apply first and are reported."""


def read() -> FunctionTool[Any]:
    """Make the tool ``Read``. A call for a PDF file requires ``callgate[pdf]``."""
    from callgate.tools.files.file_kinds import LINES

    def read(
        file_path: str,
        run: Run,
        offset: Annotated[int, Field(ge=1)] = 1,
        limit: Annotated[int, Field(ge=1)] = LINES,
        pages: str | None = None,
    ) -> Result:
        """Read.

        Args:
            file_path: the file or folder; a relative path starts at the workspace
            offset: the first line to show, or the first cell of a notebook, counted from 1
            limit: how many lines or cells to show
            pages: of a PDF, such as 3 or 1-5
        """
        files = files_of(run.host)
        try:
            data = files.read(file_path, MOST_BYTES)
        except ToolFailure as failure:
            return _instead(files, file_path, failure)
        return _shown(run, file_path, data, offset, limit, pages)

    title = "Read a file"
    return builtin_tool(read, title=title, icon="read", effects="none", reads="file_path", max_result_chars=RESULT)


def _instead(files: Files, path: str, failure: ToolFailure) -> Result:
    """Return the entries if the path is a folder. For any other path, raise ToolFailure with the reason why Read
    cannot show it."""
    status = files.status(path)
    if status.kind == "missing":
        raise ToolFailure(_missing(files, path, status)) from failure
    if status.kind == "folder":
        from callgate.tools.files.file_kinds import folder_text

        return Result((Text(folder_text(files.entries(path), path)),))
    if status.kind != "file":
        raise ToolFailure(f"{path} is a device, a pipe or a socket, not a readable file.") from failure
    if status.size > MOST_BYTES:
        told = f"{path} has {status.size:,} bytes, more than the {MOST_BYTES:,} that Read can read at once"
        advice = "find the lines with Grep, or print a part with a command such as sed -n"
        raise ToolFailure(f"{told}: {advice}.") from failure
    raise failure


def _shown(run: Run, path: str, data: bytes, offset: int, limit: int, pages: str | None) -> Result:
    if not data:
        return Result((Text(f"[{path} is empty.]"),), context_update=_Before(run, path, data).noted(0, ()))
    from callgate.tools.files import file_kinds

    special = file_kinds.special(path, data, pages)
    if special is not None:
        return special
    cells = file_kinds.cells_of(data) if path.endswith(".ipynb") else None
    if cells is not None:
        return _cells(run, path, data, cells, offset, limit)
    found = read_lines(data)  # also for an invalid notebook, so that it can be repaired
    if found is None:
        raise ToolFailure(f"{path} is a binary file of {len(data):,} bytes, which cannot be shown as text.")
    return _text(run, path, data, found, offset, limit)


def _cells(run: Run, path: str, data: bytes, cells: Sequence[Mapping[str, Any]], offset: int, limit: int) -> Result:
    from callgate.tools.files.file_kinds import shown_cells

    before = _Before(run, path, data)
    if not cells:
        return Result((Text(f"[{path} is a notebook without cells.]"),), context_update=before.noted(0, ()))
    wanted = _span(path, offset, limit, len(cells), "cells")
    repeated = before.repeated(wanted, "cells")
    if repeated is not None:
        return repeated
    parts, last = shown_cells(cells, offset, limit)
    update = before.noted(len(cells), [(offset, last)] if last >= offset else ())
    return Result(tuple(parts), details={"cells": [offset, last], "of": len(cells)}, context_update=update)


def _text(run: Run, path: str, data: bytes, lines: TextLines, offset: int, limit: int) -> Result:
    from callgate.tools.files.file_kinds import encoding_note, numbered

    wanted = _span(path, offset, limit, lines.total, "lines")
    before = _Before(run, path, data)
    repeated = before.repeated(wanted, "lines")
    if repeated is not None:
        return repeated
    text, last, known = numbered(lines, offset, limit)
    text = without_credentials(text) if holds_git_settings(path) else text
    details = {"lines": [offset, last], "of": lines.total, "encoding": str(lines.form)}
    content = Text("\n".join(filter(None, (text, encoding_note(lines)))))
    return Result((content,), details=details, context_update=before.noted(lines.total, known))


def _span(path: str, offset: int, limit: int, total: int, what: str) -> Span:
    if offset > total:
        raise ToolFailure(f"{path} has {total:,} {what}, so number {offset} does not exist.")
    return offset, min(offset + limit - 1, total)


class _Before:
    """Compares a file with the session's mark of it, and records the lines that are shown now."""

    def __init__(self, run: Run, path: str, data: bytes) -> None:
        self._run = run
        self._path = path
        self._marks, self._name = marks_of(run.host), run.host.normal(path)
        self._hash = digest(data) or ""
        mark = self._marks.of(run, self._name)
        self._same = mark if mark is not None and mark.hash == self._hash else None

    def repeated(self, wanted: Span, what: str) -> Result | None:
        """Return a short result if the same lines were shown before and are unchanged, otherwise None. The next call
        shows the lines again, because after a compaction the model may need them."""
        mark, path = self._same, self._path
        if mark is None or not holds(mark.shown, wanted):
            return None
        update = self._marks.note(self._run, self._name, replace(mark, shown=()))
        told = f"[{path} is unchanged since you read it: {what} {wanted[0]}-{wanted[1]} are above."
        return Result((Text(f"{told} If you cannot see them any more, call Read again.]"),), context_update=update)

    def noted(self, total: int, shown: Sequence[Span]) -> Mapping[str, str]:
        """Record the completely shown lines as known, and return the context update. Lines known earlier remain known
        if the file is unchanged."""
        mark = self._same
        known: Sequence[Span] = ()
        seen: Sequence[Span] = ()
        if mark is not None:
            known, seen = ((1, total),) if mark.complete and total else mark.known, mark.shown
        made = ReadMark(self._hash, total, joined([*known, *shown]), joined([*seen, *shown]))
        return self._marks.note(self._run, self._name, made)


def _missing(files: Files, path: str, status: FileStatus) -> str:
    told = f"{path} does not exist."
    folder, name = dirname(status.path), basename(status.path)
    while files.status(folder).kind == "missing" and folder != dirname(folder):
        folder, name = dirname(folder), basename(folder)
        told = f"{path} does not exist: there is no folder {folder.rstrip('/')}/{name}."
    try:
        names = {each.name.lower(): each.name for each in reversed(files.entries(folder))}
    except ToolFailure:
        return told
    close = get_close_matches(name.lower(), names, n=3, cutoff=0.6)
    return f"{told} Did you mean {', '.join(quoted(names[each]) for each in close)} in {folder}?" if close else told
