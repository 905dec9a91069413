"""The JSON object that the status line command reads. docs/guides/status-line.md explains every field.

Fields are never renamed or removed, because users' scripts rely on them. Unknown values are null.
"""

import json
from collections.abc import Mapping
from dataclasses import field
from typing import Any

from callgate._version import __version__
from callgate.words.messages import Usage
from callgate.words.noun import nothing, noun


@noun
class StatusSnapshot:
    """The state of a session at one moment.

    model       an id such as ``anthropic/claude-opus-5-5``
    cost        in dollars
    used        tokens of the context that the next request starts with
    last        tokens of the last request
    background  the number of running tasks by kind
    vim         the vim mode; None without vim keys
    """

    session: str = ""
    title: str = ""
    model: str = ""
    effort: str | None = None
    mode: str = "default"
    current: str = ""
    project: str = ""
    added: tuple[str, ...] = ()
    cost: float | None = None
    seconds: float | None = None
    api_seconds: float | None = None
    lines_added: int | None = None
    lines_removed: int | None = None
    window: int | None = None
    used: int | None = None
    last: Usage | None = None
    total: Usage | None = None
    agent: str | None = None
    worktree: str | None = None
    background: Mapping[str, int] = field(default_factory=nothing)
    vim: str | None = None


def payload(now: StatusSnapshot) -> dict[str, Any]:
    """Return the object, with every field."""
    return {
        "version": __version__,
        "session": {"id": now.session or None, "title": now.title or None},
        "model": {"id": now.model or None, "name": now.model.rpartition("/")[2] or None},
        "effort": now.effort,
        "mode": now.mode,
        "folders": {"current": now.current or None, "project": now.project or None, "added": [*now.added]},
        "cost": {
            "total": now.cost,
            "seconds": _rounded(now.seconds),
            "api_seconds": _rounded(now.api_seconds),
            "lines_added": now.lines_added,
            "lines_removed": now.lines_removed,
        },
        "context": {
            "size": now.window,
            "used_percent": _percent(now.used, now.window),
            "last_request": None if now.last is None else _tokens(now.last),
            "total_input": None if now.total is None else _input(now.total),
            "total_output": None if now.total is None else now.total.output,
        },
        "agent": now.agent,
        "worktree": now.worktree,
        "background": {kind: now.background.get(name, 0) for kind, name in _BACKGROUND.items()},
        "vim": now.vim,
    }


def payload_bytes(now: StatusSnapshot) -> bytes:
    """Return the object as a line of JSON."""
    return json.dumps(payload(now), allow_nan=False).encode() + b"\n"


_BACKGROUND = {"commands": "command", "agents": "agent", "workflows": "workflow", "watches": "watch"}

SAMPLE = StatusSnapshot(
    session="01jz8k2m4n",
    title="Mend the parser",
    model="anthropic/claude-opus-5-5",
    effort="high",
    mode="accept_edits",
    current="/home/ada/parser/src",
    project="/home/ada/parser",
    added=("/home/ada/notes",),
    cost=0.4213,
    seconds=754.0,
    api_seconds=211.5,
    lines_added=156,
    lines_removed=23,
    window=200_000,
    used=84_100,
    last=Usage(input=1_200, cache_read=81_000, cache_write=900, output=1_000, reasoning=400),
    total=Usage(input=9_800, cache_read=402_000, cache_write=31_000, output=15_300, reasoning=6_100),
    background={"command": 1},
)
"""The snapshot that ``callgate statusline test`` passes to the command."""


def _rounded(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds, 3)


def _percent(used: int | None, size: int | None) -> float | None:
    return None if used is None or not size else round(min(100 * used / size, 100.0), 1)


def _input(usage: Usage) -> int:
    return usage.input + usage.cache_read + usage.cache_write


def _tokens(usage: Usage) -> dict[str, int]:
    names = ("input", "cache_read", "cache_write", "output", "reasoning")
    return {name: getattr(usage, name) for name in names}
