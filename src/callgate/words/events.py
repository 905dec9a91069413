"""Events of a session. The fold of the durable ones is its state; the passing ones are only shown.

Order of the events of one call: arrived < decided < asked < answered < started < settled < released. Calls of one
message arrive and are released in the order of ``index``, and settle in any order. ``at`` is wall time and may jump.
"""

from collections.abc import Mapping
from dataclasses import field
from typing import Any, Literal

from callgate.words.arguments import Repair
from callgate.words.calls import Result
from callgate.words.decisions import ApprovalPolicy, Confirmation, Decision, Question
from callgate.words.endings import ENDINGS, RunReason
from callgate.words.messages import Content, Message, Opaque, Part, Spent, Text, Usage
from callgate.words.model import RunOptions, StopReason, WantedEffort
from callgate.words.modes import Mode
from callgate.words.notices import AgentOpened, AgentSpent, FeatureRecorded, NoticeAdded, NoticeDelivered
from callgate.words.noun import nothing, noun
from callgate.words.pending import Ended, Staged
from callgate.words.turns import (
    AnswerUnused,
    Measures,
    PhaseEnded,
    PhaseStarted,
    TextStreamed,
    ThinkingStreamed,
    TurnCause,
    TurnReason,
)

SessionStatus = Literal["idle", "working", "waiting_confirmation", "paused", "closed"]


@noun
class MessageAdded:
    """A message joined the history. A partial assistant message has a stop reason that is not a whole one. ``about`` is
    the subject of a reminder to the model, such as a pending action: no person said it, and it starts no work.
    ``queued`` is the prompt that waited to become this message; ``options`` are those of its run."""

    at: float
    message: Message
    stop_reason: StopReason | None = None
    about: str | None = None
    queued: str | None = None
    options: RunOptions | None = None


@noun
class PromptQueued:
    """A prompt that waits for the end of the run; ``steers``: of the calls. The same id again: it was edited."""

    at: float
    id: str
    parts: tuple[Part, ...]
    steers: bool = False
    options: RunOptions | None = None

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
    """``because`` is the reason of this request. ``forced``: the model is held to resolve what is pending."""

    at: float
    turn: int
    message_id: str
    forced: bool = False
    because: TurnCause = "prompt"


@noun
class TurnEnded:
    """``spent`` is the price of its message; attempts before it that failed have their own."""

    at: float
    turn: int
    reason: TurnReason
    detail: str = ""
    spent: Spent | None = None
    measures: Measures | None = None


@noun
class RunEnded:
    """The run ended. ``kind``: the limit reached, or the model's error; ``retryable``: it may succeed later."""

    at: float
    reason: RunReason
    detail: str = ""
    kind: str = ""
    retryable: bool = False

    @property
    def sentence(self) -> str:
        """The reason, for people."""
        text = ENDINGS[self.reason].sentence.format(kind=self.kind)
        return f"{text} {self.detail}" if self.detail else text

    @property
    def exit_code(self) -> int:
        """The exit code of a program that made this run and nothing else."""
        return ENDINGS[self.reason].exit_code


@noun
class RequestRetried:
    """The model failed: the request is sent again after ``delay`` seconds, to the fallback model if ``instead`` names
    one. Text that this message has streamed so far counts no more. If calls had arrived, it is the message of the turn
    before that failed, and the model is told what took effect."""

    at: float
    message_id: str
    attempt: int
    delay: float
    kind: str
    detail: str = ""
    instead: str = ""
    spent: Spent | None = None


@noun
class CallArrived:
    """``asked_as`` is the name the model used when the call became one of another tool. A call that got no further
    than its name or its arguments has no hash. ``kept`` is the provider's own data on it."""

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
    kept: Opaque | None = None


@noun
class CallDecided:
    at: float
    call_id: str
    decision: Decision
    arguments_hash: str


@noun
class QuestionAsked:
    """A person has to answer ``question`` before its call can go on."""

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
    """``index`` is its place among the calls of its message, ``of`` their number so far."""

    at: float
    call_id: str
    attempt: int = 1
    index: int = -1
    of: int = 0


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
    CallReleased follows; otherwise it leaves now. ``index`` and ``of`` as in CallStarted."""

    at: float
    call_id: str
    result: Result
    duration_ms: float | None = None
    held: bool = False
    index: int = -1
    of: int = 0


@noun
class CallReleased:
    """A result that was held leaves: all calls before it in its message have settled too."""

    at: float
    call_id: str
    index: int


@noun
class InterruptibleChanged:
    """From now on a message of the user interrupts what runs, or waits for it."""

    at: float
    interruptible: bool


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
    """The action is no longer pending. ``by``: ``model``, ``person``, or else ``callgate``."""

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
class EffortSet:
    at: float
    effort: WantedEffort


@noun
class Counted:
    """Totals of a whole session, dead branches included: what a fold of the live part alone could not know."""

    messages: int = 0
    turns: int = 0
    usage: Usage = field(default_factory=Usage)
    costs: tuple[Spent, ...] = ()


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
    the one that earlier calls left, ``running`` is true if the work went on after it, ``unreported`` are ended actions
    that the model was not told of yet. ``restored`` is put back behind the summary: the to-do list, files. ``focus`` is
    what a person asked the summary to mind, ``covered`` the number of messages it stands for; tokens are those of the
    next request without and with it; ``model`` wrote it, for ``usage`` and ``cost``."""

    at: float
    summary: str
    kept: str | None = None
    trigger: Literal["manual", "automatic", "reactive", "imported"] = "manual"
    running: bool = False
    context: Mapping[str, Any] = field(default_factory=nothing)
    counted: Counted = field(default_factory=Counted)
    paused: bool = False
    unreported: tuple[str, ...] = ()
    restored: str = ""
    focus: str = ""
    covered: int = 0
    tokens_before: int = 0
    tokens_after: int = 0
    model: str = ""
    usage: Usage | None = None
    cost: float | None = None
    options: RunOptions | None = None


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
    """A fact about the session: ``title``, ``tags`` … None removes it. ``spent``: by the model that wrote it."""

    at: float
    key: str
    value: Any
    spent: Spent | None = None


@noun
class SessionOpened:
    """The first line of a session. ``source`` says where its first entries were copied from, if they were; ``forked``:
    all up to Forked are those of another session."""

    at: float
    version: str
    workspace: str = ""
    source: str = ""
    forked: bool = False


@noun
class Forked:
    """All events before it were copied from another session. Calls open at that point belong there, not here."""

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
    | RequestRetried
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
    | EffortSet
    | Rewound
    | Branched
    | Compacted
    | Snipped
    | ResultReplaced
    | MetadataSet
    | AnswerUnused
    | AgentOpened
    | AgentSpent
    | SessionOpened
    | Forked
    | LinesQuarantined
    | Noted
    | NoticeAdded
    | NoticeDelivered
    | FeatureRecorded
)
Passing = (
    CallProgressed
    | CallReleased
    | InterruptibleChanged
    | InputRefused
    | PhaseStarted
    | PhaseEnded
    | TextStreamed
    | ThinkingStreamed
    | StatusChanged
)
Event = Durable | Passing
