"""The command ``callgate policy decide``: decides about calls, one JSON line in, one JSON line out."""

import json
from collections.abc import Iterable
from difflib import get_close_matches
from functools import partial
from typing import Any, TextIO, cast

from callgate.admin.call_judge import CallJudge, CallToJudge, Ruling
from callgate.cli.command_parser import refuse_constant
from callgate.cli.json_lines import UnusableLine, answer_lines, json_input
from callgate.cli.text_output import json_fields, origin_as_json, out

KEYS = ("tool", "arguments", "allow", "ask", "deny", "mode", "root")


def decide(jsonl: bool, settings: str | None, file: str | None) -> int:
    """Read {"tool": "Bash", "arguments": {"command": "…"}, "allow": […], "ask": […], "deny": […], "mode": "…",
    "root": "/…"} and answer {"decision": "allow|ask|deny", "rule", "by", "why"}, one line each. Only the tool is
    required. Rules apply as if given on the command line; no settings are read except those of --settings. Nothing
    is run; only symbolic links below the root are resolved."""
    with json_input(file) as lines:
        return decide_lines(lines, out(), CallJudge(settings))


def decide_lines(lines: Iterable[str | bytes], out: TextIO, judge: CallJudge) -> int:
    loads = partial(json.loads, object_pairs_hook=_once, parse_constant=refuse_constant)
    return answer_lines(lines, out, lambda given: ruling_as_json(judge.judge(_call(given))), loads=loads)


def ruling_as_json(ruling: Ruling) -> dict[str, Any]:
    """Return the ruling as a JSON object. Origin and risk are left out if they are not set."""
    risk = {} if ruling.risk is None else {"risk": ruling.risk}
    return {**json_fields(ruling, "decision", "rule", "by", "why"), **origin_as_json(ruling.origin), **risk}


def _call(given: dict[str, Any]) -> CallToJudge:
    for key in given:
        if key not in KEYS:
            close = get_close_matches(key, KEYS, n=1)
            hint = f", did you mean {close[0]!r}?" if close else ""
            raise UnusableLine(f"there is no key {key!r}{hint}; there are {', '.join(KEYS)}")
    tool, root, mode = (_text(given, key) for key in ("tool", "root", "mode"))
    arguments = given.get("arguments", {})
    if not tool:
        raise UnusableLine('the tool is missing: add "tool": "Bash"')
    if not isinstance(arguments, dict):
        raise UnusableLine('"arguments" is an object, as in {"command": "ls"}')
    allow, ask, deny = (_rules(given, key) for key in ("allow", "ask", "deny"))
    # The judge refuses an unknown mode.
    return CallToJudge(
        tool=tool,
        arguments=cast(dict[str, Any], arguments),
        allow=allow,
        ask=ask,
        deny=deny,
        mode=cast(Any, mode),
        root=root or "",
    )


def _text(given: dict[str, Any], key: str) -> str | None:
    value = given.get(key)
    if value is not None and not isinstance(value, str):
        raise UnusableLine(f'"{key}" is a text')
    return value


def _rules(given: dict[str, Any], key: str) -> tuple[str, ...]:
    value = given.get(key, [])
    if not isinstance(value, list) or not all(isinstance(each, str) for each in cast(list[object], value)):
        raise UnusableLine(f'"{key}" is a list of rules, as in ["Bash(git log:*)"]')
    return tuple(cast(list[str], value))


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return the pairs as a dict. A duplicate key is refused, because parsers differ in the value that they use."""
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the key {twice!r} appears twice")
    return found
