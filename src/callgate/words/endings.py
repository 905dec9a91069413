"""Causes that end a run: one table with a sentence for people and an exit code for each."""

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
]


class Ending(NamedTuple):
    """``continues``: ``Continue()`` takes the run up again."""

    sentence: str
    exit_code: int
    continues: bool = True


ENDINGS: Mapping[RunReason, Ending] = {
    "done": Ending("The agent is done.", 0, continues=False),
    "limit": Ending("A limit of the run was reached: {kind}.", 3),
    "budget": Ending("The budget is used up.", 4),
    "output_limit": Ending("The model reached the limit of its output.", 5),
    "context_full": Ending("The conversation is too long for the model: compact it.", 6),
    "cut_off": Ending("The model's answer was cut off.", 7),
    "refusal": Ending("The model refused to answer.", 8, continues=False),
    "model_error": Ending("The model failed ({kind}).", 9),
    "stopped": Ending("A person or a hook stopped the run.", 10),
    "paused": Ending("The agent paused, because calls were denied.", 11),
    "interrupted": Ending("The run was interrupted.", 130),
}
