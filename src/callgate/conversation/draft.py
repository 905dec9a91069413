"""Drafts: the text of an unfinished message, which is stored so that a crash does not lose the text."""

from collections.abc import Callable, Iterable, Sequence

from callgate.conversation.ports import Drafted
from callgate.core.ports import Clock, Timer
from callgate.words.messages import CallPart, Part, Text

BATCH_SECONDS = 0.1


class Draft:
    """Collects the text of a streaming message and passes the text to ``keep``, at most once in 100 ms. Each piece
    of text is stored with the number of calls before the piece."""

    def __init__(self, clock: Clock, keep: Callable[[Drafted], None]) -> None:
        self._clock = clock
        self._keep = keep
        self._pieces: list[tuple[int, list[str]]] = []
        self._timer: Timer | None = None
        self.calls = 0

    def add(self, text: str) -> None:
        if not self._pieces or self._pieces[-1][0] != self.calls:
            self._pieces.append((self.calls, []))
        self._pieces[-1][1].append(text)
        if self._timer is None:
            self._timer = self._clock.call_later(BATCH_SECONDS, self._flush)

    def stop(self, *, keep: bool) -> None:
        """Stop the timer. With ``keep``, store the latest text, for a message that will not be recorded."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
            if keep:
                self._flush()

    def _flush(self) -> None:
        self._timer = None
        self._keep(tuple((calls, "".join(texts)) for calls, texts in self._pieces))


def with_text(calls: Sequence[CallPart], drafted: Iterable[tuple[int, str]]) -> tuple[Part, ...]:
    """Return the parts of a message, with the pieces of drafted text placed between its calls."""
    texts = list(drafted)
    parts: list[Part] = []
    for at, call in enumerate(calls):
        parts += [Text(text) for before, text in texts if before == at]
        parts.append(call)
    parts += [Text(text) for before, text in texts if before >= len(calls)]
    return tuple(parts)
