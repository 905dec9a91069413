"""Tools that come and go while a session runs, and what a model is told of them."""

from collections.abc import Mapping, Sequence
from typing import Any

from callgate.core.ports import Target, Tool, Unknown
from callgate.testing import ScriptedModel
from callgate.tools.tool import schema_tool
from callgate.tools.toolbox import unknown
from callgate.words.messages import Message
from callgate.words.model import Request


class Changing:
    """A source whose tools change, as that of MCP servers does."""

    def __init__(self, *tools: Tool) -> None:
        self.found: list[Tool] = [*tools]

    def tools(self) -> Sequence[Tool]:
        return tuple(self.found)

    def resolve(self, name: str, raw: str | Mapping[str, Any]) -> Target | Unknown:
        tool = next((each for each in self.found if each.spec.name == name), None)
        return unknown(name, self.tools) if tool is None else Target(tool, raw)

    def add(self, *tools: Tool) -> None:
        self.found += tools

    def drop(self, *names: str) -> None:
        self.found = [each for each in self.found if each.spec.name not in names]


def server_tool(name: str, description: str = "Does something.", **options: Any) -> Tool:
    """A tool as one of the MCP server ``hub``."""
    parameters = {
        "type": "object",
        "properties": {"text": {"type": "string"}, "count": {"type": "integer"}},
        "required": ["text"],
        "additionalProperties": False,
    }

    def body(arguments: Mapping[str, Any]) -> str:
        return f"{name} of {dict(arguments)}"

    traits: dict[str, Any] = {"effects": "none", "server": "hub", **options}
    return schema_tool(f"mcp__hub__{name}", description, parameters, body, **traits)


def reminders(request: Request) -> list[str]:
    """The messages of a request that no person wrote."""
    return [message.text for message in request.messages if is_reminder(message)]


def is_reminder(message: Message) -> bool:
    return message.role == "user" and message.text.startswith("<system-reminder>")


def names(model: ScriptedModel) -> list[list[str]]:
    """The names of the tools in each request."""
    return [[spec.name for spec in request.tools] for request in model.requests]
