"""Facts, in the past tense. A session is the fold of the durable ones; the others are for eyes only.

Ordering rules: of one call, arrived < decided < asked < answered < started < settled < released. Calls of one message
arrive and are released in the order of ``index``; they settle in any order. ``at`` is wall time and may jump: order
comes from the position in the log.
"""

from collections.abc import Mapping
from dataclasses import field
from typing import Any, Literal, NamedTuple

from callgate.words.arguments import Repair
from callgate.words.calls import Result
from callgate.words.decisions import ApprovalPolicy, Confirmation, Decision, Question
from callgate.words.messages import Content, Message, Part, Text, Usage
from callgate.words.model import StopReason
from callgate.words.modes import Mode
from callgate.words.noun import nothing, noun
from callgate.words.pending import Ended, Staged

RunReason = Literal["done", "interrupted", "stopped", "limit", "model_error", "cut_off", "closed"]
"""Why the agent stopped working; see the loop."""

TurnReason = Literal["answered", "calls", "truncated", "interrupted", "stopped", "model_error"]
"""Why a turn ended."""

GOES_ON: tuple[TurnReason, ...] = ("calls", "truncated")
"""Those after which the next request follows by itself."""

SessionStatus = Literal["idle", "working", "waiting_confirmation", "paused", "closed"]


@noun
class MessageAdded:
    """A message joined the history. A partial assistant message has a stop reason that is not a whole one. ``about`` is
    what the model is reminded of, a pending action for one: then nobody said it, and no work comes of it. ``queued`` is
    the prompt that waited to become this message."""

    at: float
    message: Message
    stop_reason: StopReason | None = None
    about: str | None = None
    queued: str | None = None


@noun
class PromptQueued:
    """A prompt came while the agent works, and waits for the end of the work; ``steers``: for the end of the calls
    under way. The same id again: a person has edited it."""

    at: float
    id: str
    parts: tuple[Part, ...]
    steers: bool = False

    @property
    def text(self) -> str:
        """Its plain text, other parts left out."""
        return "".join(part.text for part in self.parts if isinstance(part, Text))


@noun
class PromptDequeued:
    """A prompt waits no longer, on any branch. The message of one that was delivered stands before it."""

    at: float
    id: str
    reason: Literal["delivered", "withdrawn", "refused"]


@noun
class TurnStarted:
    """``forced``: the model is held to resolve what is pending."""

    at: float
    turn: int
    message_id: str
    forced: bool = False


@noun
class TurnEnded:
    at: float
    turn: int
    reason: TurnReason
    detail: str = ""


@noun
class RunEnded:
    at: float
    reason: RunReason
    detail: str = ""


@noun
class CallArrived:
    """``asked_as`` is the name the model used when the call became one of another tool. A call that got no further
    than its name or its arguments has no hash."""

    at: float
    call_id: str
    name: str
    arguments: Mapping[str, Any]
    index: int
    message_id: str = ""
    raw_arguments: str | None = None
    repairs: tuple[Repair, ...] = ()
    asked_as: str | None = None
    arguments_hash: str | None = None


@noun
class CallDecided:
    at: float
    call_id: str
    decision: Decision
    arguments_hash: str


@noun
class QuestionAsked:
    at: float
    question: Question


@noun
class QuestionAnswered:
    """``edited`` is the hash of the arguments that the person gave: where secrets are masked on record, those there are
    others."""

    at: float
    confirmation: Confirmation
    edited: str | None = None


@noun
class CallStarted:
    at: float
    call_id: str
    attempt: int = 1


@noun
class CallProgressed:
    """Text is what was added since the last one; ``current`` of ``total`` is a gauge."""

    at: float
    call_id: str
    text: str = ""
    current: float | None = None
    total: float | None = None


@noun
class CallSettled:
    """The one result of a call. ``held``: an earlier call of its message has not settled yet, so the result waits and
    CallReleased follows; otherwise it leaves now."""

    at: float
    call_id: str
    result: Result
    duration_ms: float | None = None
    held: bool = False


