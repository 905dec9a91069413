"""One request beside the conversation, for a summary or a title: a text goes in, a text comes out, no tool is there."""

from pathlib import Path

from callgate.core.ports import Model
from callgate.words.messages import Message, Text, Usage
from callgate.words.model import (
    MessageEnded,
    MessageStarted,
    Request,
    RequestLimits,
    RequestOptions,
    StopReason,
    TextDelta,
)
from callgate.words.noun import noun


@noun
class PlainAnswer:
    """``model`` is the one that answered; ``stop`` is ``cut_off`` where the stream had no end."""

    text: str
    model: str
    stop: StopReason
    usage: Usage = Usage()


async def ask(
    model: Model, system: str, text: str, *, most: int | None = None, options: RequestOptions | None = None
) -> PlainAnswer:
    """Asks for at most ``most`` tokens. Raises as the model does; calls in the answer are ignored."""
    request = Request(
        system=system,
        messages=(Message("u1", "user", (Text(text),)),),
        limits=RequestLimits(max_output_tokens=most),
        options=options or RequestOptions(),
    )
    name, pieces, usage, stop = model.name, list[str](), Usage(), "cut_off"
    stream = model.stream(request)
    try:
        async for event in stream:
            match event:
                case MessageStarted():
                    name, usage = event.model or name, event.usage
                case TextDelta():
                    pieces.append(event.text)
                case MessageEnded():
                    stop, usage = event.stop_reason, usage + event.usage
                case _:
                    pass
    finally:
        close = getattr(stream, "aclose", None)
        if close is not None:
            await close()
    return PlainAnswer("".join(pieces), name, stop, usage)


def instructions(name: str) -> str:
    """The text of a file beside this one."""
    return Path(__file__).with_name(name).read_text(encoding="utf-8").strip()
