"""The command ``callgate prompt show``."""

from time import time

from callgate.assembly.prompting import PromptPart, PromptSubject, prompt_for
from callgate.cli.command_parser import split_names
from callgate.cli.command_rows import ArgumentRow, CommandRow
from callgate.cli.start_options import PROMPT_TEXTS
from callgate.cli.start_session import prompt_wishes
from callgate.cli.terminal import Line, Span, paragraph
from callgate.cli.text_output import json_fields, out, put, put_json, say, text_width
from callgate.config import load_config
from callgate.tools.builtin import BUILTIN, builtin_tools
from callgate.words.modes import MODES, Mode


def show(
    text: bool,
    as_json: bool,
    mode: Mode | None,
    model: str,
    tools: tuple[str, ...] | None,
    unattended: bool,
    **texts: str | None,
) -> int:
    """Print the system prompt of a new session in the current folder."""
    config = load_config(mode=mode)
    names = tuple(BUILTIN if tools is None else (tool.spec.name for tool in builtin_tools(*tools)) if tools else ())
    model = model or "the one that is chosen"
    subject = PromptSubject(tools=names, mode=config.mode, model=model, now=time(), attended=not unattended)
    built = prompt_for(config, subject, prompt_wishes(texts))
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


COMMANDS = (
    CommandRow(
        "prompt show",
        show,
        "print the system prompt, with the origin of each part",
        (
            ArgumentRow("--text", "print only the text, exactly as the model receives it", apart="form"),
            ArgumentRow("--json", "print a list of parts with name, origin and text", "as_json", apart="form"),
            ArgumentRow("--mode MODE", f"the mode: {', '.join(MODES)}", choices=tuple(MODES)),
            ArgumentRow("--model NAME", "the model to name in it", default=""),
            ArgumentRow("--tools LIST", "only these tools, such as Read,Grep; '' for none", read=split_names),
            ArgumentRow("--unattended", "for a session without a user (-p)"),
            *PROMPT_TEXTS,
        ),
        examples=("callgate prompt show", "callgate prompt show --text --mode plan"),
    ),
)
