"""The outcome of validating the arguments of a call.

Paths have the form ``$.items[0].id``; ``$`` is the whole object.
"""

from typing import Any, TypeAlias

from callgate.words.noun import noun

JSON: TypeAlias = "bool | int | float | str | list[JSON] | dict[str, JSON] | None"


@noun
class Repair:
    """A repair of an argument that preserves its information. ``what`` describes the change at ``path``."""

    path: str
    what: str


@noun
class Accepted:
    """Arguments that match the schema, and the repairs that were made."""

    arguments: dict[str, Any]
    repairs: tuple[Repair, ...] = ()


@noun
class Rejected:
    """The faults of invalid arguments. Each fault has at least one line with the path, the value and the expected
    value."""

    errors: tuple[str, ...]
