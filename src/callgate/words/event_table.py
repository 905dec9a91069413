"""The table of event classes. The tree of messages, the codec of the log, the ledger and the reference use this
table."""

from collections.abc import Mapping
from typing import Literal, NamedTuple

from callgate.words import events

On = Literal["session", "leaf", "message", "call", "turn", "nothing"]
"""The part of a record that an event belongs to: the session, the newest message at that time (``leaf``), the message
or the call that the event names, or the open turn. An event of a message that a rewind removed is ignored.
``nothing``: the event is not stored."""

LineKind = Literal["fact", "message", "closing", "rewound", "branched", "boundary"]
"""The effect of a line on the tree of messages. A message becomes the leaf; ``rewound`` and ``branched`` move the leaf;
a boundary hides earlier messages; a closing line is live until a message follows its leaf."""

Published = Literal["at once", "durable", "durable with effects", "durable from a model"]
"""The moment at which listeners receive an event: at once, or after it is durable. The last two values wait only for
calls with effects and only for messages of a model."""


class Row(NamedTuple):
    """The properties of a class of events.

    by      the attribute with the id of the message or call that the event belongs to; if the attribute has several
            ids, the last id is used
    target  the attribute with the id of a message: the new leaf of a move, or the first message that a boundary keeps
    folds   True if the event changes the ledger
    """

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
