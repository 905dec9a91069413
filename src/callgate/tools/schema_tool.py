"""The base class of tools that are written as classes with a JSON Schema."""

from collections.abc import Mapping
from typing import Any

from callgate.core.capabilities import ToolFacts
from callgate.core.ports import Run
from callgate.tools.arguments import Arguments
from callgate.words.calls import Accepted, Rejected
from callgate.words.changes import ChangeSet
from callgate.words.errors import ToolFailure
from callgate.words.model import ToolSpec


class SchemaTool:
    """A tool without aliases and without a preview. A subclass adds ``traits`` and ``run``.

    spec     the name, description and parameters for the model; the constructor raises SchemaError if they are invalid
    accepts  the schema that arguments must match, if it accepts more than the schema for the model
    """

    aliases: tuple[str, ...] = ()
    previews = False

    def __init__(self, spec: ToolSpec, facts: ToolFacts, accepts: Mapping[str, Any] | None = None) -> None:
        self.spec = spec
        self.facts = facts
        self._arguments = Arguments(spec.parameters if accepts is None else accepts)

    def __repr__(self) -> str:
        return f"<tool {self.spec.name}>"

    def read(self, raw: str | Mapping[str, Any]) -> Accepted | Rejected:
        return self._arguments.read(raw)

    async def preview(self, arguments: Mapping[str, Any], run: Run) -> ChangeSet:
        raise ToolFailure(f"{self.spec.name} has no preview")
