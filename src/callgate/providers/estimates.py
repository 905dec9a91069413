"""Token usage of a provider that reports none: computed from the number of characters, and marked so."""

import json
from dataclasses import replace

from callgate.words.messages import CallPart, Image, Message, ResultPart, Text, Thinking, Usage
from callgate.words.model import (
    ArgumentsDelta,
    MessageEnded,
    MessageStarted,
    ModelEvent,
    Request,
    TextDelta,
    ThinkingDelta,
)

CHARS_PER_TOKEN = 4
IMAGE_TOKENS = 1_500


class AnswerTally:
    """Watches the events of one answer. ``ended``: the message is whole; ``any``: at least one event has come."""

    def __init__(self, request: Request) -> None:
        self._request = request
        self._chars = 0
        self._known = Usage()
        self.ended = False
        self.any = False

    def seen(self, event: ModelEvent) -> ModelEvent:
        """The event; the end of the message has an estimated usage where the provider gave none."""
        self.any = True
        kind = event.__class__
        if kind is TextDelta or kind is ArgumentsDelta or kind is ThinkingDelta:
            self._chars += len(event.text)  # type: ignore[union-attr]
        elif isinstance(event, MessageStarted):
            self._known = event.usage
        elif isinstance(event, MessageEnded):
            self.ended = True
            return self._completed(event)
        return event

    def _completed(self, event: MessageEnded) -> MessageEnded:
        total = self._known + event.usage
        missing = Usage()
        if not total.input + total.cache_read + total.cache_write:
            missing = Usage(input=request_tokens(self._request), estimated=True)
        if self._chars and not total.output:
            missing += Usage(output=-(-self._chars // CHARS_PER_TOKEN), estimated=True)
        return replace(event, usage=event.usage + missing) if missing.estimated else event


def request_tokens(request: Request) -> int:
    """About how many tokens a request has."""
    chars = len(request.system) + sum(
        len(tool.name) + len(tool.description) + len(json.dumps(dict(tool.parameters), default=str))
        for tool in request.tools
    )
    counts = [message_size(message) for message in request.messages]
    return -(-(chars + sum(chars for chars, _ in counts)) // CHARS_PER_TOKEN) + IMAGE_TOKENS * sum(n for _, n in counts)


def message_size(message: Message) -> tuple[int, int]:
    """The number of characters and of images."""
    chars = images = 0
    for part in message.parts:
        contents = part.content if isinstance(part, ResultPart) else (part,)
        for each in contents:
            if isinstance(each, Text | Thinking):
                chars += len(each.text)
            elif isinstance(each, Image):
                images += 1
            elif isinstance(each, CallPart):
                chars += len(each.raw_arguments or json.dumps(dict(each.arguments), default=str))
    return chars, images
