"""Paints results of calls: a summary in a few words, and rows for each kind of display."""

from collections.abc import Mapping, Sequence
from typing import Any, cast

from callgate.formats.display import counted
from callgate.tui.blocks import CallBlock
from callgate.tui.render.diff import diff_rows
from callgate.tui.render.measures import gauge
from callgate.tui.render.spans import Span
from callgate.tui.render.tables import table_rows
from callgate.tui.theme import Theme
from callgate.words.calls import Display, Result
from callgate.words.messages import Image, Resource

DEEPEST = 20
"""The maximum depth of a tree."""

_TODO = {"[x] ": ("✓ ", "+ ", "green"), "[>] ": ("▸ ", "> ", "bold cyan"), "[ ] ": ("○ ", "o ", "")}
"""Signs of a to-do list by the start of the line."""

Row = list[Span]


def summary_of(call: CallBlock) -> str:
    """Return the result of a call in a few words, or an empty string if there is nothing to add to the status."""
    result = call.result
    if result is None:
        return ""
    return _counted(result) or ("" if result.is_error or result.display else _in_words(result))


def _counted(result: Result) -> str:
    details = result.details
    for name, what in (("lines", "line"), ("cells", "cell"), ("pages", "page")):
        some, total = details.get(name), details.get("of")
        if isinstance(some, list | tuple) and len(cast(Sequence[Any], some)) == 2:
            first, last = cast(Sequence[Any], some)
            if isinstance(first, int) and isinstance(last, int):
                shown = counted(last - first + 1, what)
                return f"{shown} of {total:,}" if isinstance(total, int) and total > last - first + 1 else shown
    if isinstance(details.get("matches"), int):
        files = details.get("files_matched", details.get("files"))
        where = f" in {counted(files, 'file')}" if isinstance(files, int) else ""
        return f"{counted(details['matches'], 'match', 'matches')}{where}"
    diffs = [each.body for each in result.display if each.kind == "diff" and isinstance(each.body, str)]
    if diffs:
        return changed_lines(diffs)
    if isinstance(details.get("files"), int):
        return counted(details["files"], "file")
    if in_background(result):
        return f"runs as {details['task']}"
    if isinstance(details.get("exit_code"), int) and details["exit_code"] != 0:
        return f"exit {details['exit_code']}"
    todo = [each.body.split("\n") for each in result.display if each.kind == "text" and each.title == "To do"]
    if todo:
        return f"{sum(line.startswith('[x]') for line in todo[0])} of {len([*filter(None, todo[0])])} done"
    if isinstance(details.get("bytes"), int):
        return f"{details['bytes']:,} bytes"
    return ""


def in_background(result: Result) -> bool:
    """Return True if the call started a background task, which has no output yet."""
    return [*result.details] == ["task"]


def _in_words(result: Result) -> str:
    """Return a text of one line, or the number of lines. A single line of output of a command is left out, because
    it is shown below the line of the call."""
    lines = [line for line in result.text.split("\n") if line.strip()]
    if len(lines) > 1:
        return counted(len(lines), "line")
    is_command = "exit_code" in result.details
    return ("" if is_command else lines[0].strip()) if lines else "no output" if is_command else ""


def changed_lines(diffs: Sequence[str]) -> str:
    """Return the number of added and removed lines of diffs as text: ``+2 −1``."""
    lines = [line for diff in diffs for line in diff.split("\n")]
    added = sum(line.startswith("+") and not line.startswith("+++ ") for line in lines)
    removed = sum(line.startswith("-") and not line.startswith("--- ") for line in lines)
    return f"+{added} −{removed}"


def display_rows(theme: Theme, display: Display, width: int, *, wrap: bool = False) -> list[Row]:
    """Return the rows of a display. A body that does not match the kind of the display is shown unformatted. If
    ``wrap`` is True, long lines of a diff continue in further rows."""
    match display.kind, display.body:
        case "diff", str(body):
            return diff_rows(theme, body, width, wrap=wrap)
        case "table", {"columns": [*columns], "rows": [*rows]}:
            head = [[(theme.line(str(name)), "bold")] for name in columns]
            cells = [cast(Sequence[Any], row) for row in rows if isinstance(row, list | tuple)]
            lines = [[[(theme.line(str(cell)), "")] for cell in row] for row in cells]
            return table_rows(theme, [head, *lines], (), width)
        case "tree", {} as body:
            return _tree(theme, body)
        case "image", {} as body:
            return [[(theme.line(f"[{body.get('media_type', 'image')}] {body.get('path', '')}".rstrip()), "")]]
        case "progress", {"current": int() | float() as current, "total": int() | float() as total}:
            return [[(gauge(theme, current, total, width), "cyan")]]
        case "progress", {}:
            return []
        case "text", str(body):
            return [_todo(theme, line) for line in theme.page(body).expandtabs(4).rstrip("\n").split("\n")]
        case _:
            return text_rows(theme, str(display.body))


def content_rows(theme: Theme, result: Result) -> list[Row]:
    """Return the rows of the result content that the model receives."""
    rows = text_rows(theme, result.text) if result.text.strip() else []
    for part in result.content:
        if isinstance(part, Image):
            rows.append([(theme.line(f"[{part.media_type}, {len(part.data):,} bytes]"), "")])
        elif isinstance(part, Resource):
            rows.append([(theme.line(f"[{part.uri}]"), "")])
    return rows


def text_rows(theme: Theme, text: str, style: str = "") -> list[Row]:
    return [[(line, style)] for line in theme.page(text).expandtabs(4).rstrip("\n").split("\n")]


def _todo(theme: Theme, line: str) -> Row:
    mark = _TODO.get(line[:4])
    if mark is None:
        return [(line, "")]
    sign, plain, style = mark
    return [(theme.sign(sign, plain), style), (line[4:], "grey" if style == "green" else style)]


def _tree(theme: Theme, body: Mapping[str, Any], depth: int = 0) -> list[Row]:
    rows: list[Row] = [[(theme.line(str(body.get("label", ""))), "")]]
    children: Any = body.get("children")
    listed = cast(Sequence[Any], children) if isinstance(children, list | tuple) else ()
    inside = [cast(Mapping[str, Any], child) for child in listed if isinstance(child, Mapping)]
    if depth >= DEEPEST and inside:
        return [*rows, [(theme.sign("└ …", "`- ..."), "grey")]]
    for number, child in enumerate(inside):
        last = number == len(inside) - 1
        first, *rest = _tree(theme, child, depth + 1)
        rows.append([(theme.sign("└ " if last else "├ ", "`- " if last else "|- "), "grey"), *first])
        rows += [[("  " if last else theme.sign("│ ", "|  "), "grey"), *row] for row in rest]
    return rows
