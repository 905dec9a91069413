"""The JSON object that the status line command reads.

docs/guides/status-line.md explains every field. Fields are never renamed or removed, because users' scripts depend
on them. Unknown values are null.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from typing import Any

from callgate._version import __version__
from callgate.session.conversation import Conversation
from callgate.words import events as e
from callgate.words.messages import Message, Usage
from callgate.words.noun import nothing, noun

Lines = tuple[int, int]
"""Numbers of added and removed lines."""
_BACKGROUND = {"commands": "command", "agents": "agent", "workflows": "workflow", "watches": "watch"}

SAMPLE: Mapping[str, Any] = {
    "version": __version__,
    "session": {"id": "01jz8k2m4n", "title": "Mend the parser"},
    "model": {"id": "anthropic/claude-opus-5-5", "name": "claude-opus-5-5"},
    "effort": "high",
    "mode": "accept_edits",
    "folders": {"current": "/home/ada/parser/src", "project": "/home/ada/parser", "added": ["/home/ada/notes"]},
    "cost": {"total": 0.4213, "seconds": 754.0, "api_seconds": 211.5, "lines_added": 156, "lines_removed": 23},
    "context": {
        "size": 200_000,
        "used_percent": 42.0,
        "last_request": {"input": 1_200, "cache_read": 81_000, "cache_write": 900, "output": 1_000, "reasoning": 400},
        "total_input": 442_800,
        "total_output": 15_300,
    },
    "agent": None,
    "worktree": None,
    "background": {"commands": 1, "agents": 0, "workflows": 0, "watches": 0},
    "vim": None,
}
"""The object that ``callgate statusline test`` passes to the command."""


@noun
class StatusTotals:
    """The totals in the JSON object, folded from the events of a session.

    last     the usage of the last request; None until an answer reports it, and after a rewind
    waiting  the numbers of added and removed lines of staged actions by id
    """

    last: Usage | None = None
    api_seconds: float = 0.0
    added: int = 0
    removed: int = 0
    waiting: Mapping[str, Lines] = field(default_factory=nothing)

    @classmethod
    def of(cls, messages: Sequence[Message]) -> "StatusTotals":
        """Return the totals of a newly opened session, with the tokens of the last recorded answer."""
        answers = (each for each in reversed(messages) if each.role == "assistant" and each.usage is not None)
        last = next(answers, None)
        return cls() if last is None else cls().after(e.MessageAdded(0.0, last))

    def after(self, event: e.Event) -> "StatusTotals":
        match event:
            case e.MessageAdded(message=message) if message.role == "assistant" and message.usage is not None:
                return replace(self, last=message.usage)
            case e.TurnEnded(measures=measures) if measures is not None:
                return replace(self, api_seconds=self.api_seconds + measures.model)
            case e.Rewound() | e.Branched():
                return replace(self, last=None)
            case e.CallSettled(result=result) if not result.is_error:
                added, removed = result.details.get("lines_added"), result.details.get("lines_removed")
                return self._with((added, removed)) if type(added) is int and type(removed) is int else self
            case e.ActionStaged(action=action):
                return replace(self, waiting={**self.waiting, action.id: (action.added, action.removed)})
            case e.ActionResolved(id=name) if name in self.waiting:
                lines = self.waiting[name] if event.ended == "applied" else (0, 0)
                left = {each: value for each, value in self.waiting.items() if each != name}
                return replace(self._with(lines), waiting=left)
            case _:
                return self

    def _with(self, lines: Lines) -> "StatusTotals":
        return replace(self, added=self.added + lines[0], removed=self.removed + lines[1])


def payload(
    session: Conversation, totals: StatusTotals, *, project: str, seconds: float, vim: str | None = None
) -> dict[str, Any]:
    """Return the JSON object for a session.

    project  the workspace
    seconds  the time for which the session has been open
    vim      the vim mode; None without vim keys
    """
    controls = session.controls
    total, background = session.usage, controls.background
    is_priced = any(each.cost is not None for each in session.costs)
    return {
        "version": __version__,
        "session": {"id": session.id or None, "title": session.title or None},
        "model": {"id": session.model or None, "name": session.model.rpartition("/")[2] or None},
        "effort": session.effort,
        "mode": session.mode,
        "folders": {"current": controls.folder or project, "project": project, "added": [*controls.folders]},
        "cost": {
            "total": session.cost if is_priced else None,
            "seconds": round(seconds, 3),
            "api_seconds": round(totals.api_seconds, 3),
            "lines_added": totals.added,
            "lines_removed": totals.removed,
        },
        "context": {
            "size": controls.window,
            "used_percent": None if totals.last is None else context_percent(session),
            "last_request": None if totals.last is None else _tokens(totals.last),
            "total_input": None if total == Usage() else _input(total),
            "total_output": None if total == Usage() else total.output,
        },
        "agent": _text(controls.metadata.get("agent")),
        "worktree": _text(controls.metadata.get("worktree")),
        "background": {kind: background.get(name, 0) for kind, name in _BACKGROUND.items()},
        "vim": vim,
    }


def payload_bytes(found: Mapping[str, Any]) -> bytes:
    return json.dumps(found, allow_nan=False).encode() + b"\n"


def context_percent(session: Conversation) -> float | None:
    """Return the share of the context window that the next request uses; None if the size of the window is unknown.
    The token count of the server is used only if it is plausible."""
    use = session.controls.context_use()
    return None if use.limits is None else percent(use.count.total or None, use.limits.window)


def percent(used: int | None, size: int | None) -> float | None:
    return None if used is None or not size else round(min(100 * used / size, 100.0), 1)


def _input(usage: Usage) -> int:
    return usage.input + usage.cache_read + usage.cache_write


def _tokens(usage: Usage) -> dict[str, int]:
    names = ("input", "cache_read", "cache_write", "output", "reasoning")
    return {name: getattr(usage, name) for name in names}


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None
