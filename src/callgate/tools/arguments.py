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

from callgate.tools.jsonschema import Schema, SchemaWalk, TooMuchWork
from callgate.tools.schema_node import SchemaNode, kinds_of, quote
from callgate.tools.schema_rules import canonical
from callgate.tools.strict_json import BLANK, LIMITS, JSONFault, JSONLimits, decode_utf8, join, parse, plain, shown
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
            return Rejected((f"$: got more than {MAX_REPAIRS} values to repair, expected values that fit the schema",))
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


_DECIMAL = late_pattern(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?")
# JSON inside strings is parsed again, so its total length has a separate limit.
_MAX_INNER_CHARS = 1024 * 1024
# Every repair is recorded and shown; more than this is not an occasional slip.
MAX_REPAIRS = 1000


class TooManyRepairs(Exception):
    """The arguments need more repairs than allowed, so the model must send the call again."""


class ArgumentRepair:
    """Repairs one value by its schema. ``repairs`` lists the changes. ``hinted`` adds to a fault the reason why no
    repair was made."""

    def __init__(self, schema: Schema) -> None:
        self.repairs: list[Repair] = []
        self._root = schema.root
        self._walk = SchemaWalk()
        self._fits = self._walk.fits
        self._chars = _MAX_INNER_CHARS
        self._noted = 0
        self._hints: dict[str, str] = {}

    def mend(self, value: dict[str, Any]) -> Any:
        return self._mend(self._root, value, "$", 0)

    def hinted(self, line: str) -> str:
        path, colon, _ = line.partition(": got ")
        return f"{line} ({self._hints[path]})" if colon and path in self._hints else line

    def _mend(self, node: SchemaNode, value: Any, path: str, depth: int) -> Any:
        self._walk.step(node)
        if type(value) is str:
            if "string" in node.admits or self._fits(node, value):
                return value
            return self._from_string(node, value, path, depth)
        if type(value) is dict:
            value = self._object(node, cast(dict[str, Any], value), path, depth)
        elif type(value) is list:
            value = self._array(node, cast(list[Any], value), path, depth)
        for part in node.always:
            value = self._mend(part, value, path, depth)
        for branches in (node.any_of, node.one_of):
            if branches and not any(self._fits(branch, value) for branch in branches):
                value = self._branch(branches, value, path, depth)
        return value

    def _note(self, path: str, what: str) -> None:
        self._noted += 1
        if self._noted > MAX_REPAIRS:
            raise TooManyRepairs
        self.repairs.append(Repair(path, what))

    def _object(self, node: SchemaNode, value: dict[str, Any], path: str, depth: int) -> dict[str, Any]:
        out: dict[str, Any] = {}
        for key, item in value.items():
            below = join(path, key)
            child = next(iter(node.schemas_of(key)), None)
            if child is None:
                out[key] = item
            elif item is None and key in node.properties and key not in node.required and not self._fits(child, None):
                self._note(below, "treated null for an optional key as absent")
            else:
                out[key] = self._mend(child, item, below, depth + 1)
        return out

    def _array(self, node: SchemaNode, value: list[Any], path: str, depth: int) -> list[Any]:
        out: list[Any] = []
        for index, item in enumerate(value):
            child = node.prefix[index] if index < len(node.prefix) else node.items
            out.append(self._mend(child, item, f"{path}[{index}]", depth + 1) if child else item)
        return out

    def _branch(self, branches: tuple[SchemaNode, ...], value: Any, path: str, depth: int) -> Any:
        """Return the value repaired by an alternative of the schema. The value is unchanged unless all alternatives
        that match after a repair give the same result."""
        before, results = self.repairs, dict[str, tuple[Any, list[Repair]]]()
        for branch in branches:
            if kinds_of(value) & branch.admits:
                self.repairs = []
                mended = self._mend(branch, value, path, depth)
                if self._fits(branch, mended):
                    results[canonical(mended)] = (mended, self.repairs)
        self.repairs = before
        if len(results) != 1:
            return value
        ((mended, repairs),) = results.values()
        self.repairs += repairs
        return mended

    def _from_string(self, node: SchemaNode, text: str, path: str, depth: int) -> Any:
        wants = node.admits
        if "boolean" in wants and text in ("true", "false"):
            self._note(path, f"converted the string {text} to a boolean")
            return text == "true"
        if "integer" in wants and (number := self._number(node, text, path)) is not None:
            return number
        opening = text.lstrip(BLANK)[:1]
        kind = {"{": "object", "[": "array"}.get(opening, "")
        if kind not in wants:
            return text
        self._chars -= len(text)
        if self._chars < 0:
            self._hints[path] = f"more than {_MAX_INNER_CHARS} characters of JSON inside strings are not parsed"
            return text
        try:
            inner = parse(text, JSONLimits(depth=LIMITS.depth - depth))
        except JSONFault as fault:
            self._hints[path] = f"parsed as JSON: {fault.lines[0].partition(': ')[2]}"
            return text
        self._note(path, f"parsed the {kind} from a JSON string")
        return self._mend(node, inner, path, depth)

    def _number(self, node: SchemaNode, text: str, path: str) -> int | float | None:
        """Return a plain decimal as a number, or None if the number would lose digits."""
        # Imported here: most calls never need it.
        from decimal import Decimal

        if len(text) > 400 or not _DECIMAL.fullmatch(text):
            return None
        if "." in text and Decimal(text) != Decimal(repr(float(text))):
            self._hints[path] = "not converted, because the number would lose digits"
            return None
        number = cast(int | float, parse(text))
        if not kinds_of(number) & node.admits:
            return None
        self._note(path, f"converted the string {shown(text, 40)} to a number")
        return number
