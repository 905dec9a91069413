"""``callgate policy decide --jsonl``: what would be decided about calls, one JSON line in, one JSON line out."""

import json
import sys
from argparse import Namespace
from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any, NoReturn, TextIO, cast

from callgate.admin.policy import CallJudge, CallToJudge, Ruling
from callgate.cli.policy.words import origin_as_json
from callgate.cli.session.output import put_json, say
from callgate.words.errors import UsageError

KEYS = ("tool", "arguments", "allow", "ask", "deny", "mode", "root")


class _BadLine(Exception):
    """The line itself cannot be used; says what to do."""


def decide(options: Namespace) -> int:
    bench = CallJudge(options.settings)
    if options.file not in (None, "-"):
        with open(options.file, "rb") as lines:
            return decide_lines(lines, sys.stdout, bench)
    if sys.stdin.isatty():
        say("reading JSON lines from the keyboard; Ctrl-D ends")
    return decide_lines(sys.stdin.buffer, sys.stdout, bench)


def decide_lines(lines: Iterable[bytes], out: TextIO, bench: CallJudge) -> int:
    """Answers each line as it comes, so that it can serve as a co-process. 1 if a line could not be used, else 0."""
    code = 0
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            answer = as_json(bench.judge(_asked(line)))
        except (_BadLine, UsageError) as error:
            code, answer = 1, {"error": f"line {number}: {error}"}
        put_json(answer, out)
        out.flush()
    return code


def as_json(ruling: Ruling) -> dict[str, Any]:
    """Origin and risk are left out where there are none."""
    found = {"decision": ruling.decision, "rule": ruling.rule, "by": ruling.by, "why": ruling.why}
    risk = {} if ruling.risk is None else {"risk": ruling.risk}
    return {**found, **origin_as_json(ruling.origin), **risk}


def _asked(line: bytes) -> CallToJudge:
    given = _read(line)
    for key in given:
        if key not in KEYS:
            close = get_close_matches(key, KEYS, n=1)
            hint = f", did you mean {close[0]!r}?" if close else ""
            raise _BadLine(f"there is no key {key!r}{hint}; there are {', '.join(KEYS)}")
    tool, root, mode = (_text(given, key) for key in ("tool", "root", "mode"))
    arguments = given.get("arguments", {})
    if not tool:
        raise _BadLine('say which tool, as in "tool": "Bash"')
    if not isinstance(arguments, dict):
        raise _BadLine('"arguments" is an object, as in {"command": "ls"}')
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


def _read(line: bytes) -> dict[str, Any]:
    try:
        given = json.loads(line.decode(), object_pairs_hook=_once, parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        raise _BadLine(f"write one JSON object per line, in UTF-8 ({error})") from None
    if not isinstance(given, dict):
        raise _BadLine("write a JSON object, not another value")
    return cast(dict[str, Any], given)


def _text(given: dict[str, Any], key: str) -> str | None:
    value = given.get(key)
    if value is not None and not isinstance(value, str):
        raise _BadLine(f'"{key}" is a text')
    return value


def _rules(given: dict[str, Any], key: str) -> tuple[str, ...]:
    value = given.get(key, [])
    if not isinstance(value, list) or not all(isinstance(each, str) for each in cast(list[object], value)):
        raise _BadLine(f'"{key}" is a list of rules, as in ["Bash(git log:*)"]')
    return tuple(cast(list[str], value))


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """The pairs as a dict. A key that occurs twice is refused: tools differ in which value they take."""
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the key {twice!r} stands there twice")
    return found


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")
