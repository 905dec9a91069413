"""Turns: causes, ends and durations. Events of the history, of hooks, notices, features and nested sessions."""

from collections.abc import Mapping
from dataclasses import field
from typing import Any, Literal

from callgate.words.messages import Content, Spent, Usage
from callgate.words.model import RunOptions
from callgate.words.noun import nothing, noun

TurnReason = Literal["answered", "calls", "truncated", "retried", "interrupted", "stopped", "model_error", "called"]
"""Reasons for the end of a turn. ``retried``: the model failed and the next turn tries again. ``called``: the
calls of a program ended, outside of a run."""

CONTINUING_REASONS: tuple[TurnReason, ...] = ("calls", "truncated", "retried")
"""Reasons after which the next request is sent without waiting for the user."""

TurnCause = Literal[
    "prompt",
    "mention",
    "call",
    "results",
    "steered",
    "continued",
    "retried",
    "unmade",
    "compacted",
    "output_limit",
    "cut_off",
    "pending",
    "hook",
    "budget",
    "notice",
]
"""Causes of a turn.

prompt, mention  a prompt; calls for the mentions in it, before the model is asked
call             calls of a program, see ``Session.call``
results          results of calls
steered          a message that was typed while the agent worked
continued        a run was resumed
retried          the model failed in a message with calls
unmade           the model wrote a call as text that was not made, and was asked to repeat it
compacted        the request was too long, and the history was shortened
output_limit     the message reached the output limit; ``cut_off``: it was cut off
pending          an action is pending
hook             a hook delayed the end of the run
budget           tokens of the budget are left
notice           a notice started a turn of an idle session
"""

INJECTED: tuple[TurnCause, ...] = ("mention", "call")
"""Causes of turns whose calls are not made by a model. They send no request."""


@noun
class Measures:
    """Durations of a turn in seconds.

    first_token        time from the request to the first event of the answer
    tokens_per_second  the speed after the first event
    model              time of requests, including failed ones
    hooks              time of hooks after the end of the previous turn
    tools              time in which at least one call ran
    people             time in which all calls waited for the user
    cache_lost         the part of the request that changed, if fewer tokens were read from the cache than in the
                       previous request
    """

    first_token: float | None = None
    tokens_per_second: float | None = None
    model: float = 0.0
    hooks: float = 0.0
    tools: float = 0.0
    people: float = 0.0
    cache_lost: str = ""


PhaseKind = Literal["hook", "summary"]
"""Kinds of work that have no other event: hooks, and summaries for a compaction."""


@noun
class PhaseStarted:
    """A hook or a summary started. PhaseEnded has the same ``id``.

    name     the hook with its event, or the model of the summary
    call_id  the call of a hook
    """

    at: float
    id: str
    kind: PhaseKind
    name: str
    call_id: str | None = None


@noun
class PhaseEnded:
    """A hook or a summary ended."""

    at: float
    id: str
    kind: PhaseKind
    name: str
    seconds: float
    call_id: str | None = None


AsidePurpose = Literal["title", "summary", "recap"]


@noun
class AnswerUnused:
    """A paid request outside of the conversation had no stored result.

    The request was for a title or a summary that failed or came too late, or for a recap, which is never stored.
    """

    at: float
    purpose: AsidePurpose
    spent: Spent


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
class Counted:
    """The totals of a session over all branches. The live events are not sufficient to compute these totals."""

    messages: int = 0
    turns: int = 0
    usage: Usage = field(default_factory=Usage)
    costs: tuple[Spent, ...] = ()


@noun
class Rewound:
    """The history was rewound to the point before this message."""

    at: float
    message_id: str
    counted: Counted = field(default_factory=Counted)


@noun
class Branched:
    """The history was moved to the point after this message, which may be on another branch."""

    at: float
    message_id: str
    counted: Counted = field(default_factory=Counted)


@noun
class Compacted:
    """The history was compacted: requests contain the summary, then the messages from ``kept`` on. No event is deleted.

    context     the context of calls at the time of the compaction; ``running``: the run continued after it
    unreported  ids of ended actions that the model was not informed about yet
    restored    text after the summary, such as the to-do list and files; ``answer``: the text of a begun answer
    focus       instructions of the user for the summary; ``covered``: the number of messages that it replaces
    """

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
    answer: str = ""


@noun
class Snipped:
    """Messages were hidden from the model."""

    at: float
    message_ids: tuple[str, ...]


@noun
class ResultReplaced:
    """The result of a call was replaced by this content in all later requests."""

    at: float
    message_id: str
    call_id: str
    content: tuple[Content, ...]


NoticeKind = Literal["task", "agent", "undo", "server", "feature"]


@noun
class NoticeAdded:
    """A notice was added: a text that the model receives once, as a reminder in its next request.

    id    the id of the subject, unique in the session; a second notice with the same id is not added
    wake  True if the notice starts a turn in an idle session
    """

    at: float
    id: str
    kind: NoticeKind
    text: str
    wake: bool = False


@noun
class NoticeDelivered:
    """A notice was delivered: the turn with the reminder ended, or the model was informed in another way.

    The notice is not sent again.
    """

    at: float
    id: str


@noun
class FeatureRecorded:
    """An event of a feature, from which the feature computes its state. A rewind does not remove the event.

    data  JSON data
    """

    at: float
    feature: str
    kind: str
    data: Mapping[str, Any]


@noun
class AgentOpened:
    """A nested session was opened.

    name  the last element of the path of the nested session; never used again in this session, also after a rewind or a
          restart
    kind  the label of the nested session
    """

    at: float
    name: str
    kind: str


@noun
class AgentSpent:
    """A nested session paid for a request. The nested session may be at any depth.

    name    the direct child of this session
    number  the number of the child's event with these costs
    """

    at: float
    name: str
    number: int
    spent: Spent