@noun
class CallReleased:
    """A result that was held leaves: all calls before it in its message have settled too."""

    at: float
    call_id: str
    index: int


@noun
class ContextUpdated:
    at: float
    call_id: str
    update: Mapping[str, Any]


@noun
class PolicyAdded:
    at: float
    policy: ApprovalPolicy


@noun
class ActionStaged:
    """Something waits to be applied or discarded."""

    at: float
    action: Staged


@noun
class ActionResolved:
    """It waits no longer. ``by``: ``model``, ``person``, or ``callgate`` where nobody said so."""

    at: float
    id: str
    label: str
    ended: Ended
    reason: str = ""
    by: str = "model"


@noun
class Paused:
    """The agent stops and waits for a person, in the middle of its work: send Continue, or say something."""

    at: float
    reason: str


@noun
class StrayFound:
    """A call settled while its tool could not be stopped; it keeps its locks until it ends."""

    at: float
    call_id: str
    name: str


@noun
class StrayEnded:
    at: float
    call_id: str


@noun
class ModeSet:
    at: float
    mode: Mode


@noun
class ModelSet:
    at: float
    model: str


@noun
class Counted:
    """Totals of a whole session, dead branches included: what a fold of the live part alone could not know."""

    messages: int = 0
    turns: int = 0
    usage: Usage = field(default_factory=Usage)


@noun
class Rewound:
    """The history continues from just before this message."""

    at: float
    message_id: str
    counted: Counted = field(default_factory=Counted)


@noun
class Branched:
    """The history continues right after this message, which may be on a branch that was left before."""

    at: float
    message_id: str
    counted: Counted = field(default_factory=Counted)


@noun
class Compacted:
    """A boundary: the model sees the summary, then the history from ``kept`` on. Nothing is deleted. ``context`` is
    what calls before it had left behind, ``running`` whether the work went on after it, ``untold`` are actions
    whose end the model had not heard of."""

    at: float
    summary: str
    kept: str | None = None
    trigger: Literal["manual", "automatic", "reactive", "imported"] = "manual"
    running: bool = False
    context: Mapping[str, Any] = field(default_factory=nothing)
    counted: Counted = field(default_factory=Counted)
    paused: bool = False
    untold: tuple[str, ...] = ()


@noun
class Snipped:
    """The model does not see these messages any more."""

    at: float
    message_ids: tuple[str, ...]


@noun
class ResultReplaced:
    """From now on the model sees this in place of a call's result, byte for byte."""

    at: float
    message_id: str
    call_id: str
    content: tuple[Content, ...]


@noun
class MetadataSet:
    """Something about the session itself: ``title``, ``tags``, ``worktree``, ``agent``. None takes it away."""

    at: float
    key: str
    value: Any


@noun
class SessionOpened:
    """The first line of a session. ``source`` says where its first entries were copied from, if they were."""

    at: float
    version: str
    workspace: str = ""
    source: str = ""


@noun
class Forked:
    """What stands before it was copied from another session. Calls open at that point belong there, not here."""

    at: float
    session: str
    counted: Counted = field(default_factory=Counted)


@noun
class LinesQuarantined:
    """Bytes of the log that could not be read, by offset and length; a copy is kept in the file named. ``counted`` is
    what is there in spite of that."""

    at: float
    ranges: tuple[tuple[int, int], ...]
    kept_in: str
    counted: Counted = field(default_factory=Counted)


@noun
class EntryKept:
    """An entry of an imported transcript that has no counterpart here, verbatim."""

    at: float
    source: str
    data: Mapping[str, Any]


@noun
class Noted:
    """Something a person should see that belongs to no call's result."""

    at: float
    text: str
    level: Literal["info", "warning", "error"] = "info"
    call_id: str | None = None


@noun
class InputRefused:
    at: float
    input: str
    reason: str


@noun
class TextStreamed:
    at: float
    message_id: str
    text: str


@noun
class ThinkingStreamed:
    at: float
    message_id: str
    text: str


@noun
class StatusChanged:
    at: float
    status: SessionStatus


