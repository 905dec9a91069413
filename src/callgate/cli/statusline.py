"""``callgate statusline test``."""

import asyncio
from argparse import Namespace
from time import monotonic
from typing import TextIO

from callgate.assembly.status_command import Finished, StatusCommand
from callgate.cli.session.output import out, put, put_json, say
from callgate.cli.terminal import Line, Span, can_redraw
from callgate.config import Config, load_config
from callgate.tui.statusline.output import status_lines, without_colours
from callgate.tui.statusline.payload import SAMPLE, payload, payload_bytes
from callgate.tui.statusline.runner import failure_of
from callgate.words.errors import UsageError

SHOWN, NOT_SHOWN = 0, 1


def try_command(options: Namespace) -> int:
    stream = out()
    if options.sample:
        put_json(payload(SAMPLE), stream)
        return SHOWN
    config = load_config()
    if options.line is None:
        for note in config.notes:
            if note.text.startswith("statusline."):
                say(str(note))
        if config.statusline.command is None:
            place = "your settings" if config.folder is None else config.folder / "settings.toml"
            raise UsageError(f"no status line is set: say --command, or put command = … under [statusline] in {place}")
    end, took = asyncio.run(_run(config, options.line))
    failure = failure_of(end)
    lines = () if failure is not None or isinstance(end, str) else status_lines(end.stdout)
    if options.json:
        put_json(_as_json(end, lines, failure, took), stream)
    else:
        _show(lines, stream)
        put(_about(end, failure, took, shown=bool(lines)), stream)
    return SHOWN if lines else NOT_SHOWN


async def _run(config: Config, line: str | None) -> tuple[Finished | str, int]:
    """The end of the command, and the milliseconds it took."""
    await StatusCommand(config, command=":")(b"")  # starts the process that starts commands, once for all of them
    began = monotonic()
    end = await StatusCommand(config, command=line)(payload_bytes(SAMPLE))
    return end, round(1000 * (monotonic() - began))


def _show(lines: tuple[str, ...], stream: TextIO) -> None:
    """Writes the lines as the terminal would show them: ``status_lines`` has left nothing but text and colours."""
    coloured = can_redraw(stream)
    stream.writelines(f"{line if coloured else without_colours(line)}\n" for line in lines)


def _about(end: Finished | str, failure: str | None, took: int, *, shown: bool) -> list[Line]:
    lines: list[Line] = []
    if isinstance(end, Finished):
        errors = end.stderr.decode("utf-8", "replace").splitlines()
        lines += [(Span(f"  {line}", "red"),) for line in errors]
    if failure is not None:
        lines.append((Span(f"The command {failure}: the last line would stay.", "red"),))
    elif not shown:
        lines.append((Span("It printed nothing: the line would be empty.", "yellow"),))
    code = "" if isinstance(end, str) else f"exit code {end.returncode}, "
    return [*lines, (Span(f"{code}{took} ms", "dim"),)]


def _as_json(end: Finished | str, lines: tuple[str, ...], failure: str | None, took: int) -> dict[str, object]:
    ran = isinstance(end, Finished)
    return {
        "lines": [*lines],
        "failure": failure,
        "exit_code": end.returncode if ran else None,
        "timed_out": end.timed_out if ran else False,
        "stderr": end.stderr.decode("utf-8", "replace") if ran else "",
        "milliseconds": took,
    }
