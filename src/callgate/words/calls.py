"""Tool calls: validated arguments, statuses and their transitions, codes of results, results.

Paths of arguments have the form ``$.items[0].id``; ``$`` is the whole object.
"""

from collections.abc import Callable, Mapping
from dataclasses import field
from enum import StrEnum
from typing import Any, Literal, TypeAlias

from callgate.words.decisions import Decision, Question
from callgate.words.errors import StateError
from callgate.words.messages import Content, Opaque, Text
from callgate.words.noun import nothing, noun

JSON: TypeAlias = "bool | int | float | str | list[JSON] | dict[str, JSON] | None"


@noun
class Repair:
    """A repair of an argument that preserves its information. ``what`` describes the change at ``path``."""

    path: str
    what: str


@noun
class Accepted:
    """Arguments that match the schema, and the repairs that were made."""

    arguments: dict[str, Any]
    repairs: tuple[Repair, ...] = ()


@noun
class Rejected:
    """The faults of invalid arguments. Each fault has at least one line with the path, the value and the expected
    value."""

    errors: tuple[str, ...]


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
    """Raise StateError unless TRANSITIONS contains the transition."""
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
    """The properties of a result code.

    denial    True if the result counts towards the limit of denials
    cascades  True if the result cancels the other calls of the message that have effects, for a tool with the trait
              ``cascade``
    """

    status: Status
    meaning: str
    denial: bool = False
    cascades: bool = False


CODES: Mapping[Code, CodeRow] = {
    "ok": CodeRow(_S.SUCCESS, "it ran and did not fail"),
    "denied": CodeRow(_S.CANCELLED, "a rule, a mode or a person said no", denial=True),
    "cancelled_by_user": CodeRow(_S.CANCELLED, "interrupt, steering, or the program stopped waiting"),
    "cancelled_by_sibling": CodeRow(
        _S.CANCELLED, "a cascading tool of the same message failed, and the call has effects"
    ),
    "discarded": CodeRow(_S.CANCELLED, "the message was thrown away for a retry or another model"),
    "not_run_truncated": CodeRow(_S.CANCELLED, "the message, or the call's own arguments, never ended"),
    "never_started": CodeRow(_S.CANCELLED, "the program ended while the message was still arriving"),
    "skipped": CodeRow(_S.CANCELLED, "something else has to be finished first"),
    "unknown_tool": CodeRow(_S.ERROR, "there is no tool of that name; with up to three close names"),
    "invalid_arguments": CodeRow(_S.ERROR, "one line per fault"),
    "blocked_by_hook": CodeRow(_S.ERROR, "a hook said no, or put in arguments that are not valid", denial=True),
    "tool_error": CodeRow(_S.ERROR, "the tool raised, or failed in its own words", cascades=True),
    "timed_out": CodeRow(_S.ERROR, "its own timeout, or a lock it waited for too long", cascades=True),
    "limit": CodeRow(
        _S.ERROR, "it is larger than a call may be, or beyond the number of calls of a run, and was not run"
    ),
    "outcome_unknown": CodeRow(_S.ERROR, "it had started and its end is not known"),
}
"""All codes of results; the reference is generated from this table."""

Known = Literal["none", "unknown", "done"]

HOOK_STOP = "hook_stop"
"""Key in the details of a result: the reason why a hook stops the agent after it."""
NO_CASCADE = "no_cascade"
"""Key in the details of an error result: if True, the error cancels no other call."""

NO_OUTPUT = "({name} completed with no output)"
"""The text that a model reads instead of an empty result. Interfaces do not show it."""

PARTIAL_OUTPUT = "partial_output"
"""Key in the details of an error result: if True, the text after the first line is the output of a cancelled call."""


@noun
class Display:
    """The content that is shown to the user for a result. ``body`` is JSON data in the format given by ``kind``.

    text and diff: a string; table: ``{"columns": […], "rows": [[…]]}``; tree: nested ``{"label", "children"}``;
    image: ``{"media_type", "path" | "data"}``; progress: ``{"current", "total"}``.
    """

    kind: Literal["text", "diff", "table", "tree", "image", "progress"]
    body: Any
    title: str | None = None


@noun
class Artifact:
    """A file with content that was too large for a result."""

    path: str
    size: int
    media_type: str = "text/plain"


ContextUpdate = Mapping[str, Any] | Callable[[Mapping[str, Any]], Mapping[str, Any]]


@noun
class Result:
    """The result of a call: ``content`` for the model, ``display`` for the user.

    A tool may return ``context_update`` as a function of the context. The record stores the value that it returns.
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
        """The known effects of the call: nothing changed, something may have changed, or all changes are complete.
        None if the effects are not known."""
        return self.details.get("effects")

    @property
    def text(self) -> str:
        return "".join(part.text for part in self.content if isinstance(part, Text))

    @classmethod
    def failed(cls, code: Code, message: str, **details: Any) -> "Result":
        """Return an error result with a message for the model and details for the record."""
        return cls(content=(Text(message),), is_error=True, code=code, details=details)


@noun
class Edited:
    """A change of the arguments of a call: its author and the previous arguments."""

    by: str
    before: Mapping[str, Any]


@noun
class ToolCall:
    """A call in any status. Fields that do not apply yet are None."""

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
    """Provider-specific data about the call; see CallPart."""
    from_text: bool = False
    """True if the model wrote the call as text."""

    @property
    def settled(self) -> bool:
        return self.status in TERMINAL

    @property
    def code(self) -> Code | None:
        """The code of the result, or None if the call has no result yet."""
        return None if self.result is None else self.result.code

    @property
    def text(self) -> str:
        """The text of the result, or an empty string if the call has no result yet."""
        return "" if self.result is None else self.result.text
