"""A recap: one line on where the conversation stands, written by a model beside the conversation."""

from collections.abc import Sequence
from functools import partial

from callgate.compaction.aside import UnusedAnswers, ask, instructions
from callgate.compaction.summaries import material
from callgate.conversation.ports import Model
from callgate.words.errors import ModelError
from callgate.words.messages import Message
from callgate.words.model import WHOLE, RequestOptions

WORDS = 40
_MATERIAL = 12_000
"""Characters of the conversation that the model is shown: its beginning, and its end."""
_TOKENS = 300


async def recap_of(messages: Sequence[Message], model: Model, paid: UnusedAnswers) -> str:
    """At most 40 words. Raises as the model does. ``paid`` records the price: the line itself is not kept."""
    text, _left_out = material(messages, _MATERIAL)
    options = RequestOptions(thinking="off")
    lost = partial(paid.pay, model.name)
    answer = await ask(model, instructions("recap.md"), text, lost=lost, most=_TOKENS, options=options)
    paid.pay(model.name, answer.usage)
    said = answer.text.split()
    if not said or answer.stop not in WHOLE:
        raise ModelError(f"{model.name} wrote no recap ({answer.stop}).")
    return " ".join(said) if len(said) <= WORDS else f"{' '.join(said[:WORDS])} …"
