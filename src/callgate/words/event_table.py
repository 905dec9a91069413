"""The one table of events: the tree of messages, the lines of a log, the fold and the reference are made from it."""

from collections.abc import Mapping
from typing import Literal, NamedTuple

from callgate.words.events import (
    ActionResolved,
    ActionStaged,
    AgentOpened,
    AgentSpent,
    AnswerUnused,
    Branched,
    CallArrived,
    CallDecided,
    CallProgressed,
    CallReleased,
    CallSettled,
    CallStarted,
    Compacted,
    ContextUpdated,
    EffortSet,
    Event,
    FeatureRecorded,
    Forked,
    InputRefused,
    InterruptibleChanged,
    LinesQuarantined,
    MessageAdded,
    MetadataSet,
    ModelSet,
    ModeSet,
    Noted,
    NoticeAdded,
    NoticeDelivered,
    Paused,
    PhaseEnded,
    PhaseStarted,
    PolicyAdded,
    PromptDequeued,
    PromptQueued,
    QuestionAnswered,
    QuestionAsked,
    RequestRetried,
    ResultReplaced,
    Rewound,
    RunEnded,
    SessionOpened,
    Snipped,
    StatusChanged,
    StrayEnded,
    StrayFound,
    TextStreamed,
    ThinkingStreamed,
    TurnEnded,
    TurnStarted,
)

On = Literal["session", "leaf", "message", "call", "turn", "nothing"]
"""The part of a record that an event belongs to, and becomes dead with: the session (never dead), the newest message
when it was written, the message or the call that the event names, the open turn. ``nothing``: it is not on record."""

LineKind = Literal["fact", "message", "closing", "rewound", "branched", "boundary"]
"""The effect of a line on the tree of messages. A message is the new leaf; rewound and branched move the leaf; a
boundary hides what is before it; a closing line counts only while no other message follows its leaf."""

Published = Literal["at once", "durable", "durable with effects", "durable from a model"]
"""When listeners receive an event: at once, or after it is durable. The last two wait only for calls with effects and
only for messages of a model."""


class Row(NamedTuple):
    """All facts about a class of events that are not its fields. ``by`` is the attribute with the id of the message or
    call (the last, if it has several), ``target`` the one with the message that the leaf moves to or that is kept.
    ``folds``: some state changes by it."""

    on: On = "session"
    by: str = ""
    line: LineKind = "fact"
    target: str = ""
    published: Published = "at once"
    folds: bool = True


_PASSING = Row("nothing", folds=False)

EVENTS: Mapping[type[Event], Row] = {
    MessageAdded: Row("leaf", line="message", published="durable from a model"),
    PromptQueued: Row(published="durable"),
    PromptDequeued: Row(),
    TurnStarted: Row("message", "message_id", published="durable"),
    TurnEnded: Row("turn"),
    RunEnded: Row("leaf", line="closing"),
    RequestRetried: Row("message", "message_id"),
    CallArrived: Row("message", "message_id"),
    CallDecided: Row("call", "call_id"),
    QuestionAsked: Row("call", "question.call_id", published="durable"),
    QuestionAnswered: Row("call", "confirmation.call_id", published="durable"),
    CallStarted: Row("call", "call_id", published="durable with effects"),
    CallSettled: Row("call", "call_id", published="durable with effects"),
    ContextUpdated: Row("call", "call_id"),
    PolicyAdded: Row(),
    ActionStaged: Row(published="durable"),
    ActionResolved: Row(),
    Paused: Row("leaf", line="closing"),
    StrayFound: Row("call", "call_id", folds=False),
    StrayEnded: Row("call", "call_id", folds=False),
    ModeSet: Row(),
    ModelSet: Row(),
    EffortSet: Row(),
    Rewound: Row(line="rewound", target="message_id"),
    Branched: Row(line="branched", target="message_id"),
    Compacted: Row("leaf", line="boundary", target="kept"),
    Snipped: Row("message", "message_ids"),
    ResultReplaced: Row("message", "message_id"),
    MetadataSet: Row(),
    AnswerUnused: Row(),
    AgentOpened: Row(published="durable"),
    AgentSpent: Row(),
    SessionOpened: Row(),
    Forked: Row("leaf"),
    LinesQuarantined: Row(),
    NoticeAdded: Row(published="durable"),
    NoticeDelivered: Row(),
    FeatureRecorded: Row(),
    Noted: Row("call", "call_id", folds=False),
    CallProgressed: Row("nothing"),
    CallReleased: _PASSING,
    InterruptibleChanged: _PASSING,
    InputRefused: _PASSING,
    PhaseStarted: _PASSING,
    PhaseEnded: _PASSING,
    TextStreamed: _PASSING,
    ThinkingStreamed: _PASSING,
    StatusChanged: _PASSING,
}
