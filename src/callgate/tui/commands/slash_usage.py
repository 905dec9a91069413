"""The slash commands /context and /perf, which measure the session."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from json import dumps
from typing import TYPE_CHECKING, Any

from callgate.formats.display import counted
from callgate.tui.blocks import LinesBlock, TableBlock
from callgate.tui.commands import config_of, count_of, said, seconds, session_of
from callgate.tui.theme import Theme
from callgate.words.errors import UsageError
from callgate.words.events import CallArrived, CallSettled, Event, TurnEnded
from callgate.words.messages import Spent, Usage
from callgate.words.noun import noun
from callgate.words.turns import Measures

if TYPE_CHECKING:
    from callgate.transcript.token_count import ContextUse
    from callgate.tui.port import Terminal


ROWS, COLUMNS = 5, 20
_STYLES = ("cyan", "blue", "magenta", "green", "yellow", "red", "bold")
_FREE, _RESERVE = "free", "for the answer"


@noun
class WindowPart:
    """One kind of content in the context window. ``letter`` represents the content in terminals without colours."""

    kind: str
    tokens: int
    letter: str
    style: str


def window_parts(use: ContextUse) -> list[WindowPart]:
    """Return the kinds of content of the next request in order, then the free space and the reserve for the answer.
    If the window size is known, the tokens add up to the window size."""
    parts: list[WindowPart] = []
    letters = iter("abcdefghijklmnopqrstuvw")
    for at, share in enumerate(use.shares):
        parts.append(WindowPart(share.kind, share.tokens, next(letters), _STYLES[at % len(_STYLES)]))
    if use.limits is not None:
        total, limits = use.count.total, use.limits
        parts.append(WindowPart(_FREE, max(limits.usable - total, 0), ".", "grey"))
        parts.append(WindowPart(_RESERVE, max(limits.window - max(limits.usable, total), 0), "-", "grey"))
    return parts


def grid_cells(parts: Sequence[WindowPart], count: int) -> list[WindowPart]:
    """Distribute ``count`` cells in proportion to the tokens of the parts. Each part with tokens gets at least one
    cell, taken from the largest part."""
    whole = sum(part.tokens for part in parts)
    if not whole:
        return []
    cells = [max(round(part.tokens * count / whole), 1 if part.tokens else 0) for part in parts]
    while sum(cells) != count:
        largest = cells.index(max(cells))
        cells[largest] += 1 if sum(cells) < count else -1
    return [part for part, number in zip(parts, cells, strict=True) for _ in range(number)]


def context(terminal: Terminal, _text: str) -> None:
    session = session_of(terminal)
    use = session.controls.context_use()
    parts = window_parts(use)
    cells = grid_cells(parts, ROWS * COLUMNS)
    theme = terminal.theme
    rows = [cells[at : at + COLUMNS] for at in range(0, len(cells), COLUMNS)]
    grid = tuple((("  ", ""), *((f"{_sign(cell, theme)} ", cell.style) for cell in row)) for row in rows)
    window = None if use.limits is None else use.limits.window
    whole = window or sum(part.tokens for part in parts) or 1
    table = tuple((_sign(part, theme), part.kind, f"{part.tokens:,}", f"{part.tokens / whole:.1%}") for part in parts)
    title = f"{use.count} tokens in the next request to {session.model}"
    source = f", {use.window_from}" if use.window_from else ""
    title += f", of {window:,}{source}" if window is not None else "; the size of its context window is unknown"
    marks = tuple(part.style for part in parts)
    terminal.show(LinesBlock(((), *grid)), TableBlock(table, title, ("", "kind", "tokens", "share"), _note(use), marks))


def _sign(part: WindowPart, theme: Theme) -> str:
    if not (theme.colours and theme.unicode):
        return part.letter
    return {_FREE: "□", _RESERVE: "▨"}.get(part.kind, "■")


def _note(use: ContextUse) -> str:
    counted = "All tokens were counted by the provider."
    if use.count.estimated:
        counted = f"The provider counted {use.count.reported:,} of them; the rest is estimated."
    if not use.count.reported:
        counted = "All tokens are estimated: the provider has not counted a request yet."
    if use.limits is None:
        return counted
    left = max(use.limits.automatic - use.count.total, 0)
    return f"{counted} Auto-compact in {left:,} tokens; /compact compacts now."


_LIMIT = 10
Facts = Mapping[str, Any]


async def perf(terminal: Terminal, text: str) -> None:
    """Show a report on the last requests. ``--json`` writes the whole report to a file."""
    from callgate.admin.sessions import write_file

    words = text.split()
    as_json = "--json" in words
    words = [word for word in words if word != "--json"]
    if words and (words[0] != "--limit" or len(words) != 2):
        raise UsageError(f"/perf accepts --json and --limit N, not {text!r:.60}")
    limit = count_of(words[1] if words else "", _LIMIT, "--limit")
    session = session_of(terminal)
    told = [event for _number, event in await session.events_after(0)]
    report = {"process": process_facts(), **report_of(told, limit if words or not as_json else None)}
    if not as_json:
        terminal.show(*_tables(report))
        return
    path = config_of(terminal).root / f"callgate-perf-{session.id or 'session'}.json"
    await asyncio.to_thread(write_file, path, f"{dumps(report, indent=2)}\n".encode(), replace=True)
    said(terminal, f"Written to {path}. It contains names of models and tools, and numbers.")


def process_facts() -> dict[str, float | None]:
    """Return memory in bytes and CPU time in seconds of this process. ``memory`` is None on systems where it cannot
    be read."""
    used = os.times()
    resident = None
    if sys.platform == "linux":
        with open("/proc/self/statm", encoding="ascii") as file:
            resident = int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    return {
        "memory": resident,
        "cpu_seconds": round(used.user + used.system, 3),
        "cpu_of_commands": round(used.children_user + used.children_system, 3),
    }


def report_of(events: Iterable[Event], limit: int | None) -> dict[str, Any]:
    """Return the performance report: the last ``limit`` requests, the tools, and the totals of the session."""
    requests: list[dict[str, Any]] = []
    names: dict[str, str] = {}
    tools: dict[str, dict[str, Any]] = {}
    for event in events:
        match event:
            case CallArrived():
                names[event.call_id] = event.name
            case CallSettled():
                took = (event.duration_ms or 0.0) / 1000
                new = {"calls": 0, "failed": 0, "seconds": 0.0, "longest": 0.0}
                tool = tools.setdefault(names.get(event.call_id, "unknown"), new)
                tool["calls"] += 1
                tool["failed"] += event.result.is_error
                tool["seconds"] = round(tool["seconds"] + took, 3)
                tool["longest"] = round(max(tool["longest"], took), 3)
            case TurnEnded(spent=spent, measures=measures) if spent is not None or (measures and measures.model):
                requests.append(_request(event))
            case _:
                pass
    read = sum(each["cached"] for each in requests)
    sent = read + sum(each["input"] + each["to_cache"] for each in requests)
    totals = {
        "requests": len(requests),
        "model_seconds": round(sum(each["model_seconds"] for each in requests), 3),
        "tool_seconds": round(sum(each["seconds"] for each in tools.values()), 3),
        "input": sent,
        "output": sum(each["output"] for each in requests),
        "cache_share": round(read / sent, 3) if sent else None,
    }
    return {"totals": totals, "requests": requests if limit is None else requests[-limit:], "tools": tools}


def _request(ended: TurnEnded) -> dict[str, Any]:
    spent, measured = ended.spent or Spent("", Usage()), ended.measures or Measures()
    usage = spent.usage
    return {
        "turn": ended.turn,
        "model": spent.model,
        "first_token": measured.first_token,
        "model_seconds": round(measured.model, 3),
        "tool_seconds": round(measured.tools, 3),
        "tokens_per_second": measured.tokens_per_second,
        "input": usage.input,
        "cached": usage.cache_read,
        "to_cache": usage.cache_write,
        "output": usage.output,
        "cache_lost": measured.cache_lost,
    }


# ---- as tables ----------------------------------------------------------------------------------------------------


def _tables(report: Facts) -> Sequence[TableBlock]:
    process, totals = report["process"], report["totals"]
    memory = "unknown" if process["memory"] is None else f"{process['memory'] / 1e6:,.0f} MB"
    share = totals["cache_share"]
    facts = (
        ("memory", memory),
        ("CPU", f"{seconds(process['cpu_seconds'])}, of commands {seconds(process['cpu_of_commands'])}"),
        ("requests", f"{totals['requests']:,} in {seconds(totals['model_seconds'])}"),
        ("tools", seconds(totals["tool_seconds"])),
        ("tokens", f"{totals['input']:,} in, {totals['output']:,} out"),
        ("from cache", "no request sent yet" if share is None else f"{share:.0%} of the input"),
    )
    tables = [TableBlock(facts, "This session")]
    requests = tuple(
        (
            str(each["turn"]),
            "" if each["first_token"] is None else seconds(each["first_token"]),
            seconds(each["model_seconds"]),
            "" if each["tokens_per_second"] is None else f"{each['tokens_per_second']:.0f}",
            *(f"{each[name]:,}" for name in ("input", "cached", "output")),
        )
        for each in report["requests"]
    )
    if requests:
        lost = ", ".join(dict.fromkeys(each["cache_lost"] for each in report["requests"] if each["cache_lost"]))
        note = "First: time to the first token. Per s: tokens per second."
        note += f" Cache lost to: {lost}." if lost else ""
        heads = ("turn", "first", "model", "per s", "input", "cached", "output")
        tables.append(TableBlock(requests, f"The last {counted(len(requests), 'request')}", heads, note))
    tools = tuple(
        (name, f"{each['calls']:,}", f"{each['failed']:,}", seconds(each["seconds"]), seconds(each["longest"]))
        for name, each in sorted(report["tools"].items(), key=lambda each: -each[1]["seconds"])
    )
    if tools:
        tables.append(TableBlock(tools, "Tools", ("", "calls", "failed", "in all", "longest")))
    return tables
