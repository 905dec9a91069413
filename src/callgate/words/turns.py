"""Causes and ends of a turn, its measures, and the work of a session that no call shows."""

from typing import Literal

from callgate.words.messages import Spent
from callgate.words.noun import noun

TurnReason = Literal["answered", "calls", "truncated", "retried", "interrupted", "stopped", "model_error"]
"""Reasons for the end of a turn. ``retried``: the model failed; its error is held back, the next turn tries again."""

CONTINUING_REASONS: tuple[TurnReason, ...] = ("calls", "truncated", "retried")
"""Reasons after which the next request follows without a person."""

TurnCause = Literal[
    "prompt",
    "mention",
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
"""Causes of a turn: a prompt; a mention in it, whose calls are made before the model is asked; results of calls;
a message typed meanwhile; a run that was left or had ended goes on; the model failed in a message with calls; a request
was too long, and the history is shorter now; the last message reached the limit of its output, or was cut off; an
action is pending; a hook put the end off; tokens of the budget are left; a notice woke an idle session."""


@noun
class Measures:
    """Times of a turn in seconds. ``first_token``: from the request to the first piece of the answer;
    ``tokens_per_second``: the speed after that. ``model``: a request was under way, attempts that failed included;
    ``tools``: at least one call ran; ``people``: only a person could move it on; ``hooks``: since the turn before.
    ``cache_lost`` names the part of the request that changed, if it read less from the provider's cache than the one
    before."""

    first_token: float | None = None
    tokens_per_second: float | None = None
    model: float = 0.0
    hooks: float = 0.0
    tools: float = 0.0
    people: float = 0.0
    cache_lost: str = ""


PhaseKind = Literal["hook", "summary"]
"""Phases that no other event shows: a hook, and the summary of a compaction."""


@noun
class PhaseStarted:
    """The session waits for something that is neither the model's answer nor a call. ``name`` is the hook with its
    moment, or the model that writes the summary; ``call_id`` is the call that a hook is about. ``id`` is the same in
    its PhaseEnded."""

    at: float
    id: str
    kind: PhaseKind
    name: str
    call_id: str | None = None


@noun
class PhaseEnded:
    """The wait is over, after these ``seconds``."""

    at: float
    id: str
    kind: PhaseKind
    name: str
    seconds: float
    call_id: str | None = None


AsidePurpose = Literal["title", "summary", "recap"]


@noun
class AnswerUnused:
    """A request beside the conversation was paid for and gave nothing that is on record: a title or a summary that
    failed, was cut off or came too late, or a recap, which is read and not kept."""

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
