"""Replays recorded exchanges without a network: the family's parser converts the recorded events."""

import json
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import Any, cast

from callgate.providers.family import Family, ServerEvent
from callgate.providers.http_model import AnswerTally, with_joined_deltas
from callgate.words.errors import ModelError, UsageError
from callgate.words.model import Abilities, ModelEvent, Request
from callgate.words.noun import nothing, noun


@noun
class RecordedExchange:
    """One recorded exchange.

    content  the body, if the answer was not an event stream
    end      the last line of the recording
    """

    model: str
    family: str
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=nothing)
    events: tuple[ServerEvent, ...] = ()
    content: str | None = None
    end: Mapping[str, Any] = field(default_factory=nothing)


class ReplayModel:
    """A Model that answers each request with the next recorded exchange; the request itself is ignored.

    family_of  a callback that returns a family by name
    """

    def __init__(
        self, exchanges: Sequence[RecordedExchange], family_of: Callable[[str], Family], name: str = "replay"
    ) -> None:
        self._left = list(exchanges)
        self._family_of = family_of
        self.name = name
        self.abilities = Abilities()
        self._played = 0

    async def aclose(self) -> None: ...

    async def stream(self, request: Request) -> AsyncGenerator[ModelEvent]:
        if not self._left:
            raise ModelError(f"the recording has no more answers (played: {self._played})")
        exchange = self._left.pop(0)
        self._played += 1
        family, tally = self._family_of(exchange.family), AnswerTally(request)
        if not 200 <= exchange.status < 300:
            raise family.fault(exchange.status, exchange.headers, (exchange.content or "").encode())
        parser = family.parser()
        for server_event in exchange.events:
            for event in with_joined_deltas(parser.feed(server_event)):
                yield tally.count(event)
            if tally.ended:
                return
        if exchange.end.get("end") == "failed":
            text, kind = str(exchange.end.get("text", "")), str(exchange.end.get("kind", "other"))
            raise ModelError(text, kind=kind, retryable=exchange.end.get("retryable") is True)
        for event in with_joined_deltas(parser.end()):
            yield tally.count(event)


def recordings(place: Path) -> list[RecordedExchange]:
    """Return the recording in a file, or all recordings in a folder in the order of their file names. Raise
    UsageError, with file and line, if a recording is invalid."""
    files = sorted(place.glob("*.jsonl")) if place.is_dir() else [place]
    if not files:
        raise UsageError(f"there is no recording in {place}: create one with CALLGATE_RECORD={place}")
    return [_read(file) for file in files]


def _read(file: Path) -> RecordedExchange:
    found: dict[str, Any] = {}
    events: list[ServerEvent] = []
    try:
        lines = file.read_text(encoding="utf-8").split("\n")
    except (OSError, UnicodeError) as error:
        raise UsageError(f"{file} cannot be read: {error}") from None
    for number, text in enumerate(filter(None, lines), 1):
        try:
            line = cast(dict[str, Any], json.loads(text))
            if "data" in line:
                events.append(ServerEvent(str(line.get("event", "")), str(line["data"])))
            elif "end" in line:
                found["end"] = line
            elif "sent" not in line:
                found |= {name: kind(line[name]) for name, kind in _FIELDS.items() if name in line}
            if not {"model", "family"} <= found.keys():
                raise ValueError
        except (ValueError, TypeError, AttributeError):
            raise UsageError(f"{file}, line {number}: not a recording of an exchange") from None
    if not found:
        raise UsageError(f"{file} is empty and not a recording of an exchange")
    return RecordedExchange(**found, events=tuple(events))


_FIELDS: Mapping[str, Callable[[Any], Any]] = {
    "model": str,
    "family": str,
    "status": int,
    "headers": dict,
    "content": str,
}
