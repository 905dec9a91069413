"""The reasons why a run ends, each with a sentence for the user and an exit code; the exit codes of all commands."""

from collections.abc import Mapping
from typing import Literal, NamedTuple

RunReason = Literal[
    "done",
    "interrupted",
    "stopped",
    "limit",
    "budget",
    "output_limit",
    "context_full",
    "cut_off",
    "refusal",
    "model_error",
    "paused",
    "call_not_made",
]


EXIT_CODES: Mapping[int, str] = {
    0: "done",
    1: "failed",
    2: "usage",
    3: "a question is open",
    4: "a limit was reached",
    130: "interrupted",
}
"""The exit codes of all commands and their meanings."""
EXIT_CODES_LINE = "exit codes: " + ", ".join(f"{code} {meaning}" for code, meaning in EXIT_CODES.items())


class Ending(NamedTuple):
    """The properties of a reason why a run ends. ``continues`` is True if ``Continue()`` can resume the run."""

    sentence: str
    exit_code: int
    continues: bool = True


ENDINGS: Mapping[RunReason, Ending] = {
    "done": Ending("The agent is done.", 0, continues=False),
    "limit": Ending("A limit of the run was reached: {kind}.", 4),
    "budget": Ending("The budget is used up.", 4),
    "output_limit": Ending("The model reached the limit of its output.", 4),
    "context_full": Ending("The conversation is too long for the model. Compact it.", 1),
    "cut_off": Ending("The model's answer was cut off.", 1),
    "refusal": Ending("The model refused to answer.", 1, continues=False),
    "model_error": Ending("The model failed ({kind}).", 1),
    "call_not_made": Ending("The answer looks like a tool call that was not made.", 1),
    "stopped": Ending("The user or a hook stopped the run.", 1),
    "paused": Ending("The agent paused, because calls were denied.", 3),
    "interrupted": Ending("The run was interrupted.", 130),
}