Durable = (
    MessageAdded
    | PromptQueued
    | PromptDequeued
    | TurnStarted
    | TurnEnded
    | RunEnded
    | CallArrived
    | CallDecided
    | QuestionAsked
    | QuestionAnswered
    | CallStarted
    | CallSettled
    | ContextUpdated
    | PolicyAdded
    | ActionStaged
    | ActionResolved
    | Paused
    | StrayFound
    | StrayEnded
    | ModeSet
    | ModelSet
    | Rewound
    | Branched
    | Compacted
    | Snipped
    | ResultReplaced
    | MetadataSet
    | SessionOpened
    | Forked
    | LinesQuarantined
    | EntryKept
    | Noted
)
Passing = CallProgressed | CallReleased | InputRefused | TextStreamed | ThinkingStreamed | StatusChanged
Event = Durable | Passing

On = Literal["session", "leaf", "message", "call", "turn", "nothing"]
"""The part of a record that an event belongs to, and becomes dead with: the session (never dead), the newest message
when it was written, the message or the call that the event names, the open turn. ``nothing``: it is not on record."""

LineKind = Literal["fact", "message", "closing", "rewound", "branched", "boundary"]
"""The effect of a line on the tree of messages. A message is the new leaf; rewound and branched move the leaf; a
boundary hides what is before it; a closing line counts only while no other message follows its leaf."""

Told = Literal["at once", "durable", "durable with effects", "durable from a model"]
"""The moment doors hear of it: when it happens, or once it is durable; with the last two only of calls with effects,
only of messages of a model."""


class Row(NamedTuple):
    """All facts about a class of events that are not its fields. ``by`` is the attribute with the id of the message or
    call (the last, if it has several), ``target`` the one with the message that the leaf moves to or that is kept.
    ``folds``: some state changes by it."""

    on: On = "session"
    by: str = ""
    line: LineKind = "fact"
    target: str = ""
    told: Told = "at once"
    folds: bool = True


_PASSING = Row("nothing", folds=False)

EVENTS: Mapping[type[Event], Row] = {
    MessageAdded: Row("leaf", line="message", told="durable from a model"),
    PromptQueued: Row(told="durable"),
    PromptDequeued: Row(),
    TurnStarted: Row("message", "message_id", told="durable"),
    TurnEnded: Row("turn"),
    RunEnded: Row("leaf", line="closing"),
    CallArrived: Row("message", "message_id"),
    CallDecided: Row("call", "call_id"),
    QuestionAsked: Row("call", "question.call_id", told="durable"),
    QuestionAnswered: Row("call", "confirmation.call_id", told="durable"),
    CallStarted: Row("call", "call_id", told="durable with effects"),
    CallSettled: Row("call", "call_id", told="durable with effects"),
    ContextUpdated: Row("call", "call_id"),
    PolicyAdded: Row(),
    ActionStaged: Row(told="durable"),
    ActionResolved: Row(),
    Paused: Row("leaf", line="closing"),
    StrayFound: Row("call", "call_id", folds=False),
    StrayEnded: Row("call", "call_id", folds=False),
    ModeSet: Row(),
    ModelSet: Row(),
    Rewound: Row(line="rewound", target="message_id"),
    Branched: Row(line="branched", target="message_id"),
    Compacted: Row("leaf", line="boundary", target="kept"),
    Snipped: Row("message", "message_ids"),
    ResultReplaced: Row("message", "message_id"),
    MetadataSet: Row(),
    SessionOpened: Row(folds=False),
    Forked: Row("leaf"),
    LinesQuarantined: Row(),
    EntryKept: Row("leaf", folds=False),
    Noted: Row("call", "call_id", folds=False),
    CallProgressed: Row("nothing"),
    CallReleased: _PASSING,
    InputRefused: _PASSING,
    TextStreamed: _PASSING,
    ThinkingStreamed: _PASSING,
    StatusChanged: _PASSING,
}
"""The one table of events: the tree of messages, the lines of a log, the fold and the reference are made from it."""
