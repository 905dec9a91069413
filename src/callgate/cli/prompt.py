"""``callgate prompt show``."""

from argparse import Namespace

from callgate.admin.prompt import PromptPart, built_prompt
from callgate.cli.agent.texts import prompt_wishes
from callgate.cli.policy.words import room_on
from callgate.cli.session.output import out, put, put_json, say
from callgate.cli.terminal import Line, Span, paragraph

DONE = 0


def show(options: Namespace) -> int:
    built = built_prompt(
        prompt_wishes(options),
        tools=options.tools,
        mode=options.mode,
        model=options.model,
        attended=not options.unattended,
    )
    stream = out()
    if options.text:
        stream.write(f"{built.text}\n")
    elif options.json:
        put_json([{"name": part.name, "origin": part.origin, "text": part.text} for part in built.parts], stream)
    else:
        for part in built.parts:
            put(_lines(part, room_on(stream)), stream)
    for note in built.notes:
        say(note)
    return DONE


def _lines(part: PromptPart, columns: int) -> list[Line]:
    lines: list[Line] = [(Span(part.name, "bold"), Span(f"  {part.origin}", "dim"))]
    for line in part.text.split("\n"):
        lines += paragraph(line, columns, indent=2, hang=2) if line.strip() else [()]
    return [*lines, ()]
