"""The outcome of validating the arguments of a call.

Paths look like ``$.items[0].id``; ``$`` is the whole object.
"""

from typing import Any, TypeAlias

from callgate.words.noun import noun

JSON: TypeAlias = "bool | int | float | str | list[JSON] | dict[str, JSON] | None"


@noun
class Repair:
    """A repair of the arguments that lost and added nothing. ``what`` describes the change at ``path``."""

    path: str
    what: str


@noun
class Accepted:
    """Arguments that fit the schema, and the repairs that were needed."""

    arguments: dict[str, Any]
    repairs: tuple[Repair, ...] = ()


@noun
class Rejected:
    """One line or more for each fault, with the path, the value and what was expected. Never empty."""

    errors: tuple[str, ...]
