"""The command ``callgate statusline test``."""

import asyncio
from time import monotonic

from callgate.assembly.status_command import Finished, StatusCommand
from callgate.cli.command_rows import ArgumentRow, CommandRow
from callgate.cli.terminal import Line, Span, can_redraw
from callgate.cli.text_output import out, put, put_json, say
from callgate.config import Config, load_config
from callgate.tui.statusline.status_payload import SAMPLE, payload_bytes
from callgate.tui.statusline.status_runner import failure_of, status_lines, without_colours
from callgate.words.errors import UsageError


def test_command(line: str | None, sample: bool, as_json: bool) -> int:
    """Run the status line command with a sample. Prints the lines that would be shown, the error output, the
    duration and the exit code."""
    if sample:
        put_json(SAMPLE)
        return 0
    config = load_config()
    if line is None:
        for note in config.notes:
            if note.text.startswith("statusline."):
                say(str(note))
        if config.statusline.command is None:
            place = "your settings" if config.folder is None else config.folder / "settings.toml"
            raise UsageError(
                f"no status line is configured: add --command, or set command = … under [statusline] in {place}"
            )
    end, took = asyncio.run(_run(config, line))
    failure = failure_of(end)
    lines = () if failure is not None or isinstance(end, str) else status_lines(end.stdout)
    if as_json:
        put_json(_as_json(end, lines, failure, took))
    else:
        coloured = can_redraw(out())
        out().writelines(f"{each if coloured else without_colours(each)}\n" for each in lines)
        put(_about(end, failure, took, shown=bool(lines)))
    return 0 if lines else 1


async def _run(config: Config, line: str | None) -> tuple[Finished | str, int]:
    """Run the command. Return its result and its duration in milliseconds."""
    await StatusCommand(config, command=":")(b"")  # starts the guard process, which is not measured
    began = monotonic()
    end = await StatusCommand(config, command=line)(payload_bytes(SAMPLE))
    return end, round(1000 * (monotonic() - began))


def _about(end: Finished | str, failure: str | None, took: int, *, shown: bool) -> list[Line]:
    lines: list[Line] = []
    if isinstance(end, Finished):
        errors = end.stderr.decode("utf-8", "replace").splitlines()
        lines += [(Span(f"  {line}", "red"),) for line in errors]
    if failure is not None:
        lines.append((Span(f"The command {failure}: the previous line would stay.", "red"),))
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


COMMANDS = (
    CommandRow(
        "statusline test",
        test_command,
        "run the status line command once with sample data",
        (
            ArgumentRow("--command LINE", "run this command instead of the configured one", "line"),
            ArgumentRow("--sample", "print the sample data and run nothing"),
            ArgumentRow("--json", "print the outcome as JSON", "as_json"),
        ),
        examples=(
            "callgate statusline test",
            "callgate statusline test --command 'jq -r .model.name'",
            "callgate statusline test --sample > sample.json",
        ),
        more="exit codes: 0 the output would be shown, 1 it would not",
    ),
)
