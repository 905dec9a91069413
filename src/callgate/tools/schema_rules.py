"""Checks the keywords of one schema, and converts the conditions on the value itself to rules."""

import json
from collections.abc import Callable, Mapping
from functools import partial
from math import isfinite
from operator import ge, gt, le, lt
from typing import Any, cast

from callgate.tools.schema_node import KINDS, Test, TextPattern, ValueRule, compile_pattern, quote
from callgate.words.errors import ToolDefinitionError
from callgate.words.noun import noun

_UNSUPPORTED = ("$dynamicRef", "$recursiveRef", "unevaluatedItems", "extends", "disallow", "divisibleBy")

_NUMBERS = (int, float)
_BOUNDS: Mapping[str, tuple[Callable[[Any, Any], bool], str]] = {
    "minimum": (le, "at least"),  # the bound comes first: le(minimum, value)
    "exclusiveMinimum": (lt, "more than"),
    "maximum": (ge, "at most"),
    "exclusiveMaximum": (gt, "less than"),
}


class SchemaError(ToolDefinitionError, ValueError):
    """A schema is invalid or uses an unsupported keyword. The message contains the path of the schema."""


@noun
class SchemaPath:
    """The place of a subschema, as a JSON pointer.

    judging  False inside ``not``, ``if`` and ``contains``, where rejecting unknown keys would change the result
    """

    at: str = "#"
    depth: int = 0
    judging: bool = True

    def below(self, *tokens: str | int, asking: bool = False) -> "SchemaPath":
        at = "/".join([self.at, *(str(token).replace("~", "~0").replace("/", "~1") for token in tokens)])
        return SchemaPath(at, self.depth + 1, self.judging and not asking)

    def error(self, text: str) -> SchemaError:
        return SchemaError(f"{self.at if len(self.at) < 300 else self.at[:300] + '…'}: {text}")


