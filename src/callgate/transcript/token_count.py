"""Counts the tokens of a history. The number is reported by the provider, or estimated from the number of
characters."""

from collections.abc import Mapping
from typing import Literal

from callgate.conversation.view import View
from callgate.words.messages import CallPart, Image, Message, Opaque, Part, ResultPart, Thinking, Usage
from callgate.words.noun import noun
from callgate.words.window import CHARS_PER_TOKEN, ContextLimits, chars_of, part_chars

_FEWEST_CHARS, _MOST_CHARS = 1.0, 6.0
_ABSURD = 20
"""If a token had more characters than this, the reported count is ignored."""

SentKind = Literal["system", "instructions", "tools", "skills"]
SaidKind = Literal["summary", "prompts", "answers", "thinking", "calls", "results", "images", "provider's own"]
ShareKind = SentKind | SaidKind


@noun
class TokenCount:
    """The tokens of a request: ``reported`` by the provider for the older messages, ``estimated`` for the rest."""

    reported: int = 0
    estimated: int = 0

    @property
    def total(self) -> int:
        return self.reported + self.estimated

    def __str__(self) -> str:
        return f"{'about ' if self.estimated else ''}{self.total:,}"


@noun
class ContextShare:
    """The estimated tokens of one kind of content in a request. All shares add up to the tokens of the request."""

    kind: ShareKind
    tokens: int


@noun
class ContextUse:
    """The use of the context window by the next request. ``limits`` is None if the window size is unknown.
    ``window_from`` is the source of the window size, or empty."""

    count: TokenCount
    shares: tuple[ContextShare, ...]
    limits: ContextLimits | None = None
    window_from: str = ""


class TokenMeter:
    """Counts the tokens of requests.

    ``per_token`` is the number of characters per token according to the last reported usage. The sum of a history is
    cached, so that a count reads only new messages.
    """

    def __init__(self) -> None:
        self.per_token = CHARS_PER_TOKEN
        self._of: tuple[View, int] | None = None  # the summed view, and its number of changes
        self._seen = self._sum = 0

    def count(self, view: View, fixed: int) -> TokenCount:
        """Return the tokens of the next request. ``fixed`` is the number of characters of the system prompt and the
        tools."""
        messages, total = view.messages, fixed + self._total(view)
        at = last_reported(messages, view.changed_at)
        usage = None if at is None else messages[at].usage
        if at is None or usage is None:
            return TokenCount(0, self.tokens(total))
        reported = _all(usage)
        since = chars_of(messages[at + 1 :])
        if total - since > reported * _ABSURD:
            return TokenCount(0, self.tokens(total))
        self.per_token = min(max((total - since) / reported, _FEWEST_CHARS), _MOST_CHARS)
        return TokenCount(reported, self.tokens(since))

    def tokens(self, chars: int) -> int:
        return -int(-chars // self.per_token)

    def _total(self, view: View) -> int:
        messages = view.messages
        known = self._of is not None and self._of[0] is view and self._of[1] == view.changes
        if known and len(messages) >= self._seen:
            self._sum += chars_of(messages[self._seen :])
        else:
            self._of, self._sum = (view, view.changes), chars_of(view.history())
        self._seen = len(messages)
        return self._sum

    def shares(self, view: View, fixed: Mapping[ShareKind, int], total: int) -> tuple[ContextShare, ...]:
        """Divide the ``total`` tokens of a request among its kinds of content, in the order of the request.
        ``fixed`` has the characters of content outside the history."""
        found: dict[ShareKind, int] = {**fixed, "summary": 0}
        for message in view.history():
            for part in message.parts:
                kind = "summary" if view.summary is message else _kind(part, message)
                found[kind] = found.get(kind, 0) + part_chars(part)
        whole = sum(found.values()) or 1
        shares: list[ContextShare] = []
        chars = upto = 0
        for kind, own in found.items():
            if own:  # rounding the ends makes the shares add up
                chars, before, upto = chars + own, upto, round((chars + own) * total / whole)
                shares.append(ContextShare(kind, upto - before))
        return tuple(shares)


def last_reported(messages: list[Message], since: int) -> int | None:
    """Return the index of the last message whose provider reported the input tokens, or None. Messages before
    ``since`` are ignored."""
    for at in range(len(messages) - 1, since - 1, -1):
        usage = messages[at].usage
        if usage is not None and not usage.estimated and usage.input + usage.cache_read + usage.cache_write:
            return at
    return None


def _all(usage: Usage) -> int:
    return usage.input + usage.cache_read + usage.cache_write + usage.output


_KINDS: Mapping[type, ShareKind] = {
    ResultPart: "results",
    CallPart: "calls",
    Thinking: "thinking",
    Opaque: "provider's own",
    Image: "images",
}
"""The kinds of the parts whose kind does not depend on the role of the message."""


def _kind(part: Part, message: Message) -> ShareKind:
    return _KINDS.get(type(part), "answers" if message.role == "assistant" else "prompts")
