"""The three output formats: the answer as text, one JSON object, or each event as a line of JSON. Secrets are masked
in all formats. The formats text and JSON write notices to standard error; ``stream-json`` writes the notices as
events."""

import sys
from collections.abc import Callable, Mapping
from json import dumps
from typing import Any, Protocol, TypeVar

from callgate.cli.headless.headless_result import SCHEMA_VERSION, HeadlessResult
from callgate.cli.headless.line_writer import LineWriter
from callgate.cli.terminal import safe, write_all
from callgate.cli.text_output import say
from callgate.formats.jsonable import to_json
from callgate.words.events import CallSettled, Event, Noted, RequestRetried, SessionEvent, TurnStarted
from callgate.words.turns import Compacted

T = TypeVar("T")
_WITH_BYTES = ('"type": "Image"', '"type": "Resource"', '"type": "Opaque"', '"type": "FileChange"')
"""Parts whose bytes are base64 in JSON, where a secret in them cannot be seen."""


class Cleaner(Protocol):
    """Masks secrets; implemented by the masker of a Store."""

    def finds(self, text: str) -> bool:
        """Return True if the JSON contains something to mask."""
        ...

    def noun(self, value: T) -> T: ...


def notice(event: Event) -> str:
    """Return a human-readable line about an event, or an empty string for an event without a notice."""
    match event:
        case Noted():
            return event.text
        case RequestRetried():
            return f"{event.detail or event.kind}; retrying in {event.delay:.3g} s ({event.attempt})"
        case Compacted():
            sizes = f"{event.tokens_before:,} tokens became {event.tokens_after:,}"
            return f"the conversation was long: older messages were replaced by a summary (about {sizes})"
        case _:
            return ""


class TextOutput:
    """Writes the answer to standard output at the end of the run. If the run did not finish, the text so far is
    written."""

    def __init__(self, cleaner: Cleaner) -> None:
        self._clean = cleaner.noun
        self._mentions = False  # the calls of this turn were asked for by the prompt itself

    def start(self, facts: Mapping[str, Any]) -> None:
        """Write the line ``start`` with these fields. Only the format ``stream-json`` has this line."""

    def event(self, found: SessionEvent) -> None:
        event = found.event
        if found.path:
            return
        text = notice(event)
        if isinstance(event, TurnStarted):
            self._mentions = event.because == "mention"
        elif isinstance(event, CallSettled) and self._mentions and event.result.is_error:
            text = f"a mention in the prompt was not read: {event.result.text}"
        if text:
            say(self._clean(text))

    async def room(self) -> None:
        """Wait while too many lines are queued."""

    async def end(self, result: HeadlessResult) -> None:
        for error in result.errors:
            say(self._clean(error))
        answer = result.text if result.structured is None else dumps(result.structured, ensure_ascii=False)
        if result.reason == "done" or (answer and result.reason != "misfit"):
            _print(self._clean(answer))


class JsonOutput(TextOutput):
    """Writes the result as one JSON object on one line."""

    async def end(self, result: HeadlessResult) -> None:
        for error in result.errors:
            say(self._clean(error))
        write_result(self._clean(result))


class StreamOutput(TextOutput):
    """Writes one line for the start of the run, one line for each event, and one line for the result. ``gone`` is
    called if standard output is closed."""

    def __init__(self, cleaner: Cleaner, gone: Callable[[], None]) -> None:
        super().__init__(cleaner)
        self._cleaner = cleaner
        self._lines = LineWriter(sys.stdout.fileno(), gone)

    def start(self, facts: Mapping[str, Any]) -> None:
        self._lines.put(_text({"type": "start", "v": SCHEMA_VERSION, **facts}).encode())

    def event(self, found: SessionEvent) -> None:
        origin = {"path": [*found.path]} if found.path else {}
        line = _text({**to_json(found.event), **origin})
        if self._cleaner.finds(line) or any(map(line.__contains__, _WITH_BYTES)):
            line = _text({**to_json(self._cleaner.noun(found.event)), **origin})
        self._lines.put(line.encode())

    async def room(self) -> None:
        await self._lines.room()

    async def end(self, result: HeadlessResult) -> None:
        self._lines.put(_text(result_line(self._cleaner.noun(result))).encode())
        await self._lines.aclose()


def write_result(result: HeadlessResult) -> None:
    """Write the result as a single line of JSON."""
    _write(_text(result_line(result)).encode())


def result_line(result: HeadlessResult) -> dict[str, Any]:
    written = to_json(result)
    written["type"] = "result"
    del written["usage"]["type"]
    return {"type": "result", "v": SCHEMA_VERSION, **written, "exit_code": result.exit_code}


def _text(value: Any) -> str:
    """Return one line of JSON without control characters."""
    return dumps(value, default=repr).replace("\x7f", "\\u007f") + "\n"


def _print(text: str) -> None:
    """Write a text, escaped if standard output is a terminal, otherwise unchanged."""
    if sys.stdout.isatty():
        text = "\n".join(safe(line.expandtabs(4)) for line in text.split("\n"))
    _write((text if text.endswith("\n") else f"{text}\n").encode(errors="replace"))


def _write(data: bytes) -> None:
    try:
        write_all(sys.stdout.fileno(), data)
    except OSError as error:
        raise type(error)(error.errno, error.strerror, "standard output") from None
