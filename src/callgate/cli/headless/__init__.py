"""``callgate -p``: the agent without a terminal.

driver          sends inputs, and follows events until the session is idle
event_output    the result, and the formats text, json and stream-json

The flags are in ``cli.start_options``, which does not load the agent.
"""

import asyncio
import gc
import os
import select
import signal
import stat
import sys
from asyncio import AbstractEventLoop
from collections.abc import Callable
from contextlib import suppress
from json import loads
from threading import Thread
from typing import Any

from callgate import Model, Session, Store, __version__
from callgate.assembly.traced import traced
from callgate.cli.headless.driver import HeadlessDriver
from callgate.cli.headless.event_output import (
    INTERRUPTED,
    USAGE,
    Cleaner,
    HeadlessResult,
    JsonOutput,
    StreamOutput,
    TextOutput,
    can_go_on,
    write_result,
)
from callgate.cli.start_options import StartOptions
from callgate.cli.start_session import config_of, open_session, schema_of
from callgate.cli.text_output import say
from callgate.config import Config
from callgate.formats.jsonable import from_json
from callgate.tools.output import OutputSchema
from callgate.words.decisions import Question
from callgate.words.errors import CallgateError, UsageError
from callgate.words.events import AgentPath, Event, TurnStarted
from callgate.words.inputs import Branch, Continue, Input, Prompt
from callgate.words.messages import Text
from callgate.words.model import RequestOptions, RunOptions

PATIENCE = 3.0
"""Seconds that standard input may take to say something."""
LARGEST = 10 << 20
"""Bytes of standard input in a prompt: no model reads more."""
_NOTHING_CAME = (
    f"no data on standard input for {PATIENCE:g} seconds, so it is ignored; add < /dev/null to avoid the delay"
)
_SIGNALS = {signal.SIGINT: "Ctrl-C", signal.SIGTERM: "SIGTERM"}


def headless(options: StartOptions, model: Model | None = None) -> int:
    """Run the agent; return the exit code. ``model`` replaces the configured model in tests."""
    signals = _Signals(exits=model is None)
    try:
        config = config_of(options)
        given = schema_of(options)
        schema = None if given is None else OutputSchema(given)
        prompt = None if options.input_format == "stream-json" else _prompt(options)
        return asyncio.run(_run(options, config, model, prompt, schema, signals))
    except CallgateError as error:
        if options.debug:
            raise
        say(str(error))
        if isinstance(error, UsageError):
            return USAGE
        result = HeadlessResult(reason="error", session_id="", errors=(str(error),))
        if options.output_format != "text":
            write_result(result)
        return result.exit_code
    finally:
        signals.end()


def _prompt(options: StartOptions) -> str | None:
    """Return the prompt, or None if a session is continued without a prompt."""
    piped = read_stdin(say)
    if options.prompt is None and not piped.strip() and (options.latest or options.resume is not None):
        return None
    return whole_prompt(options.prompt, piped)


async def _run(
    options: StartOptions,
    config: Config,
    model: Model | None,
    prompt: str | None,
    schema: OutputSchema | None,
    signals: "_Signals",
) -> int:
    loop = asyncio.get_running_loop()
    follows = options.input_format == "stream-json"
    driver: HeadlessDriver | None = None

    def stop(because: str) -> None:
        if driver is not None:
            driver.interrupt(because)

    async with open_session(options, config, model, say) as session:
        with traced(session, os.environ, say):
            cleaner = Store(config.root, config.data).masker
            output = _output(options, cleaner, lambda: stop("Nobody reads the output."))
            driver = HeadlessDriver(session, output, wait=options.wait, follows=follows)
            signals.begin(loop, stop)
            _collect_garbage_after_start(session)
            output.start(_facts(session, config))
            if follows:
                follow_stdin(loop, driver.take)
            result = await driver.run(_inputs(options, prompt, schema), schema)
            if options.output_format != "stream-json":
                for question in result.open_questions:
                    say(_waits(question, result.session_id))
            await output.end(result)
            if options.output_format != "stream-json" and can_go_on(result):
                say(f"To continue: callgate -p --resume {result.session_id}")
            return result.exit_code


def _output(options: StartOptions, cleaner: Cleaner, gone: Callable[[], None]) -> TextOutput:
    if options.output_format == "stream-json":
        return StreamOutput(cleaner, gone)
    return (JsonOutput if options.output_format == "json" else TextOutput)(cleaner)


def _inputs(options: StartOptions, prompt: str | None, schema: OutputSchema | None) -> list[Input]:
    found: list[Input] = [] if options.resume_at is None else [Branch(options.resume_at)]
    said = options.prompt if options.input_format == "stream-json" else prompt
    if said is None:
        return found if options.input_format == "stream-json" else [*found, Continue()]
    parts = (Text(said),) if schema is None else (Text(said), Text(f"\n\n{schema.instruction}"))
    # The effort is that of this run: one that an earlier life of the session set does not count.
    request = None if options.effort is None else RequestOptions(effort=options.effort)
    output = None if schema is None else schema.schema
    wishes = RunOptions(request=request, output=output, budget=options.token_budget)
    return [*found, Prompt(parts, None if wishes == RunOptions() else wishes)]


