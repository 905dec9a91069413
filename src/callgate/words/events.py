"""Events of a session.

Durable events are stored, and the state of the session is computed from them. Passing events are not stored. Order
of the events of one call: arrived < decided < asked < answered < started < settled < released. Calls of one message
arrive and are released in the order of ``index``, and settle in any order. ``at`` is wall time and may jump.
"""

from collections.abc import Iterable, Mapping
from dataclasses import field
from typing import Any, Literal, NamedTuple

from callgate.words.calls import Repair, Result
from callgate.words.decisions import ApprovalPolicy, Confirmation, Decision, Question
from callgate.words.endings import ENDINGS, RunReason
from callgate.words.messages import Message, Opaque, Part, Spent, Text
from callgate.words.model import RunOptions, StopReason, WantedEffort
from callgate.words.modes import Mode
from callgate.words.noun import noun
from callgate.words.pending import Ended, Staged
from callgate.words.turns import (
    AgentOpened,
    AgentSpent,
    AnswerUnused,
    Branched,
    Compacted,
    Counted,
    FeatureRecorded,
    Measures,
    NoticeAdded,
    NoticeDelivered,
    PhaseEnded,
    PhaseStarted,
    ResultReplaced,
    Rewound,
    Snipped,
    TextStreamed,
    ThinkingStreamed,
    TurnCause,
    TurnReason,
)

SessionStatus = Literal["idle", "working", "waiting_confirmation", "paused", "closed"]


@noun
class MessageAdded:
    """A message was added to the history. ``about`` is the subject of a reminder to the model, which starts no work.
    ``queued`` is the id of the queued prompt that became the message. ``options`` apply to the run of the message.
    The stop reason of an incomplete message of the model is not in ``WHOLE``."""

    at: float
    message: Message
    stop_reason: StopReason | None = None
    about: str | None = None
    queued: str | None = None
    options: RunOptions | None = None


@noun
class PromptQueued:
    """A prompt was queued until the run ends or, if ``steers`` is True, until the current calls end. A queued prompt
    with the same id is replaced."""

    at: float
    id: str
    parts: tuple[Part, ...]
    steers: bool = False
    options: RunOptions | None = None

    @property
    def text(self) -> str:
        return "".join(part.text for part in self.parts if isinstance(part, Text))


@noun
class PromptDequeued:
    """A prompt was removed from the queue, on every branch. The message of a delivered prompt precedes this event."""

    at: float
    id: str
    reason: Literal["delivered", "withdrawn", "refused"]


@noun
class TurnStarted:
    """A turn started. ``because`` is its cause. If ``forced`` is True, the model must resolve the pending action."""

    at: float
    turn: int
    message_id: str
    forced: bool = False
    because: TurnCause = "prompt"


@noun
class TurnEnded:
    """A turn ended. ``spent`` is the cost of its message, without failed requests."""

    at: float
    turn: int
    reason: TurnReason
    detail: str = ""
    spent: Spent | None = None
    measures: Measures | None = None


@noun
class RunEnded:
    """A run ended. ``kind``: the limit, or the kind of the model error. ``retryable``: a later attempt may succeed."""

    at: float
    reason: RunReason
    detail: str = ""
    kind: str = ""
    retryable: bool = False

    @property
    def sentence(self) -> str:
        text = ENDINGS[self.reason].sentence.format(kind=self.kind)
        return f"{text} {self.detail}" if self.detail else text

    @property
    def exit_code(self) -> int:
        """The exit code of a program whose only run is this run."""
        return ENDINGS[self.reason].exit_code


@noun
class RequestRetried:
    """The model failed: the request is sent again after ``delay`` seconds, to the fallback model ``instead`` if
    given. Text streamed for this message is discarded. If calls had arrived, the next turn repeats the request."""

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
    """A call arrived. ``asked_as`` is the name that the model used, if a toolbox replaced the call by a different
    call. ``arguments_hash`` is None for an invalid name or invalid arguments. ``kept`` is provider-specific data.
    ``from_text`` is True if the model wrote the call as text."""

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
    from_text: bool = False


@noun
class CallDecided:
    at: float
    call_id: str
    decision: Decision
    arguments_hash: str


@noun
class QuestionAsked:
    """A question about a call was asked. The user has to answer ``question`` before the call can run."""

    at: float
    question: Question


@noun
class QuestionAnswered:
    """A question was answered. ``edited`` is the hash of the user's arguments; secrets are masked in the record."""

    at: float
    confirmation: Confirmation
    edited: str | None = None


@noun
class CallStarted:
    """A call started. ``index`` is its position among the calls of its message, ``of`` the number of calls so far."""

    at: float
    call_id: str
    attempt: int = 1
    index: int = -1
    of: int = 0


