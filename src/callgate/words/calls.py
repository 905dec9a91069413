"""A tool call from arrival to its one result: statuses, legal moves, codes."""

from collections.abc import Callable, Mapping
from dataclasses import field
from enum import StrEnum
from typing import Any, Literal

from callgate.words.arguments import Repair
from callgate.words.decisions import Decision, Question
from callgate.words.errors import StateError
from callgate.words.messages import Content, Opaque, Text
from callgate.words.noun import nothing, noun


class Status(StrEnum):
    VALIDATING = "validating"
    AWAITING_APPROVAL = "awaiting_approval"
    SCHEDULED = "scheduled"
    EXECUTING = "executing"
    SUCCESS = "success"
    ERROR = "error"
    CANCELLED = "cancelled"


_S = Status

TRANSITIONS: Mapping[Status, frozenset[Status]] = {
    _S.VALIDATING: frozenset({_S.SCHEDULED, _S.AWAITING_APPROVAL, _S.ERROR, _S.CANCELLED}),
    _S.AWAITING_APPROVAL: frozenset({_S.SCHEDULED, _S.CANCELLED, _S.ERROR}),
    _S.SCHEDULED: frozenset({_S.EXECUTING, _S.AWAITING_APPROVAL, _S.CANCELLED, _S.ERROR}),
    _S.EXECUTING: frozenset({_S.SUCCESS, _S.ERROR, _S.CANCELLED}),
    _S.SUCCESS: frozenset(),
    _S.ERROR: frozenset(),
    _S.CANCELLED: frozenset(),
}
TERMINAL = frozenset(status for status, after in TRANSITIONS.items() if not after)


def check_move(call_id: str, before: Status, after: Status) -> None:
    """Raise StateError unless the table allows the move."""
    if after not in TRANSITIONS[before]:
        raise StateError(f"call {call_id}: {before} -> {after} is not a legal move")


Code = Literal[
    "ok",
    "denied",
    "cancelled_by_user",
    "cancelled_by_sibling",
    "discarded",
    "not_run_truncated",
    "never_started",
    "skipped",
    "unknown_tool",
    "invalid_arguments",
    "blocked_by_hook",
    "tool_error",
    "timed_out",
    "limit",
    "outcome_unknown",
]


@noun
class CodeRow:
    """``denial``: it counts against the limit of denials. ``cascades``: a tool that cascades takes the other calls of
    its message down with it."""

    status: Status
    meaning: str
    denial: bool = False
    cascades: bool = False


CODES: Mapping[Code, CodeRow] = {
    "ok": CodeRow(_S.SUCCESS, "it ran and did not fail"),
    "denied": CodeRow(_S.CANCELLED, "a rule, a mode or a person said no", denial=True),
    "cancelled_by_user": CodeRow(_S.CANCELLED, "interrupt, steering, or the program stopped waiting"),
    "cancelled_by_sibling": CodeRow(_S.CANCELLED, "a cascading tool of the same message failed"),
    "discarded": CodeRow(_S.CANCELLED, "the message was thrown away for a retry or another model"),
    "not_run_truncated": CodeRow(_S.CANCELLED, "the message, or the call's own arguments, never ended"),
    "never_started": CodeRow(_S.CANCELLED, "the program ended while the message was still arriving"),
    "skipped": CodeRow(_S.CANCELLED, "something else has to be finished first"),
    "unknown_tool": CodeRow(_S.ERROR, "there is no tool of that name; with up to three close names"),
    "invalid_arguments": CodeRow(_S.ERROR, "one line per fault"),
    "blocked_by_hook": CodeRow(_S.ERROR, "a hook said no, or put in arguments that are not valid", denial=True),
    "tool_error": CodeRow(_S.ERROR, "the tool raised, or failed in its own words", cascades=True),
    "timed_out": CodeRow(_S.ERROR, "its own timeout, or a lock it waited for too long", cascades=True),
    "limit": CodeRow(_S.ERROR, "it is larger than a call may be, and was not run"),
    "outcome_unknown": CodeRow(_S.ERROR, "it had started and its end is not known"),
}
"""Every code of a result; the reference is drawn from here."""

Known = Literal["none", "unknown", "done"]

HOOK_STOP = "hook_stop"
"""Among the details of a result: why a hook wants the agent to stop after it."""


@noun
class Display:
    """The form of a result for people. ``body`` is JSON; ``kind`` gives its shape.

    text and diff: a string; table: ``{"columns": […], "rows": [[…]]}``; tree: nested ``{"label", "children"}``;
    image: ``{"media_type", "path" | "data"}``; progress: ``{"current", "total"}``.
    """

    kind: Literal["text", "diff", "table", "tree", "image", "progress"]
    body: Any
    title: str | None = None


@noun
class Artifact:
    """A file that holds what was too big to hand over."""

    path: str
    size: int
    media_type: str = "text/plain"


ContextUpdate = Mapping[str, Any] | Callable[[Mapping[str, Any]], Mapping[str, Any]]


@noun
class Result:
    """One call's outcome: ``content`` for the model, ``display`` for people.

    A tool may return ``context_update`` as a function of the context; on record it is always data.
    """

    content: tuple[Content, ...] = ()
    display: tuple[Display, ...] = ()
    is_error: bool = False
    code: Code = "ok"
    details: Mapping[str, Any] = field(default_factory=nothing)
    artifacts: tuple[Artifact, ...] = ()
    context_update: ContextUpdate | None = None

    @property
    def status(self) -> Status:
        return CODES[self.code].status

    @property
    def effects(self) -> Known | None:
        """The known effect on the world: nothing happened, something may have, it was done."""
        return self.details.get("effects")

    @property
    def text(self) -> str:
        return "".join(part.text for part in self.content if isinstance(part, Text))

    @classmethod
    def failed(cls, code: Code, message: str, **details: Any) -> "Result":
        """A result that is not a success: the message is for the model, the details are for the record."""
        return cls(content=(Text(message),), is_error=True, code=code, details=details)


@noun
class Edited:
    """A change of a call's arguments: its author, and the old ones."""

    by: str
    before: Mapping[str, Any]


@noun
class ToolCall:
    """One structure for every status; what does not apply yet is None."""

    id: str
    name: str
    arguments: Mapping[str, Any] = field(default_factory=nothing)
    raw_arguments: str | None = None
    index: int = -1
    message_id: str = ""
    status: Status = Status.VALIDATING
    started_at: float | None = None
    ended_at: float | None = None
    duration_ms: float | None = None
    live_output: str = ""
    result: Result | None = None
    question: Question | None = None
    decision: Decision | None = None
    edited: Edited | None = None
    repairs: tuple[Repair, ...] = ()
    kept: Opaque | None = None
    """The provider's own data on the call; see CallPart."""

    @property
    def settled(self) -> bool:
        return self.status in TERMINAL

    @property
    def code(self) -> Code | None:
        """Of its result; None until it has one."""
        return None if self.result is None else self.result.code

    @property
    def text(self) -> str:
        """Of its result; empty until it has one."""
        return "" if self.result is None else self.result.text
