"""Parses the arguments of a call strictly. Arguments are repaired only if one correction is possible.

Repairs of the text: a byte order mark, white space that JSON does not allow, a code fence around everything, commas
before a closing bracket, the whole object sent as a JSON string, nothing or ``null`` where no argument is required.

Repairs of a value, only if it does not match and no string is expected: an object or array as JSON in a string, a plain
decimal number or ``true``/``false`` in a string. ``null`` for an optional key that does not accept it is an absent key.
Everything else that does not match is rejected; defaults are not filled in.
"""

import json
import re
from collections.abc import Mapping
from typing import Any, cast

from callgate.tools.argument_repair import MAX_REPAIRS, ArgumentRepair, TooManyRepairs
from callgate.tools.jsonschema import Schema, TooMuchWork
from callgate.tools.schema_node import quote
from callgate.tools.strict_json import BLANK, JSONFault, decode_utf8, parse, plain
from callgate.words.calls import JSON, Accepted, Rejected, Repair
from callgate.words.late_pattern import late_pattern

_FENCE = late_pattern(r"```(?:json[5c]?)?(?![\w-])(.*)```", re.DOTALL | re.IGNORECASE)
_STRING = json.JSONDecoder()
_COMMA = late_pattern(r'"|,(?=[ \t\n\r]*[}\]])')


class Arguments:
    """Parses the arguments of one tool. The constructor raises ``SchemaError`` if the schema is invalid."""

    def __init__(self, schema: Mapping[str, Any]) -> None:
        self._schema = Schema(schema)

    def read(self, raw: str | bytes | Mapping[str, Any]) -> Accepted | Rejected:
        """Return Accepted with the repairs, or Rejected with one line per fault. Never raises."""
        given: Any = raw  # never raises, not even for what the annotation excludes
        try:
            if isinstance(raw, str):
                value, repairs = read_json(raw)
                if type(value) is dict and self._schema.fits(value):
                    return Accepted(value, tuple(repairs))
                return self._judge(value, repairs)
            if isinstance(raw, bytes | bytearray | memoryview):
                return self.read(decode_utf8(bytes(raw)))
            if isinstance(given, Mapping):
                return self._judge(plain(raw), [])
            return Rejected((f"$: got a Python {type(given).__name__}, expected JSON text or an object",))
        except JSONFault as fault:
            return Rejected(fault.lines)
        except TooMuchWork:
            return Rejected(("$: got a value too large to check against this schema, expected a smaller value",))
        except RecursionError:
            return Rejected(("$: got nesting too deep to check, expected less nesting",))
        except Exception as error:  # a mapping may run any code of its own while it is read
            return Rejected((f"$: got an object that cannot be read ({type(error).__name__}), expected JSON",))

    def _judge(self, value: JSON, repairs: list[Repair]) -> Accepted | Rejected:
        """Return Accepted or Rejected for a parsed value. The value None means that the text was empty."""
        if type(value) is str and value.lstrip(BLANK).startswith("{"):
            try:
                value = parse(value)
            except JSONFault as fault:
                return Rejected(tuple(f"{line} (inside a JSON string)" for line in fault.lines))
            repairs.append(Repair("$", "parsed the object from a JSON string"))
        elif value is None and self._schema.fits({}):
            repairs.append(Repair("$", "treated an empty text as no arguments"))
            value = {}
        if type(value) is not dict:
            got = "no arguments" if value is None else quote(value)
            return Rejected((f"$: got {got}, expected an object", *(self._schema.faults({}) if value is None else ())))
        return Accepted(value, tuple(repairs)) if self._schema.fits(value) else self._mend(value, repairs)

    def _mend(self, value: dict[str, Any], repairs: list[Repair]) -> Accepted | Rejected:
        mending = ArgumentRepair(self._schema)
        try:
            mended = cast(dict[str, Any], mending.mend(value))
        except TooManyRepairs:
            return Rejected(
                (f"$: got more than {MAX_REPAIRS} values to repair, expected values that match the schema",)
            )
        if mending.repairs and self._schema.fits(mended):
            return Accepted(mended, (*repairs, *mending.repairs))
        return Rejected(tuple(mending.hinted(line) for line in self._schema.faults(mended)))


def read_json(raw: str) -> tuple[JSON, list[Repair]]:
    """Return the value of a JSON text, with the repairs of the text. The value is None for an empty text. Raise
    JSONFault if the text is not valid JSON after the repairs."""
    try:
        return parse(raw), []
    except JSONFault as fault:
        if fault.kind not in ("syntax", "truncated", "extra", "empty"):
            raise
    repairs: list[Repair] = []
    text = _unwrapped(raw, repairs)
    if not text.strip(BLANK):
        return None, repairs
    try:
        return parse(text), repairs
    except JSONFault as inner:
        if inner.kind not in ("syntax", "truncated"):
            raise
        text, removed = _without_trailing_commas(text)
        if not removed:
            raise
    repairs.append(Repair("$", f"removed {removed} trailing comma{'s' if removed > 1 else ''}"))
    return parse(text), repairs


def _unwrapped(raw: str, repairs: list[Repair]) -> str:
    text = raw
    if text.startswith("\ufeff"):
        text = text[1:]
        repairs.append(Repair("$", "removed a byte order mark"))
    if text.strip() != text.strip(BLANK):
        repairs.append(Repair("$", "removed surrounding white space"))
    text = text.strip()
    if fence := _FENCE.fullmatch(text):
        text = fence[1].strip()
        repairs.append(Repair("$", "removed a surrounding code fence"))
    elif text.startswith("```") and not text.endswith("```"):
        raise JSONFault("truncated", "$: got a truncated code fence (it is not closed), expected one complete object")
    return text


def _without_trailing_commas(text: str) -> tuple[str, int]:
    """Return the text without commas between a value and a closing bracket, and the number of removed commas. Commas in
    strings are kept."""
    kept: list[str] = []
    done = at = 0
    while found := _COMMA.search(text, at):
        at = found.end()
        if found[0] == '"':
            try:
                _, at = _STRING.raw_decode(text, found.start())
            except json.JSONDecodeError:
                break
        else:
            before = found.start()
            while before and text[before - 1] in BLANK:
                before -= 1
            if text[before - 1 : before] not in ("", ",", "[", "{", ":"):
                kept.append(text[done : found.start()])
                done = at
    return "".join([*kept, text[done:]]), len(kept)
