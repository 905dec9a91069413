"""The three output formats: the answer as text, one JSON object, or each event as a line of JSON. Secrets are masked
in all formats. The formats text and JSON write notices to standard error; ``stream-json`` writes the notices as
events."""

import asyncio
import os
import select
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from json import dumps
from queue import SimpleQueue
from threading import Thread
from typing import Any, Literal, Protocol, TypeVar

from callgate.cli.terminal import safe, write_all
from callgate.cli.text_output import json_line, say
from callgate.formats.jsonable import to_json
from callgate.words.decisions import Question
from callgate.words.endings import ENDINGS, RunReason
from callgate.words.events import CallSettled, Event, Noted, RequestRetried, SessionEvent, TurnStarted
from callgate.words.messages import Usage
from callgate.words.noun import noun
from callgate.words.turns import Compacted

T = TypeVar("T")
_WITH_BYTES = ('"type": "Image"', '"type": "Resource"', '"type": "Opaque"', '"type": "FileChange"')
"""Parts whose bytes are base64 in JSON, where a secret in them cannot be seen."""


SCHEMA_VERSION = 1
"""Of the lines ``start`` and ``result``. A new field does not change it; a field that goes or means another thing does.
"""

FAILED, USAGE, ASKS, INTERRUPTED = 1, 2, 3, 130

Reason = RunReason | Literal["question", "refused", "misfit", "error"]
"""That of RunEnded; or a question is open, an input was refused, the answer does not fit the schema, or the program
could not go on."""
_MOST_LINES = 1_000  # lines that wait before the session is held up


def can_go_on(result: "HeadlessResult") -> bool:
    """Return True if ``--resume`` alone continues the run: a limit or an interrupt ended it, and the session is
    stored."""
    continues = {reason for reason, ending in ENDINGS.items() if ending.continues and ending.exit_code != FAILED}
    return result.reason in continues and bool(result.session_id)


@noun
class HeadlessResult:
    """The result of a headless run.

    text           the text of the model since its last tool call; incomplete unless ``reason`` is ``done``
    structured     the JSON value of the text, if a schema was given
    usage, cost    tokens and dollars of this run; None if a price is unknown
    turns          the number of requests
    changed_files  files changed by file tools; changes by commands are not listed
    errors         the reasons why the run did not finish
    """

    reason: Reason
    session_id: str
    text: str = ""
    structured: Any = None
    usage: Usage = Usage()
    cost: float | None = None
    turns: int = 0
    duration: float = 0.0
    changed_files: tuple[str, ...] = ()
    open_questions: tuple[Question, ...] = ()
    errors: tuple[str, ...] = ()

    @property
    def exit_code(self) -> int:
        """One of ``EXIT_CODES`` in ``words/endings.py``."""
        if self.reason == "question":
            return ASKS
        return FAILED if self.reason in ("refused", "misfit", "error") else ENDINGS[self.reason].exit_code


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
        self._lines.put(json_line({"type": "start", "v": SCHEMA_VERSION, **facts}))

    def event(self, found: SessionEvent) -> None:
        origin = {"path": [*found.path]} if found.path else {}
        line = json_line({**to_json(found.event), **origin})
        if self._cleaner.finds(line) or any(map(line.__contains__, _WITH_BYTES)):
            line = json_line({**to_json(self._cleaner.noun(found.event)), **origin})
        self._lines.put(line)

    async def room(self) -> None:
        await self._lines.room()

    async def end(self, result: HeadlessResult) -> None:
        self._lines.put(json_line(result_line(self._cleaner.noun(result))))
        await self._lines.aclose()


def write_result(result: HeadlessResult) -> None:
    """Write the result as a single line of JSON."""
    _write(json_line(result_line(result)).encode())


def result_line(result: HeadlessResult) -> dict[str, Any]:
    written = to_json(result)
    written["type"] = "result"
    del written["usage"]["type"]
    return {"type": "result", "v": SCHEMA_VERSION, **written, "exit_code": result.exit_code}


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


class LineWriter:
    """Writes lines in order. ``gone`` is called on the event loop when the pipe is closed or a write fails."""

    def __init__(self, fd: int, gone: Callable[[], None]) -> None:
        self._fd = fd
        self._gone = gone
        self._loop = asyncio.get_running_loop()
        self._lines: SimpleQueue[bytes | None] = SimpleQueue()
        self._fewer = asyncio.Event()
        self._done: asyncio.Future[None] = self._loop.create_future()
        self._failure: OSError | None = None
        self._wake, self._woken = os.pipe()
        for work in (self._write, self._watch):
            Thread(target=work, name="callgate-out", daemon=True).start()

    def put(self, line: str) -> None:
        self._lines.put(line.encode())

    async def room(self) -> None:
        """Wait while too many lines are queued."""
        while self._lines.qsize() > _MOST_LINES and not self._done.done():
            self._fewer.clear()
            await self._fewer.wait()

    async def aclose(self) -> None:
        """Wait until all lines are written or the pipe is closed. Raise OSError if they cannot be written for another
        reason, such as a full disk."""
        self._lines.put(None)
        await self._done
        os.close(self._woken)
        if self._failure is not None:
            raise self._failure

    def _write(self) -> None:
        try:
            while (line := self._lines.get()) is not None:
                write_all(self._fd, line)
                if self._lines.qsize() == _MOST_LINES // 2:
                    self._tell(self._fewer.set)
        except (BrokenPipeError, ConnectionResetError):
            self._tell(self._gone)
        except OSError as error:
            self._failure = type(error)(error.errno, error.strerror, "standard output")
            self._tell(self._gone)
        self._tell(self._end)

    def _watch(self) -> None:
        """Wait until the reader closes the pipe, and report it at once instead of at the next write."""
        if hasattr(select, "poll"):
            poll = select.poll()
            poll.register(self._fd, 0)  # errors and hang-ups are always reported
            poll.register(self._wake, 0)
            if any(number == self._fd for number, _ in poll.poll()):
                self._tell(self._gone)
                poll.unregister(self._fd)
                poll.poll()
        os.close(self._wake)

    def _tell(self, callback: Callable[[], None]) -> None:
        with suppress(RuntimeError):  # the loop is closed
            self._loop.call_soon_threadsafe(callback)

    def _end(self) -> None:
        self._fewer.set()
        if not self._done.done():
            self._done.set_result(None)
