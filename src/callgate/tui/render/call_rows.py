"""Paints a call: one line, and below the line live output, an error, a diff or a list."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from callgate.formats.columns import clipped
from callgate.formats.columns import width as width_of
from callgate.formats.shown_paths import shortened_call, shown_paths
from callgate.tui.blocks import TYPED, CallBlock
from callgate.tui.render.diff import CARETS
from callgate.tui.render.measures import gauge, seconds_text
from callgate.tui.render.result_rows import content_rows, display_rows, in_background, summary_of, text_rows
from callgate.tui.render.spans import Span, cut, head_of, one_row, wrapped
from callgate.tui.theme import CUT, STATUSES, Theme
from callgate.words.calls import PARTIAL_OUTPUT, Code, Display, Result, Status
from callgate.words.decisions import Allow, Decision, Deny

if TYPE_CHECKING:
    from callgate.session.controls import CallFace

INDENT = "  "
SHORTEST_NAME, SHORTEST_NOTE, SHORTEST_RESULT = 12, 16, 6
"""The minimum columns of a name, a note and a result on the line of a call, unless the text is shorter."""
SHORT_RESULT = 24
"""The columns for which a long name gives way to the result."""
LIVE, OUTPUT, ERROR, TEXT, DIFF = 3, 5, 6, 3, 20
"""Numbers of lines shown: live output, output of a finished command, error, text, diff."""
TYPED_OUTPUT = 100
"""Number of lines shown of the output of a command that the user typed."""
SENTENCE = 3
"""The maximum number of rows for a line of an error."""
ALL_KEY = "Ctrl-O"
"""The key that shows the whole output."""

_ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])")
_WORDS: Mapping[Code, str] = {
    "denied": "denied",
    "cancelled_by_user": "interrupted",
    "cancelled_by_sibling": "another call failed",
    "discarded": "the answer was discarded",
    "not_run_truncated": "the answer was cut off",
    "never_started": "never started",
    "skipped": "skipped",
    "unknown_tool": "no such tool",
    "invalid_arguments": "invalid arguments",
    "blocked_by_hook": "blocked by a hook",
    "timed_out": "timed out",
    "limit": "too large",
    "outcome_unknown": "outcome unknown",
}
"""Result codes as text, shown after the status."""

Row = list[Span]


Faces = Callable[[str, Mapping[str, Any]], "CallFace"]


def call_rows(
    theme: Theme, call: CallBlock, face: CallFace, width: int, now: float, *, expanded: bool, root: str = ""
) -> list[Row]:
    """Return the rows of a call. If ``expanded`` is True, include arguments, decision and the whole output.

    root  the workspace; paths in the texts of tools are relative to it
    """
    inside = width - len(INDENT)
    if inside < 8:
        return [_line(theme, call, face, width, now)]
    line = _line(theme, call, face, width, now)
    shown = "".join(text for text, _ in line)
    rows = _whole(theme, call, inside, root, shown) if expanded else _below(theme, call, face, inside, root, shown)
    return [line, *([(INDENT, ""), *row] if row else [] for row in rows)]


# ---- the line -----------------------------------------------------------------------------------------------------


def _line(theme: Theme, call: CallBlock, face: CallFace, width: int, now: float) -> Row:
    """Return the line of a call: sign, name, note, status and result. The name is shortened to make room for the
    status, but not for the result. The note is shown if there is room for it."""
    shown = CUT if call.cut else STATUSES[call.status]
    joint, more = theme.sign(" · ", " - "), theme.more
    sign = theme.sign(shown.sign, shown.ascii)
    words = [shown.word, *(theme.line(part) for part in _about(call, now) if part)]
    agents = f"{' > '.join(call.path)}: " if call.path else ""
    name = theme.line(agents + (call.title or face.line))
    path = "" if call.title else theme.line(face.path)
    file = width_of(name) - width_of(path) + width_of(path.rpartition("/")[2]) if path else 0
    shortest = min(width_of(name), max(SHORTEST_NAME, min(file, width // 2)))
    result = theme.line(summary_of(call))
    while len(words) > 1 and width_of(joint.join(words)) + shortest + 4 > width:
        words.pop()
        result = ""
    said = joint.join(words)
    room = width - 4 - width_of(said)
    if room < 1:
        return [(head_of(f"{sign} {said}", width), shown.style)]
    free = room - width_of(joint)
    left = max(free - width_of(name), min(free - shortest, SHORT_RESULT))
    if result and left >= min(width_of(result), SHORTEST_RESULT):
        said += joint + clipped(result, left, more)
        room = width - 4 - width_of(said)
    strong = "bold" if not call.cut and call.status in (Status.EXECUTING, Status.AWAITING_APPROVAL) else ""
    row: Row = [(f"{sign} ", shown.style), (shortened_call(name, path, room, more), strong)]
    note, left = "" if call.title else theme.line(face.note), room - width_of(name) - 2
    if note and left >= min(width_of(note), SHORTEST_NOTE):
        row.append((f"  {clipped(note, left, more)}", "grey"))
    return [*row, (f"  {said}", _quiet(call))]


def _quiet(call: CallBlock) -> str:
    well = call.status in (Status.SUCCESS, Status.EXECUTING, Status.VALIDATING)
    return CUT.style if call.cut else "grey" if well else STATUSES[call.status].style


def _about(call: CallBlock, now: float) -> list[str]:
    told: list[str] = []
    if call.status is Status.CANCELLED or call.status is Status.ERROR:
        told.append(_why(call))
    if call.status is Status.VALIDATING and call.output:
        told.append(call.output.rpartition("\n")[2])  # what it waits for
    if call.status is Status.EXECUTING and call.started is not None and not call.cut:
        told.append(seconds_text(max(now - call.started, 0.0)))
    elif call.duration_ms is not None and call.duration_ms >= 50:
        told.append(seconds_text(call.duration_ms / 1000))
    if not call.done and call.of > 1 and call.index >= 0:
        told.append(f"{call.index + 1} of {call.of}")
    return told


def _why(call: CallBlock) -> str:
    code = None if call.result is None else call.result.code
    if code == "denied":
        if call.answered == "no":
            return "denied by you"
        by = call.decision.by if isinstance(call.decision, Deny) else ""
        return f"denied by {by}" if by else "denied"
    return "" if code is None else _WORDS.get(code, "")


# ---- below the line -----------------------------------------------------------------------------------------------


def _below(theme: Theme, call: CallBlock, face: CallFace, width: int, root: str, line: str) -> list[Row]:
    """Return the rows below the line of a call. A title or a text that is on the line already is left out."""
    result = call.result
    if result is None:
        return _live(theme, call, width)
    if call.id.startswith(TYPED) and "exit_code" in result.details:
        return _fitted(theme, content_rows(theme, result), width, TYPED_OUTPUT, at_end=True)
    if result.details.get(PARTIAL_OUTPUT):
        return _fitted(theme, content_rows(theme, result)[1:], width, OUTPUT, at_end=True)
    if call.status is Status.CANCELLED:
        note = call.note or (call.decision.reason if isinstance(call.decision, Deny) else "")
        rows = _folded(theme, text_rows(theme, shown_paths(note, root), "grey"), width) if note.strip() else []
        return _fitted(theme, rows, width, ERROR)
    rows = _error_rows(theme, result, width, root) if call.status is Status.ERROR else []
    for display in result.display:
        made = display_rows(theme, display, width)
        todo = display.kind == "text" and display.title == "To do"
        shown = made if todo else _fitted(theme, made, width, TEXT if display.kind == "text" else DIFF)
        rows += [] if todo else _title_rows(theme, display, width, root, line)
        rows += [cut(row, width)[0] for row in shown]
    if (
        rows
        or result.display
        or in_background(result)
        or call.status is Status.ERROR
        or face.icon in ("read", "search", "fetch", "edit")
    ):
        return rows
    grey = [[(text, "grey") for text, _ in row] for row in content_rows(theme, result)]
    if face.icon == "run" and "exit_code" in result.details:
        return _fitted(theme, grey, width, OUTPUT, at_end=True)
    grey = [row for row in grey if any(text.strip() for text, _ in row)]
    if len(grey) == 1 and line.endswith("".join(text for text, _ in grey[0]).strip()):
        return []
    return _fitted(theme, grey, width, OUTPUT if face.icon == "run" else TEXT, at_end=face.icon == "run")


def _title_rows(theme: Theme, display: Display, width: int, root: str, line: str) -> list[Row]:
    """Return the row of the title, or no row if the line of the call contains the title."""
    title = theme.line(shown_paths(display.title or "", root)).strip()
    return [[(clipped(title, width, theme.more), "bold")]] if title and title not in line else []


def _error_rows(theme: Theme, result: Result, width: int, root: str) -> list[Row]:
    if "exit_code" in result.details:
        rows = content_rows(theme, result)
        if rows and rows[-1] == [(f"[exit code {result.details['exit_code']}]", "")]:
            del rows[-1]  # the line of the call shows it
        return _fitted(theme, rows, width, ERROR, at_end=True)
    rows = [[(shown_paths(text, root), "red") for text, _ in row] for row in content_rows(theme, result)]
    return _fitted(theme, _folded(theme, rows, width), width, ERROR)


def _live(theme: Theme, call: CallBlock, width: int) -> list[Row]:
    if call.status is not Status.EXECUTING:
        return []
    rows: list[Row] = []
    if call.current is not None and call.total is not None:
        bar = gauge(theme, call.current, call.total, width)
        rows += [[(bar, "cyan")]] if bar else []
    # A progress bar overwrites its line with \r; keep its newest state.
    shown = [line.rstrip("\r").rpartition("\r")[2] for line in _ESCAPES.sub("", call.output).split("\n")]
    newest = [line for line in shown if line.strip()][-LIVE:]
    more = theme.more
    return rows + [[(clipped(theme.page(line).expandtabs(4), width, more), "grey")] for line in newest]


def _fitted(theme: Theme, rows: list[Row], width: int, most: int, *, at_end: bool = False) -> list[Row]:
    counted = [at for at, row in enumerate(rows) if not row or row[0][1] != CARETS]
    left = len(counted) - most
    # A single hidden line is shown instead of counted.
    if left > 1:
        rows = rows[counted[left] :] if at_end else rows[: counted[most]]
    shown = [one_row(row, width, theme.more) for row in rows]
    if left <= 1:
        return shown
    said = f"{theme.sign('…', '...')} {left:,} more lines ({ALL_KEY})"
    more: list[Row] = [[(clipped(said, width, ""), "grey")]]
    return more + shown if at_end else shown + more


def _folded(theme: Theme, rows: list[Row], width: int) -> list[Row]:
    more, found = theme.more, list[Row]()
    for row in rows:
        parts = wrapped(row, width)
        if len(parts) > SENTENCE:
            parts[SENTENCE - 1 :] = [[*cut(parts[SENTENCE - 1], width - len(more))[0], (more, "grey")]]
        found += parts
    return found


# ---- all of it ----------------------------------------------------------------------------------------------------


def _whole(theme: Theme, call: CallBlock, width: int, root: str, line: str) -> list[Row]:
    rows: list[Row] = []
    for name, value in call.arguments.items():
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
        rows += wrapped([(f"{theme.line(str(name))}: ", "grey"), (theme.page(text).expandtabs(4), "")], width)
    rows += wrapped([(theme.line(decided_text(call.decision)), "grey")], width) if call.decision is not None else []
    if call.result is None:
        output = _ESCAPES.sub("", call.output)
        return rows + [each for row in text_rows(theme, output) for each in cut(row, width)] if output else rows
    shown: list[Row] = []
    for display in call.result.display:
        shown += _title_rows(theme, display, width, root, line)
        shown += display_rows(theme, display, width, wrap=True)
    if not shown or call.result.is_error:
        shown = content_rows(theme, call.result) + shown
    for row in shown:
        rows += cut(row, width)
    for kept in call.result.artifacts:
        rows += wrapped([(theme.line(f"whole output: {kept.path} ({kept.size:,} bytes)"), "grey")], width)
    return rows


def decided_text(decision: Decision) -> str:
    """Return a decision with its source and reason, such as ``allowed by rules (user): …``."""
    word = "allowed" if isinstance(decision, Allow) else "denied" if isinstance(decision, Deny) else "asked"
    origin = "" if decision.origin is None else str(decision.origin)
    reason = f": {decision.reason}" if decision.reason else ""
    return f"{word} by {decision.by}{f' ({origin})' if origin else ''}{reason}"
