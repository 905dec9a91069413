"""The outcome of reading the arguments a model wrote for one call.

Paths read like ``$.items[0].id``; ``$`` is the whole payload.
"""

from typing import Any, TypeAlias

from callgate.words.noun import noun

JSON: TypeAlias = "bool | int | float | str | list[JSON] | dict[str, JSON] | None"


@noun
class Repair:
    """One change that lost and invented nothing: where, and what was done."""

    path: str
    what: str


@noun
class Accepted:
    """The arguments fit the schema. Without repairs they are what the model wrote."""

    arguments: dict[str, Any]
    repairs: tuple[Repair, ...] = ()


@noun
class Rejected:
    """At least one line per fault, each naming the path, what came and what was wanted. Never empty."""

    errors: tuple[str, ...]
