"""The commands ``callgate prompt show`` and ``callgate statusline test``.

The system prompt is composed of texts. Files in the folder prompt of your settings replace them. The status line is
printed by a command of yours, statusline.command in the settings. It gets JSON on its standard input.
"""

import asyncio
from collections.abc import Iterator
from time import monotonic, time
from typing import Any

from callgate.assembly.prompting import PromptFacts, PromptPart, describe_environment, prompt_for
from callgate.assembly.settings import Finished, StatusCommand
from callgate.cli.command_parser import split_names
from callgate.cli.command_rows import JSON, ArgumentRow, CommandRow
from callgate.cli.start_options import MODE, PROMPT_TEXTS
from callgate.cli.start_session import prompt_wishes
from callgate.cli.terminal import Line, Span, can_redraw, paragraph
from callgate.cli.text_output import json_fields, out, put, put_json, say, text_width
from callgate.config import Config, load_config
from callgate.tools.builtin import BUILTIN, builtin_tools
from callgate.tui.statusline.status_line import failure_of, status_lines, without_colours
from callgate.tui.statusline.status_payload import SAMPLE, payload_bytes
from callgate.words.errors import UsageError
from callgate.words.modes import Mode


def show(
    text: bool,
    as_json: bool,
    mode: Mode | None,
    model: str,
    tools: tuple[str, ...] | None,
    unattended: bool,
    **texts: str | None,
) -> int:
    """Print the system prompt of a new session in the current folder.

    examples:
      callgate prompt show --text --mode plan
    """
    config = load_config(mode=mode)
    names = tuple(BUILTIN if tools is None else (tool.spec.name for tool in builtin_tools(*tools)) if tools else ())
    model = model or "the one that is chosen"
    environment = describe_environment(config.root, model=model, now=time())
    facts = PromptFacts(tools=names, mode=config.mode, attended=not unattended, environment=environment)
    built = prompt_for(config, facts, prompt_wishes(texts))
    if text:
        out().write(f"{built.text}\n")
    elif as_json:
        put_json([json_fields(part, "name", "origin", "text") for part in built.parts])
    else:
        for part in built.parts:
            put(_lines(part, text_width()))
    for note in built.notes:
        say(note)
    return 0


def _lines(part: PromptPart, columns: int) -> list[Line]:
    lines: list[Line] = [(Span(part.name, "bold"), Span(f"  {part.origin}", "dim"))]
    for line in part.text.split("\n"):
        lines += paragraph(line, columns, indent=2, hang=2) if line.strip() else [()]
    return [*lines, ()]


def test_command(line: str | None, sample: bool, as_json: bool) -> int:
    """Run the status line command with a sample. Prints the lines that would be shown, the error output, the
    duration and the exit code.

    examples:
      callgate statusline test --command 'jq -r .model.name'
      callgate statusline test --sample > sample.json

    exit codes: 0 the output would be shown, 1 it would not
    """
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
            raise UsageError(f"no status line is configured: add --command, or set statusline.command in {place}")
    end, took = asyncio.run(_run_statusline(config, line))
    failure = failure_of(end)
    ran = end if isinstance(end, Finished) else None
    report: dict[str, Any] = {
        "lines": [*status_lines(ran.stdout)] if ran and failure is None else [],
        "failure": failure,
        "exit_code": ran.returncode if ran else None,
        "timed_out": ran.timed_out if ran else False,
        "stderr": ran.stderr.decode("utf-8", "replace") if ran else "",
        "milliseconds": took,
    }
    if as_json:
        put_json(report)
    else:
        coloured = can_redraw(out())
        out().writelines(f"{each if coloured else without_colours(each)}\n" for each in report["lines"])
        put(_statusline_lines(report))
    return 0 if report["lines"] else 1


async def _run_statusline(config: Config, line: str | None) -> tuple[Finished | str, int]:
    """Run the command. Return its result and its duration in milliseconds."""
    await StatusCommand(config, command=":")(b"")  # starts the guard process, which is not measured
    began = monotonic()
    end = await StatusCommand(config, command=line)(payload_bytes(SAMPLE))
    return end, round(1000 * (monotonic() - began))


def _statusline_lines(report: dict[str, Any]) -> Iterator[Line]:
    yield from ((Span(f"  {line}", "red"),) for line in report["stderr"].splitlines())
    if report["failure"] is not None:
        yield (Span(f"The command {report['failure']}: the previous line would stay.", "red"),)
    elif not report["lines"]:
        yield (Span("It printed nothing: the line would be empty.", "yellow"),)
    code = "" if report["exit_code"] is None else f"exit code {report['exit_code']}, "
    yield (Span(f"{code}{report['milliseconds']} ms", "dim"),)


COMMANDS = (
    CommandRow(
        "prompt show",
        show,
        "print the system prompt, with the origin of each part",
        (
            ArgumentRow("--text", "print only the text, exactly as the model receives it", apart="form"),
            ArgumentRow("--json", "print a list of parts with name, origin and text", "as_json", apart="form"),
            MODE,
            ArgumentRow("--model NAME", "the model to name in it", default=""),
            ArgumentRow("--tools LIST", "only these tools, such as Read,Grep; '' for none", read=split_names),
            ArgumentRow("--unattended", "for a session without a user (-p)"),
            *PROMPT_TEXTS,
        ),
    ),
    CommandRow(
        "statusline test",
        test_command,
        "run the status line command once with sample data",
        (
            ArgumentRow("--command LINE", "run this command instead of the configured one", "line"),
            ArgumentRow("--sample", "print the sample data and run nothing"),
            JSON,
        ),
    ),
)
