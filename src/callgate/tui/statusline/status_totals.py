"""The part of the status line's snapshot that is folded from a session's events."""

from collections.abc import Mapping, Sequence
from dataclasses import field, replace

from callgate.session.conversation import Conversation
from callgate.tui.statusline.status_payload import StatusSnapshot
from callgate.words.events import (
    ActionResolved,
    ActionStaged,
    Branched,
    CallSettled,
    Compacted,
    Event,
    MessageAdded,
    Rewound,
    TurnEnded,
)
from callgate.words.messages import Message, Usage
from callgate.words.noun import nothing, noun

Lines = tuple[int, int]
"""Numbers of added and removed lines."""


@noun
class StatusTotals:
    """Totals of a session.

    last     usage of the last request
    used     tokens that the next request starts with; None until an answer reports them, and after a rewind
    waiting  added and removed lines of staged actions by id
    """

    last: Usage | None = None
    used: int | None = None
    api_seconds: float = 0.0
    added: int = 0
    removed: int = 0
    waiting: Mapping[str, Lines] = field(default_factory=nothing)

    @classmethod
    def of(cls, messages: Sequence[Message]) -> "StatusTotals":
        """Return the totals of an opened session, with the tokens of the last recorded answer."""
        answers = (each for each in reversed(messages) if each.role == "assistant" and each.usage is not None)
        last = next(answers, None)
        return cls() if last is None else cls().after(MessageAdded(0.0, last))

    def after(self, event: Event) -> "StatusTotals":
        match event:
            case MessageAdded(message=message) if message.role == "assistant" and message.usage is not None:
                used = message.usage
                total = used.input + used.cache_read + used.cache_write + used.output
                return replace(self, last=used, used=total)
            case TurnEnded(measures=measures) if measures is not None:
                return replace(self, api_seconds=self.api_seconds + measures.model)
            case Compacted():
                return replace(self, used=event.tokens_after or None)
            case Rewound() | Branched():
                return replace(self, last=None, used=None)
            case CallSettled(result=result) if not result.is_error:
                return self._with(_counted(result.details))
            case ActionStaged(action=action):
                return replace(self, waiting={**self.waiting, action.id: (action.added, action.removed)})
            case ActionResolved(id=name) if name in self.waiting:
                lines = self.waiting[name] if event.ended == "applied" else (0, 0)
                left = {each: value for each, value in self.waiting.items() if each != name}
                return replace(self._with(lines), waiting=left)
            case _:
                return self

    def _with(self, lines: Lines) -> "StatusTotals":
        if lines == (0, 0):
            return self
        return replace(self, added=self.added + lines[0], removed=self.removed + lines[1])


def _counted(details: Mapping[str, object]) -> Lines:
    added, removed = details.get("lines_added"), details.get("lines_removed")
    return (added, removed) if type(added) is int and type(removed) is int else (0, 0)


def snapshot_of(
    session: Conversation,
    totals: StatusTotals,
    *,
    project: str,
    seconds: float,
    vim: str | None = None,
) -> StatusSnapshot:
    """Return the snapshot of a session.

    project  the workspace
    seconds  how long the session has been open
    """
    answered = session.usage != Usage()
    priced = any(each.cost is not None for each in session.costs)
    return StatusSnapshot(
        session=session.id,
        title=session.title,
        model=session.model,
        effort=session.effort,
        mode=session.mode,
        current=session.folder or project,
        project=project,
        added=session.folders,
        cost=session.cost if priced else None,
        seconds=seconds,
        api_seconds=totals.api_seconds,
        lines_added=totals.added,
        lines_removed=totals.removed,
        window=session.window,
        used=totals.used,
        last=totals.last,
        total=session.usage if answered else None,
        agent=_text(session.metadata.get("agent")),
        worktree=_text(session.metadata.get("worktree")),
        background=session.background,
        vim=vim,
    )


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None
