"""The known models: names, servers, facts and prices, from ``models.toml`` and the user's own file.

A model is named by ``provider/name``, by an alias, or by a bare name whose prefix determines the provider. A model
without a row gets default facts, from a matching pattern or from the server. ``FIELDS`` has the fields of a row.
"""

import tomllib
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import date
from difflib import get_close_matches
from fnmatch import fnmatchcase
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, cast

from callgate.host.files import read_regular
from callgate.providers.family import ModelFacts, Prices
from callgate.words.errors import UsageError
from callgate.words.late_pattern import late_pattern
from callgate.words.messages import Usage
from callgate.words.model import EFFORTS, Abilities, Effort
from callgate.words.noun import noun

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


_NUMBERS = {"context": "context_tokens", "output": "output_tokens", "thinking": "thinking"}
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
        **{field: row[key] for key, field in _NUMBERS.items() if key in row},
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


OWN_FILE = "models.toml"
_PLAIN = late_pattern(r"[*?\[]")
_DATED = late_pattern(r"[-@](\d{8}|\d{4}-\d{2}-\d{2})$")
_LARGEST = 1 << 20


@noun
class ModelName:
    """A model of a provider.

    name  the name of the model in the provider's API
    """

    provider: str
    name: str

    def __str__(self) -> str:
        return f"{self.provider}/{self.name}"


@noun
class ServerRow:
    """The configuration of a model server.

    key_variables  environment variables with the key; the first variable that is set is used
    local          True if the server needs no key
    quirks         the quirks of every model of the server
    """

    family: str
    base_url: str
    base_variable: str = ""
    key_variables: tuple[str, ...] = ()
    local: bool = False
    quirks: tuple[str, ...] = ()