@noun
class CallProgressed:
    """A call reported progress: text to append, and a gauge with the values ``current`` and ``total``."""

    at: float
    call_id: str
    text: str = ""
    current: float | None = None
    total: float | None = None


@noun
class CallSettled:
    """A call got its result. If ``held``, an earlier call of the message is unsettled, and CallReleased releases the
    result later. ``index`` and ``of`` are as in CallStarted."""

    at: float
    call_id: str
    result: Result
    duration_ms: float | None = None
    held: bool = False
    index: int = -1
    of: int = 0


@noun
class CallReleased:
    """A held result was released, because all earlier calls of the message have settled."""

    at: float
    call_id: str
    index: int


@noun
class InterruptibleChanged:
    """``interruptible`` changed. It is True if a message of the user would cancel the running calls."""

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
    """An action was staged. It will be applied or discarded."""

    at: float
    action: Staged


@noun
class ActionResolved:
    """An action was applied or discarded. ``by`` is ``model``, ``person`` or ``callgate``."""

    at: float
    id: str
    label: str
    ended: Ended
    reason: str = ""
    by: str = "model"


@noun
class Paused:
    """The agent paused until it receives Continue or a prompt of the user."""

    at: float
    reason: str


@noun
class StrayFound:
    """A call was settled although its tool did not stop. The call keeps its locks until the tool ends."""

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
class MetadataSet:
    """A fact about the session, such as ``title``, was set. The value None removes the fact. ``spent`` is the cost
    if a model wrote the value."""

    at: float
    key: str
    value: Any
    spent: Spent | None = None


@noun
class SessionOpened:
    """The first event of a session. ``source`` is the session that the first events were copied from. If ``forked``,
    the events before Forked belong to another session."""

    at: float
    version: str
    workspace: str = ""
    source: str = ""
    forked: bool = False


@noun
class Forked:
    """The session was forked: all earlier events were copied from another session. Calls that are open at this event
    belong to the other session."""

    at: float
    session: str
    counted: Counted = field(default_factory=Counted)


@noun
class LinesQuarantined:
    """Unreadable bytes of the log were copied to the file ``kept_in``. ``counted`` has the totals of the readable
    part."""

    at: float
    ranges: tuple[tuple[int, int], ...]
    kept_in: str
    counted: Counted = field(default_factory=Counted)


@noun
class Noted:
    """A note for the user was recorded. The note is not part of a result."""

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


_OfHistory = MessageAdded | Rewound | Branched | Compacted | Snipped | ResultReplaced | LinesQuarantined
_OfTurns = PromptQueued | PromptDequeued | TurnStarted | TurnEnded | RunEnded | RequestRetried | Paused | AnswerUnused
_OfCalls = CallArrived | CallDecided | QuestionAsked | QuestionAnswered | CallStarted | CallSettled | PolicyAdded
_OfActions = ActionStaged | ActionResolved | StrayFound | StrayEnded | NoticeAdded | NoticeDelivered | FeatureRecorded
_OfSession = SessionOpened | Forked | ModeSet | ModelSet | EffortSet | MetadataSet | AgentOpened | AgentSpent | Noted
Durable = _OfHistory | _OfTurns | _OfCalls | ContextUpdated | _OfActions | _OfSession
_Streamed = CallProgressed | TextStreamed | ThinkingStreamed | PhaseStarted | PhaseEnded
Passing = _Streamed | CallReleased | InterruptibleChanged | InputRefused | StatusChanged
Event = Durable | Passing

AgentPath = tuple[str, ...]
"""Names of agents from the root session to a nested session; empty for the root."""


class SessionEvent(NamedTuple):
    """An event of a session or of a nested session.

    path    the names of the agents from the root to the session that wrote the event
    number  the number of the event in the record of that session, from 1; 0 if the event is not recorded
    """

    path: AgentPath
    number: int
    event: Event


SPENDING = (AgentSpent, AnswerUnused, Compacted, MetadataSet, RequestRetried, TurnEnded)
"""The events with the costs of a request."""


def spent_in(event: Event) -> Spent | None:
    """Return the costs of a request that the event records, or None."""
    if isinstance(event, Compacted):
        return None if event.usage is None else Spent(event.model, event.usage, event.cost)
    return event.spent if isinstance(event, SPENDING) else None


def by_model(spent: Iterable[Spent]) -> tuple[Spent, ...]:
    """Return the total costs of each model."""
    sums: dict[str, Spent] = {}
    for each in spent:
        before = sums.get(each.model)
        sums[each.model] = each if before is None else before + each
    return tuple(sums.values())
