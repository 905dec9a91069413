"""Validates rows of ``models.toml`` and converts them to ModelFacts."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import date
from typing import Any, Literal, cast

from callgate.providers.family import ModelFacts, Prices
from callgate.words.errors import UsageError
from callgate.words.model import EFFORTS, Abilities, Effort

Table = Mapping[str, Any]
_KINDS = frozenset({"auto", "required", "named", "none"})
_PRICES = ("input", "output", "cache_read", "cache_write")


def _is_count(value: object) -> bool:
    return type(value) is int and value > 0


def _is_flag(value: object) -> bool:
    return type(value) is bool


def _is_dollars(value: object) -> bool:
    return type(value) in (int, float) and cast(float, value) >= 0


def _are_texts(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(each, str) for each in cast(list[object], value))


def _are_efforts(value: object) -> bool:
    return isinstance(value, list | dict) and all(each in EFFORTS for each in cast(list[object], value))


def _are_limits(value: object) -> bool:
    known = ("pixels", "bytes", "most", "all_bytes")
    return isinstance(value, dict) and all(
        name in known and _is_count(each) for name, each in cast(dict[str, object], value).items()
    )


def _are_prices(value: object) -> bool:
    if isinstance(value, list):
        listed = cast(list[object], value)
        return bool(listed) and all(_are_prices(each) for each in listed)
    if not isinstance(value, dict) or not {"input", "output"} <= value.keys():
        return False
    table = cast(dict[str, object], value)
    if not all(_is_dollars(table[name]) for name in _PRICES if name in table):
        return False
    fits: dict[str, Callable[[object], bool]] = {
        "over": _is_count,
        "above": _are_prices,
        "from": lambda each: type(each) is date,
    }
    rest = {name: each for name, each in table.items() if name not in _PRICES}
    return ("over" in rest) == ("above" in rest) and all(
        name in fits and fits[name](each) for name, each in rest.items()
    )


FIELDS: dict[str, tuple[Callable[[Any], bool], str]] = {
    "like": (lambda value: isinstance(value, str), "the name of a group"),
    "context": (_is_count, "a number of tokens"),
    "output": (_is_count, "a number of tokens"),
    "prices": (_are_prices, "a table with input and output, in dollars for a million tokens"),
    "efforts": (_are_efforts, f"a list of levels ({', '.join(EFFORTS)}) or a table of levels and values"),
    "effort": (lambda value: value in EFFORTS, f"one of {', '.join(EFFORTS)}"),
    "thinking": (lambda value: value in ("none", "always", "budget", "adaptive"), "none, always, budget or adaptive"),
    "force": (lambda value: _are_texts(value) and set(value) <= _KINDS, f"a list of {', '.join(sorted(_KINDS))}"),
    "caches": (_is_flag, "true or false"),
    "structured": (_is_flag, "true or false"),
    "deferred": (_is_flag, "true or false"),
    "vision": (_is_flag, "true or false"),
    "images": (_are_limits, "a table with pixels, bytes, most and all_bytes"),
    "quirks": (_are_texts, "a list of texts"),
}
"""Every field of a row of ``models.toml``: the test of its value, and the description of a valid one."""


def check_row(row: object, place: str) -> Table:
    """Validate the fields of a row against FIELDS and return the row. Raise UsageError, with the place of the row,
    if a field is invalid."""
    if not isinstance(row, dict):
        raise UsageError(f"{place} must be a table, such as {{ context = 32768, output = 4096 }}")
    for name, value in cast(dict[str, object], row).items():
        if name not in FIELDS:
            raise UsageError(f"{place} has an unknown field {name!r}: known are {', '.join(FIELDS)}")
        fits, expected = FIELDS[name]
        if not fits(value):
            raise UsageError(f"{place}: {name} must be {expected}, not {value!r}")
    return cast(Table, row)


_PLAIN = {"context": "context_tokens", "output": "output_tokens", "thinking": "thinking"}
_IMAGES = {"pixels": "image_pixels", "bytes": "image_bytes", "most": "images_at_most", "all_bytes": "images_bytes"}


def facts_of(name: str, family: str, row: Table, today: date, *, known: bool) -> ModelFacts:
    """Return the facts of a row that already contains the fields of its groups."""
    levels = row.get("efforts", ())
    given = cast(Table, levels) if isinstance(levels, dict) else {level: level for level in levels}
    efforts: dict[Effort, Any] = {level: given[level] for level in EFFORTS if level in given}
    images = row.get("images", {})
    facts = ModelFacts(
        name=name,
        family=family,
        prices=_prices(row.get("prices"), today),
        efforts=efforts or None,
        effort=row.get("effort") if efforts else None,
        quirks=frozenset(row.get("quirks", ())),
        known=known,
        **{field: row[key] for key, field in _PLAIN.items() if key in row},
        **{field: images[key] for key, field in _IMAGES.items() if key in images},
    )
    abilities = Abilities(
        force=frozenset(row.get("force", _KINDS)),
        caches=row.get("caches", False),
        context_tokens=facts.context_tokens,
        output_tokens=facts.output_tokens,
        images=row.get("vision", True),
        structured=row.get("structured", False),
        deferred=row.get("deferred", False) and "no_deferred" not in facts.quirks,
        efforts=tuple(efforts),
        written_calls=_written_calls(facts),
    )
    return replace(facts, abilities=abilities)


def _written_calls(facts: ModelFacts) -> Literal["known", "possible", "never"]:
    if "text_calls" in facts.quirks:
        return "known"
    own_api = facts.known and facts.family != "openai-chat"
    return "never" if own_api or "no_text_calls" in facts.quirks else "possible"


def _prices(written: Table | list[Table] | None, today: date) -> Prices | None:
    if written is None:
        return None
    if isinstance(written, list):
        begun = [table for table in written if table.get("from", date.min) <= today]
        return _prices(max(begun, key=lambda table: table.get("from", date.min)), today) if begun else None
    # A missing cache price defaults to the input price, which is an overestimate.
    dollars = {name: float(written.get(name, written["input"])) for name in _PRICES}
    return Prices(**dollars, over=written.get("over", 0), above=_prices(written.get("above"), today))
