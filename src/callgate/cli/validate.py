"""``callgate tools validate --jsonl``: what would become of arguments, one JSON line in, one JSON line out.

In: ``{"tool": {"name": …, "parameters": <JSON Schema>}, "raw": "<what the model wrote>"}``; ``raw`` may be an object
already, ``raw_b64`` holds raw bytes. Out: ``{"outcome": "accepted"|"repaired"|"rejected", "arguments", "repairs",
"errors"}``. A line that cannot be used answers with the outcome ``"error"`` and says what to do; the rest goes on.
"""

import json
import sys
from argparse import Namespace
from base64 import b64decode
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import Any, TextIO, cast

from callgate.tools.arguments import Arguments
from callgate.tools.jsonschema import SchemaError
from callgate.words.arguments import Rejected


class _BadLine(Exception):
    """The line itself cannot be used; says what to do."""


def validate(options: Namespace) -> int:
    if options.file not in (None, "-"):
        with open(options.file, "rb") as lines:
            return validate_lines(lines, sys.stdout)
    if sys.stdin.isatty():
        print("callgate: reading JSON lines from the keyboard; Ctrl-D ends", file=sys.stderr)
    return validate_lines(sys.stdin.buffer, sys.stdout)


def validate_lines(lines: Iterable[str | bytes], out: TextIO) -> int:
    """Answers each line as it comes, so that it can serve as a co-process. 1 if a line could not be used, else 0."""
    compiled = lru_cache(maxsize=256)(_compiled)
    code = 0
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            answer = _answer(line, compiled)
        except _BadLine as error:
            code = 1
            answer = _outcome("error", errors=[f"line {number}: {error}"])
        out.write(json.dumps(answer, allow_nan=False) + "\n")
        out.flush()
    return code


def _answer(line: str | bytes, compiled: Callable[[str], Arguments]) -> dict[str, Any]:
    case = _case(line)
    tool = case.get("tool")
    parameters = cast(Mapping[str, Any], tool).get("parameters") if isinstance(tool, dict) else None
    if not isinstance(parameters, dict):
        raise _BadLine('give the tool as {"name": …, "parameters": <JSON Schema object>}')
    try:
        arguments = compiled(json.dumps(parameters))
    except SchemaError as error:
        raise _BadLine(f"mend the schema at {error}") from None
    read = arguments.read(_raw(case))
    if isinstance(read, Rejected):
        return _outcome("rejected", errors=read.errors)
    repairs = [{"path": repair.path, "what": repair.what} for repair in read.repairs]
    return _outcome("repaired" if repairs else "accepted", arguments=read.arguments, repairs=repairs)


def _compiled(schema: str) -> Arguments:
    return Arguments(json.loads(schema))


def _case(line: str | bytes) -> dict[str, Any]:
    try:
        case = json.loads(line.decode() if isinstance(line, bytes) else line)
    except (ValueError, RecursionError) as error:
        raise _BadLine(f"write one JSON object per line, in UTF-8 ({type(error).__name__}: {error})") from None
    if not isinstance(case, dict):
        raise _BadLine("write a JSON object, not another value")
    return cast(dict[str, Any], case)


def _raw(case: dict[str, Any]) -> str | bytes | Mapping[str, Any]:
    given = [key for key in ("raw", "raw_b64") if key in case]
    if len(given) != 1:
        raise _BadLine('give what the model wrote as "raw" or, as base64 of its bytes, as "raw_b64"')
    raw = case[given[0]]
    if given == ["raw"]:
        if not isinstance(raw, str | dict):
            raise _BadLine('"raw" is the text that the model wrote, or an object')
        return cast("str | dict[str, Any]", raw)
    try:
        return b64decode(raw, validate=True)
    except (TypeError, ValueError):
        raise _BadLine('"raw_b64" is a base64 string') from None


def _outcome(
    outcome: str, *, arguments: Any = None, repairs: Iterable[Any] = (), errors: Iterable[str] = ()
) -> dict[str, Any]:
    return {"outcome": outcome, "arguments": arguments, "repairs": list(repairs), "errors": list(errors)}