def _facts(session: Session, config: Config) -> dict[str, Any]:
    return {
        "session_id": session.id,
        "model": session.model,
        "cwd": str(config.root),
        "tools": list(session.tool_names),
        "mcp_servers": [{"name": each.name, "status": each.state.status} for each in session.controls.mcp_servers],
        "mode": session.mode,
        "version": __version__,
    }


def _waits(question: Question, session: str) -> str:
    what = f"{question.tool} needs an answer ({question.reason})"
    if not session:
        return (
            f"{what}: it cannot be answered, because the session is not stored; allow the call with --allow, or "
            "remove --no-save"
        )
    return (
        f"{what}: callgate answer {session} {question.call_id} yes|no, then callgate -p --resume {session};"
        f" callgate answer {session} shows it"
    )


def _collect_garbage_after_start(session: Session) -> None:
    """Enable garbage collection at the first request. Objects that exist at that time are not collected."""

    def on_event(path: AgentPath, number: int, event: Event) -> None:
        if isinstance(event, TurnStarted):
            stop()
            if not gc.isenabled():
                gc.freeze()
                gc.enable()

    stop = session.listen(on_event)


class _Signals:
    """Interrupts the run at the first Ctrl-C or SIGTERM, and exits at the second. Guard processes end the running
    commands.

    The event loop would remove its own handlers when it is closed; a second signal would then kill the process before
    it has exited with its own code.

    exits  True if the process exits after the run, so that signals can stay ignored; child processes inherit ignored
           signals
    """

    def __init__(self, *, exits: bool) -> None:
        self._exits = exits
        self._seen = 0
        self._before: dict[signal.Signals, Any] = {}

    def begin(self, loop: asyncio.AbstractEventLoop, stop: Callable[[str], None]) -> None:
        """Start to handle signals. ``stop`` is called on the event loop."""

        def received(number: int, frame: object) -> None:
            self._seen += 1
            if self._seen > 1:
                os._exit(INTERRUPTED)
            with suppress(RuntimeError):  # the loop is closed: the run has ended
                loop.call_soon_threadsafe(interrupt, _SIGNALS[signal.Signals(number)])

        def interrupt(name: str) -> None:
            say(f"{name}: interrupting the run; press again to exit immediately")
            stop(f"Interrupted by {name}.")

        for number in _SIGNALS:
            with suppress(ValueError):  # not the main thread
                self._before[number] = signal.signal(number, received)

    def end(self) -> None:
        """Restore the handlers. After a signal, further signals are ignored until the process has exited."""
        for number, handler in self._before.items():
            signal.signal(number, signal.SIG_IGN if self._seen and self._exits else handler)


def read_stdin(say: Callable[[str], None]) -> str:
    """Return the text on standard input; empty if it is a terminal, closed, or silent for ``PATIENCE`` seconds.
    Blocks."""
    fd = _descriptor()
    if fd is None or os.isatty(fd):
        return ""
    if not stat.S_ISREG(os.fstat(fd).st_mode) and not select.select([fd], [], [], PATIENCE)[0]:
        say(_NOTHING_CAME)
        return ""
    pieces: list[bytes] = []
    left = LARGEST + 1
    while left > 0 and (piece := os.read(fd, min(left, 1 << 16))):
        pieces.append(piece)
        left -= len(piece)
    if left <= 0:
        raise UsageError(
            f"standard input has more than {LARGEST >> 20} MiB, more than a model can read; name a file in the "
            "prompt instead"
        )
    data = b"".join(pieces)
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        say(f"standard input is not UTF-8 at byte {error.start}; invalid bytes are replaced")
        return data.decode(errors="replace")


def whole_prompt(argument: str | None, piped: str) -> str:
    """Return the prompt, followed by the text of standard input. Raise UsageError if there is neither."""
    if not piped.strip():
        if argument is None:
            raise UsageError("the prompt is missing: use callgate -p PROMPT, or standard input")
        return argument
    return piped if argument is None else f"{argument}\n\n<stdin>\n{piped.removesuffix(chr(10))}\n</stdin>"


def follow_stdin(loop: AbstractEventLoop, take: Callable[[Input | str | None], None]) -> None:
    """Read standard input in a thread, and call ``take`` on the event loop with each input: an Input, a string that
    describes an invalid line, or None at the end."""

    def read() -> None:
        fd = _descriptor()
        if fd is not None:
            with suppress(OSError), open(fd, "rb", closefd=False) as stream:
                for number, line in enumerate(stream, start=1):
                    if line.strip() and not _tell(loop, take, _parsed(line, number)):
                        return
        _tell(loop, take, None)

    Thread(target=read, name="callgate-in", daemon=True).start()


def _tell(loop: AbstractEventLoop, take: Callable[[Input | str | None], None], value: Input | str | None) -> bool:
    try:
        loop.call_soon_threadsafe(take, value)
    except RuntimeError:  # the loop is closed
        return False
    return True


def _parsed(line: bytes, number: int) -> Input | str:
    try:
        return from_json(Input, loads(line.decode()))
    except UnicodeDecodeError as error:
        return f"line {number} of standard input cannot be used: it is not UTF-8 at byte {error.start}"
    except (UsageError, ValueError, RecursionError) as error:
        return f"line {number} of standard input cannot be used: {error}"


def _descriptor() -> int | None:
    try:
        fd = sys.__stdin__.fileno() if sys.__stdin__ is not None else None
        if fd is not None:
            os.fstat(fd)
    except (OSError, ValueError):
        return None
    return fd
