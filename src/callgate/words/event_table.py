"""The one table of events: the tree of messages, the lines of a log, the fold and the reference are made from it."""

from collections.abc import Mapping
from typing import Literal, NamedTuple

from callgate.words import events

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

EVENTS: Mapping[type[events.Event], Row] = {
    events.MessageAdded: Row("leaf", line="message", published="durable from a model"),
    events.PromptQueued: Row(published="durable"),
    events.PromptDequeued: Row(),
    events.TurnStarted: Row("message", "message_id", published="durable"),
    events.TurnEnded: Row("turn"),
    events.RunEnded: Row("leaf", line="closing"),
    events.RequestRetried: Row("message", "message_id"),
    events.CallArrived: Row("message", "message_id"),
    events.CallDecided: Row("call", "call_id"),
    events.QuestionAsked: Row("call", "question.call_id", published="durable"),
    events.QuestionAnswered: Row("call", "confirmation.call_id", published="durable"),
    events.CallStarted: Row("call", "call_id", published="durable with effects"),
    events.CallSettled: Row("call", "call_id", published="durable with effects"),
    events.ContextUpdated: Row("call", "call_id"),
    events.PolicyAdded: Row(),
    events.ActionStaged: Row(published="durable"),
    events.ActionResolved: Row(),
    events.Paused: Row("leaf", line="closing"),
    events.StrayFound: Row("call", "call_id", folds=False),
    events.StrayEnded: Row("call", "call_id", folds=False),
    events.ModeSet: Row(),
    events.ModelSet: Row(),
    events.EffortSet: Row(),
    events.Rewound: Row(line="rewound", target="message_id"),
    events.Branched: Row(line="branched", target="message_id"),
    events.Compacted: Row("leaf", line="boundary", target="kept"),
    events.Snipped: Row("message", "message_ids"),
    events.ResultReplaced: Row("message", "message_id"),
    events.MetadataSet: Row(),
    events.AnswerUnused: Row(),
    events.AgentOpened: Row(published="durable"),
    events.AgentSpent: Row(),
    events.SessionOpened: Row(),
    events.Forked: Row("leaf"),
    events.LinesQuarantined: Row(),
    events.NoticeAdded: Row(published="durable"),
    events.NoticeDelivered: Row(),
    events.FeatureRecorded: Row(),
    events.Noted: Row("call", "call_id", folds=False),
    events.CallProgressed: Row("nothing"),
    events.CallReleased: _PASSING,
    events.InterruptibleChanged: _PASSING,
    events.InputRefused: _PASSING,
    events.PhaseStarted: _PASSING,
    events.PhaseEnded: _PASSING,
    events.TextStreamed: _PASSING,
    events.ThinkingStreamed: _PASSING,
    events.StatusChanged: _PASSING,
}
