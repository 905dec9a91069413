"""``callgate policy explain``: the whole chain of one decision."""

from argparse import Namespace
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from json import dumps
from typing import Any

from callgate.admin.policy import CONTENT, ExplainedStep, Explanation, Reading, Ruling, WorkspacePolicy
from callgate.cli.parsing import USAGE
from callgate.cli.policy.decide import as_json
from callgate.cli.policy.words import COLOURS, item, origin_as_json, room_on
from callgate.cli.session.output import out, put, put_json, say
from callgate.cli.terminal import Line, Safe, Span, paragraph
from callgate.formats.display import excerpt
from callgate.words.decisions import Origin

_SHOWN = 600
"""Characters of one argument."""


def explain(options: Namespace) -> int:
    tool: str = options.tool
    arguments = _arguments(options)
    close = get_close_matches(tool, CONTENT, n=1) or [name for name in CONTENT if name.lower() == tool.lower()]
    hint = "" if tool in CONTENT or not close else f"; did you mean {close[0]}?"
    if arguments is None:
        say(f"which argument of {tool} this is, is not known: give its arguments with --argument NAME=VALUE{hint}")
        return USAGE
    if hint:
        say(f"{tool} is not a known tool, and is judged as an unknown one{hint}")
    policy = WorkspacePolicy(options.root, mode=options.mode)
    ruling, found = policy.explain(tool, arguments)
    stream = out()
    if options.json:
        about = {"tool": tool, "arguments": arguments, "mode": policy.config.mode, "root": str(policy.config.root)}
        put_json({**about, **_as_json(ruling, found)}, stream)
    else:
        put(_lines(tool, arguments, ruling, found, room_on(stream)), stream)
    return 0


def _arguments(options: Namespace) -> dict[str, Any] | None:
    """None when there is content and no telling which argument it is."""
    if options.arguments is not None:
        return dict(options.arguments)
    given = dict(options.argument)
    if options.content is None:
        return given
    return None if options.tool not in CONTENT else {CONTENT[options.tool]: options.content, **given}


def _as_json(ruling: Ruling, found: Explanation) -> dict[str, Any]:
    rules = [
        {
            "effect": each.rule.effect,
            "rule": each.rule.text,
            **origin_as_json(each.rule.origin),
            "applies": each.applies,
            "why": each.why,
        }
        for each in found.rules
    ]
    checks = [{"check": step.check, "said": step.said, "decided": step.decided} for step in found.steps]
    return {**as_json(ruling), "checks": checks, "rules": rules}


def _lines(tool: str, arguments: Mapping[str, Any], ruling: Ruling, found: Explanation, room: int) -> Iterator[Line]:
    yield (Span(tool, "bold"),)
    for name, value in arguments.items():
        text = value if isinstance(value, str) else dumps(value, ensure_ascii=False)
        for line in excerpt(f"{name}: {text}", lines=10, chars=_SHOWN).text.split("\n"):
            yield from paragraph(Safe(line), room, indent=2, hang=2)
    by = _named(ruling.by, ruling.origin)
    yield from item(ruling.decision, f"by {by}", ruling.why, room, f"bold {COLOURS[ruling.decision]}")
    if ruling.risk:
        yield from paragraph(f"risk: {ruling.risk}", room, "red", indent=2, hang=2)
    yield (Span("checks, in order", "bold"),)
    for step in found.steps:
        yield from _step(step, room)
    if found.rules:
        yield (Span(f"rules about {tool}", "bold"),)
    for reading in found.rules:
        yield from _reading(reading, room)


def _step(step: ExplainedStep, room: int) -> Iterator[Line]:
    mark, style = (">", "bold") if step.decided else ("-", "dim")
    yield from paragraph(f"{mark} {step.check}: {step.said}", room, style, indent=2, hang=2)


def _reading(reading: Reading, room: int) -> Iterator[Line]:
    rule = reading.rule
    name = _named(rule.text, rule.origin)
    says = "applies" if reading.applies else "does not apply"
    why = f": {reading.why}" if reading.why else ""
    mark, style = ("+", COLOURS[rule.effect]) if reading.applies else ("-", "")
    text = name if _is_answer(rule.text) else f"{rule.effect} {name}"
    yield from item(f"  {mark}", text, f"{says}{why}", room, style)


def _named(text: str, origin: Origin) -> str:
    return text if _is_answer(text) or not str(origin) else f"{text} ({origin})"


def _is_answer(text: str) -> bool:
    """True for a remembered answer, whose name has its effect and its scope: ``policy allow Bash(make) [project]``."""
    return text.startswith("policy ")
