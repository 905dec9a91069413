"""The three forms of output: the answer as text, one JSON object, or every event as a line of JSON.

Secrets are masked in all of them as they are on record. Text and JSON put notices for people on standard error; in
``stream-json`` they are events like all others.
"""

import os
import sys
from collections.abc import Callable, Mapping
from json import dumps
from typing import Any, Protocol

from callgate.cli.headless.lines import LineWriter
from callgate.cli.headless.result import SCHEMA_VERSION, HeadlessResult
from callgate.cli.terminal import safe
from callgate.formats.jsonable import to_json
from callgate.words.events import Compacted, Event, Noted, RequestRetried

Clean = Callable[[Any], Any]
"""Masks the secrets in a noun."""


class Output(Protocol):
    def start(self, facts: Mapping[str, Any]) -> None:
        """The run begins; ``facts`` are those of the line ``start``."""
        ...

    def event(self, event: Event) -> None: ...

    async def room(self) -> None:
        """Waits while the reader is far behind."""
        ...

    async def end(self, result: HeadlessResult) -> None: ...


def say(text: str) -> None:
    """One line for people on standard error."""
    try:
        print(f"callgate: {safe(text)}", file=sys.stderr, flush=True)
    except OSError:  # it was closed; the exit code remains
        return


def notice(event: Event) -> str:
    """The line about an event that a person should see; empty for the others."""
    match event:
        case Noted():
            return event.text
        case RequestRetried():
            return f"{event.detail or event.kind}; trying again in {event.delay:.3g} s ({event.attempt})"
        case Compacted():
            return "the conversation was getting long: its older part is a summary now"
        case _:
            return ""


class TextOutput:
    """The answer on standard output once it is done, and nothing else there."""

    def __init__(self, clean: Clean) -> None:
        self._clean = clean

    def start(self, facts: Mapping[str, Any]) -> None:
        return

    def event(self, event: Event) -> None:
        text = notice(event)
        if text:
            say(self._clean(text))

    async def room(self) -> None:
        return

    async def end(self, result: HeadlessResult) -> None:
        for error in result.errors:
            say(self._clean(error))
        if result.reason == "done":
            answer = result.text if result.structured is None else dumps(result.structured, ensure_ascii=False)
            _print(self._clean(answer))


class JsonOutput(TextOutput):
    """The result as one object, on one line."""

    async def end(self, result: HeadlessResult) -> None:
        for error in result.errors:
            say(self._clean(error))
        write_result(self._clean(result))


class StreamOutput:
    """A line for the start, one for each event as it comes, and the result. ``gone`` is called when nobody reads."""

    def __init__(self, clean: Clean, gone: Callable[[], None]) -> None:
        self._clean = clean
        self._lines = LineWriter(sys.stdout.fileno(), gone)

    def start(self, facts: Mapping[str, Any]) -> None:
        self._lines.put(_line({"type": "start", "v": SCHEMA_VERSION, **facts}))

    def event(self, event: Event) -> None:
        self._lines.put(_line(to_json(self._clean(event))))

    async def room(self) -> None:
        await self._lines.room()

    async def end(self, result: HeadlessResult) -> None:
        self._lines.put(_line(result_line(self._clean(result))))
        await self._lines.aclose()


def write_result(result: HeadlessResult) -> None:
    """The result as the only line."""
    _write(_line(result_line(result)))


def result_line(result: HeadlessResult) -> dict[str, Any]:
    written = to_json(result)
    written["type"] = "result"
    del written["usage"]["type"]
    return {"type": "result", "v": SCHEMA_VERSION, **written, "exit_code": result.exit_code}


def _line(value: Any) -> bytes:
    """One line, which no terminal takes for a command, whatever texts are in it."""
    return dumps(value, default=repr).replace("\x7f", "\\u007f").encode() + b"\n"


def _print(text: str) -> None:
    """To a terminal harmless, elsewhere byte for byte."""
    if sys.stdout.isatty():
        text = "\n".join(safe(line.expandtabs(4)) for line in text.split("\n"))
    _write((text if text.endswith("\n") else f"{text}\n").encode(errors="replace"))


def _write(data: bytes) -> None:
    fd = sys.stdout.fileno()
    while data:
        data = data[os.write(fd, data) :]
