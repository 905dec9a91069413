"""Repairs argument values that do not match the schema, if only one correction is possible.

Values sent as strings and nulls sent for absent values are repaired.
"""

from typing import Any, cast

from callgate.tools.jsonschema import Schema
from callgate.tools.schema_node import SchemaNode, kinds_of
from callgate.tools.schema_rules import canonical
from callgate.tools.schema_walk import SchemaWalk
from callgate.tools.strict_json import BLANK, LIMITS, JSONFault, JSONLimits, join, parse, shown
from callgate.words.calls import Repair
from callgate.words.late_pattern import late_pattern

_DECIMAL = late_pattern(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?")
# JSON inside strings is parsed again, so its total length has a limit of its own.
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
