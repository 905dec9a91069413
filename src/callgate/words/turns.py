"""Turns: causes, ends and durations; and events of hooks, summaries and titles, which run besides the calls."""

from typing import Literal

from callgate.words.messages import Spent
from callgate.words.noun import noun

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
