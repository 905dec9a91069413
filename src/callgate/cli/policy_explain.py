"""The command ``callgate policy explain``: the checks and rules behind one decision."""

from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from json import dumps
from typing import Any

from callgate.admin.call_judge import CONTENT, Ruling
from callgate.admin.workspace_policy import ExplainedStep, Explanation, Reading, WorkspacePolicy
from callgate.cli.command_parser import USAGE
from callgate.cli.command_rows import CommandMisuse
from callgate.cli.policy_decide import ruling_as_json
from callgate.cli.terminal import Line, Safe, Span, paragraph
from callgate.cli.text_output import COLOURS, item, json_fields, origin_as_json, put, put_json, say, text_width
from callgate.formats.display import excerpt
from callgate.words.decisions import Origin
from callgate.words.modes import Mode

_SHOWN = 600
"""Characters that are shown of one argument."""


def explain(
    tool: str,
    content: str | None,
    pairs: Sequence[tuple[str, str]],
    arguments: dict[str, Any] | None,
    mode: Mode | None,
    root: str | None,
    as_json: bool,
) -> int:
    """Explain the decision about one call: the checks that ran, the decision of each check, and for each rule about
    the tool the reason why it applies or does not apply. Settings of all layers and remembered answers apply; hooks
    are not called, and nothing is run."""
    names = [name for name, _ in pairs]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise CommandMisuse(f"the argument {twice!r} is given twice")
    if arguments is not None and (names or content is not None):
        raise CommandMisuse("--arguments cannot be combined with the content or --argument")
    close = get_close_matches(tool, CONTENT, n=1) or [name for name in CONTENT if name.lower() == tool.lower()]
    hint = "" if tool in CONTENT or not close else f"; did you mean {close[0]}?"
    if content is not None and tool not in CONTENT:
        say(f"which argument of {tool} this is, is not known: give its arguments with --argument NAME=VALUE{hint}")
        return USAGE
    if arguments is None:
        arguments = dict(pairs) if content is None else {CONTENT[tool]: content, **dict(pairs)}
    if hint:
        say(f"{tool} is an unknown tool and is judged as such{hint}")
    policy = WorkspacePolicy(root, mode=mode)
    ruling, found = policy.explain(tool, arguments)
    if as_json:
        about = {"tool": tool, "arguments": arguments, "mode": policy.config.mode, "root": str(policy.config.root)}
        put_json({**about, **_as_json(ruling, found)})
    else:
        put(_lines(tool, arguments, ruling, found, text_width()))
    return 0


def _as_json(ruling: Ruling, found: Explanation) -> dict[str, Any]:
    rules = [
        {**json_fields(each, "rule.effect", "applies", "why", rule="rule.text"), **origin_as_json(each.rule.origin)}
        for each in found.rules
    ]
    checks = [json_fields(step, "check", "said", "decided") for step in found.steps]
    return {**ruling_as_json(ruling), "checks": checks, "rules": rules}


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
    """Return True for the name of a remembered answer, such as ``policy allow Bash(make) [project]``."""
    return text.startswith("policy ")