class Catalogue:
    """The models of the shipped ``models.toml``, overridden by the user's file. Files are read at first use.

    folder   the folder with the user's file
    servers  a callback that gets the shipped servers and returns the configured servers
    today    the date that selects among prices with different start dates
    """

    def __init__(
        self,
        folder: Path | None = None,
        *,
        servers: Callable[[Mapping[str, ServerRow]], Mapping[str, ServerRow]] = dict,
        today: date | None = None,
    ) -> None:
        self._folder = folder
        self._configure = servers
        self._today = today or date.today()
        self._prices: dict[str, Prices | None] = {}

    @cached_property
    def _shipped(self) -> Table:
        return tomllib.loads(Path(__file__).with_name("models.toml").read_text(encoding="utf-8"))

    @cached_property
    def _user_rows(self) -> Table:
        if self._folder is None:
            return {}
        file = self._folder / OWN_FILE
        try:
            found = read_regular(file, _LARGEST)
            if found.is_cut:
                raise ValueError("it is too large")
            tables = tomllib.loads(found.data.decode())
        except FileNotFoundError:
            return {}
        except (OSError, ValueError) as error:
            why = error.strerror if isinstance(error, OSError) and error.strerror else error
            raise UsageError(f"{file} cannot be read: {why}") from None
        if set(tables) - {"models"}:
            raise UsageError(
                f'{file} must contain only models, each as [models."name"]; {sorted(tables)[0]!r} is not known'
            )
        rows = tables.get("models", {})
        if not isinstance(rows, dict):
            raise UsageError(f'{file}: write each model as a table [models."name"]')
        return {name: check_row(row, f"{file}, {name}") for name, row in cast(dict[str, Any], rows).items()}

    @cached_property
    def servers(self) -> Mapping[str, ServerRow]:
        return self._configure(self.vendors)

    @cached_property
    def vendors(self) -> Mapping[str, ServerRow]:
        """The servers of the shipped ``models.toml`` by name."""
        shipped: dict[str, ServerRow] = {}
        for name, row in self._shipped["providers"].items():
            lists: dict[str, Any] = {field: tuple(row.get(field, ())) for field in ("key_variables", "quirks")}
            shipped[name] = ServerRow(**{**row, **lists})
        return shipped

    @property
    def defaults(self) -> Mapping[str, tuple[str, str]]:
        """The default model and the cheap model of each vendor. The order of the vendors is the order in which keys
        are searched."""
        return {name: (row[0], row[1]) for name, row in self._shipped["defaults"].items()}

    @property
    def names(self) -> tuple[str, ...]:
        return (*self._user_rows, *(name for name in self._shipped["models"] if name not in self._user_rows))

    def resolve(self, text: str) -> ModelName:
        """Return the model with this name. Raise UsageError, with the closest match, if there is none."""
        wanted = self._shipped["aliases"].get(text.strip(), text.strip())
        provider, slash, name = wanted.partition("/")
        if slash and name and provider in self.servers:
            return ModelName(provider, self._shipped["aliases"].get(name, name))
        if slash and provider in self.servers:
            raise UsageError(f"{text!r} names no model: write {provider}/NAME")
        if slash:
            raise UsageError(f"there is no provider {provider!r}: {self._hint(provider, self.servers, 'known are')}")
        own = [key for key in self._user_rows if key.partition("/")[2] == wanted]
        if len(own) == 1:
            return self.resolve(own[0])
        for beginning, provider in self._shipped["names"].items():
            if wanted.startswith(beginning):
                return ModelName(provider, wanted)
        known = (*self.names, *self._shipped["aliases"])
        ways = "write provider/name, such as ollama/qwen3 or"
        raise UsageError(f"there is no model {text!r}: {self._hint(wanted, known, ways, 'anthropic/claude-opus-5-5')}")

    def facts(self, model: ModelName) -> ModelFacts:
        """Return the facts of a model. The field ``known`` is False if the facts are defaults."""
        server = self.servers[model.provider]
        rows: Table = self._shipped["models"]
        shipped = rows.get(model.name) or rows.get(_DATED.sub("", model.name))
        own = self._user_row(model)
        assumed = {"like": self._pattern(model.name, local=server.local)} if shipped is None else shipped
        row = {**self._with_group(assumed), **self._with_group(own or {})}
        row["quirks"] = [*row.get("quirks", ()), *server.quirks]
        is_known = shipped is not None or own is not None
        return facts_of(model.name, server.family, row, self._today, known=is_known)

    def sets_context(self, model: ModelName) -> bool:
        """Return True if the user set the context window of the model."""
        return "context" in self._with_group(self._user_row(model) or {})

    def _user_row(self, model: ModelName) -> Table | None:
        plain = _DATED.sub("", model.name)
        rows = self._user_rows
        return rows.get(str(model)) or rows.get(model.name) or rows.get(f"{model.provider}/{plain}")

    def unknown_model_notice(self, model: ModelName, facts: ModelFacts) -> str:
        """Return the notice for a model without a row. It lists the default facts in use, and the file in which the
        user can correct them."""
        near = get_close_matches(model.name, self.names, 1, cutoff=0.8)
        meant = f" Did you mean {near[0]}?" if near else ""
        if self.servers[model.provider].local:
            return (
                f"{model}: the context window of {facts.context_tokens:,} tokens is"
                f" {facts.abilities.context_from or 'assumed'}. Set `context` in {OWN_FILE} beside your settings."
            )
        return (
            f"Unknown model: {model}.{meant} Assumed: {facts.context_tokens:,} tokens of context, "
            f"{facts.output_tokens:,} of output, no price. Set the correct numbers in {OWN_FILE} beside your settings."
        )

    def price(self, model: str, usage: Usage) -> float | None:
        """Return the cost of one request in dollars; None if the price is unknown.

        model  ``provider/name``, or the ``family/name`` of an answer
        """
        if model not in self._prices:
            try:
                self._prices[model] = self.facts(self.resolve(model)).prices
            except UsageError:
                self._prices[model] = None
        prices = self._prices[model]
        return None if prices is None else prices.cost(usage)

    def _with_group(self, row: Table) -> Table:
        if "like" not in row:
            return row
        groups: Table = self._shipped["groups"]
        if row["like"] not in groups:
            raise UsageError(f"like = {row['like']!r} is no group: {self._hint(row['like'], groups, 'known are')}")
        return {**self._with_group(groups[row["like"]]), **row}

    def _pattern(self, name: str, *, local: bool) -> str:
        patterns: Mapping[str, str] = self._shipped["patterns"]
        begun = [pattern for pattern in patterns if name.startswith(_PLAIN.split(pattern, 1)[0])]
        fitting = [pattern for pattern in begun if fnmatchcase(name, pattern)]
        return patterns[max(fitting, key=len)] if fitting else "local" if local else "any"

    @staticmethod
    def _hint(text: str, known: Mapping[str, Any] | tuple[str, ...], otherwise: str, example: str = "") -> str:
        near = get_close_matches(text, list(known), 1)
        return f"did you mean {near[0]}?" if near else f"{otherwise} {example or ', '.join(sorted(known))}"
