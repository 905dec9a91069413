"""The command ``callgate tools validate``: reads arguments of calls, one JSON line in, one JSON line out.

In: ``{"tool": {"name": …, "parameters": <JSON Schema>}, "raw": "<text of the model>"}``; ``raw`` may be an object, and
``raw_b64`` holds raw bytes. Out: ``{"outcome": "accepted"|"repaired"|"rejected"|"error", "arguments", "repairs",
"errors"}``.
"""

import json
from base64 import b64decode
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import Any, TextIO, cast

from callgate.cli.json_lines import UnusableLine, answer_lines, json_input
from callgate.cli.text_output import out
from callgate.tools.arguments import Arguments
from callgate.tools.jsonschema import SchemaError
from callgate.words.calls import Rejected


def validate(jsonl: bool, file: str | None) -> int:
    """Read {"tool": {"name", "parameters": JSON Schema}, "raw": what the model wrote} and answer {"outcome":
    "accepted|repaired|rejected", "arguments", "repairs", "errors"}, one line each."""
    with json_input(file) as lines:
        return validate_lines(lines, out())


def validate_lines(lines: Iterable[str | bytes], out: TextIO) -> int:
    compiled = lru_cache(maxsize=256)(_compiled)
    return answer_lines(
        lines, out, lambda given: _answer(given, compiled), failed=lambda error: _outcome("error", errors=[error])
    )


def _compiled(schema: str) -> Arguments:
    return Arguments(json.loads(schema))


def _answer(case: dict[str, Any], compiled: Callable[[str], Arguments]) -> dict[str, Any]:
    tool = case.get("tool")
    parameters = cast(Mapping[str, Any], tool).get("parameters") if isinstance(tool, dict) else None
    if not isinstance(parameters, dict):
        raise UnusableLine('give the tool as {"name": …, "parameters": <JSON Schema object>}')
    try:
        arguments = compiled(json.dumps(parameters))
    except SchemaError as error:
        raise UnusableLine(f"mend the schema at {error}") from None
    read = arguments.read(_raw(case))
    if isinstance(read, Rejected):
        return _outcome("rejected", errors=read.errors)
    repairs = [{"path": repair.path, "what": repair.what} for repair in read.repairs]
    return _outcome("repaired" if repairs else "accepted", arguments=read.arguments, repairs=repairs)


def _raw(case: dict[str, Any]) -> str | bytes | Mapping[str, Any]:
    given = [key for key in ("raw", "raw_b64") if key in case]
    if len(given) != 1:
        raise UnusableLine('give what the model wrote as "raw" or, as base64 of its bytes, as "raw_b64"')
    raw = case[given[0]]
    if given == ["raw"]:
        if not isinstance(raw, str | dict):
            raise UnusableLine('"raw" is the text that the model wrote, or an object')
        return cast("str | dict[str, Any]", raw)
    try:
        return b64decode(raw, validate=True)
    except (TypeError, ValueError):
        raise UnusableLine('"raw_b64" is a base64 string') from None


def _outcome(
    outcome: str, *, arguments: Any = None, repairs: Iterable[Any] = (), errors: Iterable[str] = ()
) -> dict[str, Any]:
    return {"outcome": outcome, "arguments": arguments, "repairs": list(repairs), "errors": list(errors)}