def in_new_spelling(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the schema with keywords of older versions replaced by keywords of 2020-12."""
    out = dict(schema)
    if isinstance(schema.get("items"), list):
        out |= {"prefixItems": schema["items"], "items": schema.get("additionalItems", True)}
    for bound, flag in (("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum")):
        if schema.get(flag) is True:
            out[flag] = out.pop(bound, None)
    old = schema.get("dependencies")
    if isinstance(old, Mapping):
        needs = cast(Mapping[str, Any], old).items()
        out["dependentRequired"] = {**out.get("dependentRequired", {}), **{k: v for k, v in needs if type(v) is list}}
        out["dependentSchemas"] = {**out.get("dependentSchemas", {}), **{k: v for k, v in needs if type(v) is not list}}
    return out


@noun
class Keywords:
    """Checks and returns the keywords of one schema. The methods raise ``SchemaError`` for a keyword of the wrong
    type."""

    schema: Mapping[str, Any]
    place: SchemaPath

    def refuse_unsupported(self) -> None:
        for keyword in _UNSUPPORTED:
            if self.schema.get(keyword, True) is not True:
                raise self.place.error(f"{keyword} is not supported")
        if self.place.depth and not str(self.schema.get("$id", "#")).startswith("#"):
            raise self.place.error("a $id inside the schema is not supported")
        if self.schema.get("unevaluatedProperties", False) not in (True, False):
            raise self.place.error("unevaluatedProperties is supported as true or false only")

    def kinds(self) -> tuple[str, ...]:
        given = self.schema.get("type")
        if given is None and "type" not in self.schema:
            return ()
        kinds: list[Any] = cast(list[Any], given) if isinstance(given, list) else [given]
        if not kinds or not all(isinstance(kind, str) and kind in KINDS for kind in kinds):
            raise self.place.error(f"type must be one of {', '.join(KINDS)} or a list of them, got {quote(given)}")
        return tuple(dict.fromkeys(kinds))

    def choices(self) -> tuple[Any, ...] | None:
        if "const" in self.schema:
            return (self.schema["const"],)
        given = self.schema.get("enum")
        if given is None:
            return None
        if not isinstance(given, list):
            raise self.place.error(f"enum must be a list, got {quote(given)}")
        return tuple(cast(list[Any], given))

    def mapping(self, keyword: str) -> Mapping[str, Any]:
        given = self.schema.get(keyword, {})
        if not isinstance(given, Mapping) or not all(isinstance(key, str) for key in cast(Mapping[Any, Any], given)):
            raise self.place.error(f"{keyword} must be an object, got {quote(given)}")
        return cast(Mapping[str, Any], given)

    def strings(self, keyword: str, given: Any = None) -> tuple[str, ...]:
        given = self.schema.get(keyword, []) if given is None else given
        if not isinstance(given, list) or not all(isinstance(item, str) for item in cast(list[Any], given)):
            raise self.place.error(f"{keyword} must be a list of names, got {quote(given)}")
        return tuple(cast(list[str], given))

    def schemas(self, keyword: str) -> list[Any]:
        given = self.schema.get(keyword)
        if given is None:
            return []
        if not isinstance(given, list) or not (given or keyword == "prefixItems"):
            raise self.place.error(f"{keyword} must be a list of schemas, got {quote(given)}")
        return cast(list[Any], given)

    def count(self, keyword: str) -> int | None:
        given = self.number(keyword)
        if given is None:
            return None
        if given < 0 or given != int(given):
            raise self.place.error(f"{keyword} must be a whole number from 0 on, got {quote(given)}")
        return int(given)

    def number(self, keyword: str) -> int | float | None:
        given = self.schema.get(keyword)
        if given is None or isinstance(given, bool):
            return None
        if not isinstance(given, int | float) or not isfinite(given):
            raise self.place.error(f"{keyword} must be a number, got {quote(given)}")
        return given

    def rules(self) -> list[ValueRule]:
        return [*self._number_rules(), *self._size_rules(), *self._text_and_key_rules()]

    def _number_rules(self) -> list[ValueRule]:
        rules: list[ValueRule] = []
        for keyword, (holds, words) in _BOUNDS.items():
            if (bound := self.number(keyword)) is not None:
                rules.append(ValueRule(partial(holds, bound), f"{words} {bound}", _NUMBERS))
        if (step := self.number("multipleOf")) is not None:
            if step <= 0:
                raise self.place.error(f"multipleOf must be a number above 0, got {quote(step)}")
            rules.append(ValueRule(_multiple(step), f"a multiple of {step}", _NUMBERS))
        return rules

    def _size_rules(self) -> list[ValueRule]:
        rules: list[ValueRule] = []
        for suffix, kind, unit in (
            ("Length", str, "characters"),
            ("Items", list, "items"),
            ("Properties", dict, "keys"),
        ):
            if (least := self.count(f"min{suffix}")) is not None:
                rules.append(_size(kind, unit, ge, least, f"at least {least}"))
            if (most := self.count(f"max{suffix}")) is not None:
                rules.append(_size(kind, unit, le, most, f"at most {most}"))
        if self.schema.get("uniqueItems") is True:
            rules.append(ValueRule(_all_different, "an array without equal items", (list,)))
        return rules

    def _text_and_key_rules(self) -> list[ValueRule]:
        rules: list[ValueRule] = []
        if "pattern" in self.schema:
            pattern = self.pattern(self.schema["pattern"], "pattern")
            text = quote(pattern.source)
            rules.append(ValueRule(pattern.fits, f"a string matching {text}", (str,)))
            if (most := pattern.longest) is not None:
                limit = f"at most {most} (the pattern {text} cannot be checked safely on longer text)"
                rules.append(_size(str, "characters", le, most, limit))
        for key, given in self.mapping("dependentRequired").items():
            needed = self.strings("dependentRequired", given)
            words = f"{', '.join(map(quote, needed))} as well, because {quote(key)} is present"
            rules.append(ValueRule(partial(_has_needed, key, needed), words, (dict,)))
        return rules

    def pattern(self, given: Any, keyword: str) -> TextPattern:
        if not isinstance(given, str):
            raise self.place.error(f"{keyword} must be a string, got {quote(given)}")
        try:
            return compile_pattern(given)
        except ValueError as error:
            raise self.place.error(f"{keyword} {quote(given)} is not a supported regular expression: {error}") from None


def choice_rule(choices: tuple[Any, ...], wanted: str) -> ValueRule:
    if all(type(choice) is str for choice in choices):
        words = frozenset(cast(tuple[str, ...], choices))
        return ValueRule(lambda value: type(value) is str and value in words, wanted)
    known = frozenset(map(canonical, choices))
    return ValueRule(lambda value: canonical(value) in known, wanted)


def canonical(value: Any) -> str:
    """Return a text that is equal for equal JSON values. A hash is not used, because hash collisions of numbers can be
    constructed."""
    if type(value) is dict:
        pairs = cast(dict[str, Any], value).items()
        return "{" + ",".join(sorted(f"{json.dumps(key)}:{canonical(item)}" for key, item in pairs)) + "}"
    if type(value) is list:
        return "[" + ",".join(map(canonical, cast(list[Any], value))) + "]"
    if type(value) is float and value.is_integer():
        value = int(value)
    return hex(value) if type(value) is int else json.dumps(value)


def _multiple(step: int | float) -> Test:
    if isinstance(step, int) or step.is_integer():
        whole = int(step)
        return lambda value: value % whole == 0
    # Imported here: it brings decimal along, for the rare step with a fraction.
    from fractions import Fraction

    exact = Fraction(repr(step))
    return lambda value: (Fraction(repr(value)) / exact).denominator == 1


def _size(kind: type, unit: str, holds: Callable[[Any, Any], bool], bound: int, wanted: str) -> ValueRule:
    return ValueRule(lambda value: holds(len(value), bound), wanted, (kind,), lambda value: f"{len(value)} {unit}")


def _all_different(value: list[Any]) -> bool:
    return len(set(map(canonical, value))) == len(value)


def _has_needed(key: str, needed: tuple[str, ...], value: dict[str, Any]) -> bool:
    return key not in value or all(name in value for name in needed)
