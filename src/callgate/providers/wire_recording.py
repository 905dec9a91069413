"""Records HTTP exchanges without keys, one file of JSON lines for each exchange, and replays them without a network.

    {"model": "anthropic/claude-…", "family": "anthropic", "url": "https://…", "at": 1794846411.5}
    {"sent": {"content-type": "application/json", …}, "body": {…}}
    {"status": 200, "headers": {…}}
    {"event": "message_start", "data": "{…}"}          each server-sent event, or
    {"content": "…"}                                    the body of an answer that is no stream
    {"end": "whole"}                                    or cut off, closed, or failed with kind, text and retryable

A worker thread writes the file when the exchange has ended. ``ReplayModel`` replays such files: the family's parser
converts the recorded events.
"""

import json
import os
from asyncio import get_running_loop
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping, Sequence
from dataclasses import field
from itertools import count
from pathlib import Path
from time import strftime
from typing import Any, cast
from urllib.parse import quote

from callgate.core.ports import Clock
from callgate.providers.family import Family, HttpPost, ServerEvent
from callgate.providers.stream_parser import AnswerTally, with_joined_deltas
from callgate.words.errors import ModelError, UsageError
from callgate.words.model import Abilities, ModelEvent, Request
from callgate.words.noun import nothing, noun

REMOVED = "[removed]"
_KEPT = (
    *("accept", "accept-encoding", "anthropic-beta", "anthropic-version", "content-type", "date", "openai-beta"),
    *("openai-processing-ms", "request-id", "retry-after", "retry-after-ms", "server", "user-agent", "x-request-id"),
    "x-should-retry",
)
"""Headers whose values are recorded. All others may contain a secret."""


class WireTape:
    """The recording of one exchange, kept in memory until the exchange ends."""

    def __init__(
        self, path: Path, first: Mapping[str, Any], post: HttpPost, clean: Callable[[str], str], faults: list[str]
    ) -> None:
        self._path = path
        self._clean = clean
        self._faults = faults
        sent = {"sent": self._headers(post.headers), "body": self._value(post.body)}
        self._lines: list[dict[str, Any]] = [{**first, "url": clean(first["url"])}, sent]

    def answered(self, status: int, headers: Mapping[str, str]) -> None:
        self._lines.append({"status": status, "headers": self._headers(headers)})

    def events(self, events: Iterable[ServerEvent]) -> None:
        self._lines += ({"event": event.event, "data": event.data} for event in events)

    def content(self, body: bytes) -> None:
        self._lines.append({"content": body.decode("utf-8", "replace")})

    def ended(self, how: str, error: BaseException | None = None) -> None:
        """Append the last line and write all lines to the file in a worker thread."""
        last: dict[str, Any] = {"end": how}
        if isinstance(error, ModelError):
            last |= {"kind": error.kind, "text": str(error), "retryable": error.retryable}
        self._lines.append(last)
        try:
            get_running_loop().run_in_executor(None, self._write)
        except RuntimeError:  # the loop is shutting down and starts no more threads
            self._write()

    def _headers(self, headers: Mapping[str, str]) -> dict[str, str]:
        return {
            name.lower(): self._clean(value) if name.lower() in _KEPT or "ratelimit" in name.lower() else REMOVED
            for name, value in headers.items()
        }

    def _value(self, body: bytes) -> Any:
        text = self._clean(body.decode("utf-8", "replace"))
        try:
            return json.loads(text)
        except ValueError:
            return text

    def _write(self) -> None:
        try:
            for line in self._lines:
                for field in ("data", "content", "text"):
                    if field in line:
                        line[field] = self._clean(line[field])
            text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in self._lines)
            descriptor = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with open(descriptor, "w", encoding="utf-8", errors="backslashreplace", newline="\n") as file:
                file.write(text)
        except OSError as error:
            self._faults.append(f"an exchange was not recorded: {error.strerror or error}")


class WireRecorder:
    """Records the exchanges of a process in a private folder. The constructor creates the folder.

    mask    a callback that removes known secrets from a text
    faults  the errors that occurred while files were written
    """

    def __init__(self, folder: Path, mask: Callable[[str], str], clock: Clock) -> None:
        try:
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        except OSError as error:
            raise UsageError(f"nothing can be recorded in {folder}: {error.strerror or error}") from None
        self._beginning = folder / f"{strftime('%Y%m%d-%H%M%S')}-{os.getpid()}"
        self._mask = mask
        self._clock = clock
        self._numbers = count(1)
        self.faults: list[str] = []

    def begin(self, model: str, family: str, url: str, post: HttpPost, secrets: set[str]) -> WireTape:
        spellings = {each for secret in secrets for each in (secret, quote(secret, safe=""), json.dumps(secret)[1:-1])}

        def clean(text: str) -> str:
            for secret in sorted(spellings, key=len, reverse=True):
                text = text.replace(secret, REMOVED)
            return self._mask(text)

        path = Path(f"{self._beginning}-{next(self._numbers):04d}.jsonl")
        first = {"model": model, "family": family, "url": url, "at": round(self._clock.now(), 3)}
        return WireTape(path, first, post, clean, self.faults)

    def take_faults(self) -> list[str]:
        taken = [*self.faults]
        self.faults.clear()
        return taken


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
    return [_read_recording(file) for file in files]


def _read_recording(file: Path) -> RecordedExchange:
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
