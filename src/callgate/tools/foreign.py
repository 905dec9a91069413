"""Converts tools of other frameworks by their attributes, without importing these frameworks."""

from collections.abc import Mapping
from typing import Any, Unpack, cast

from callgate.tools.parameters import trimmed
from callgate.tools.tool import CommonOptions, FunctionTool, schema_tool
from callgate.words.errors import ToolDefinitionError, ToolFailure


def from_langchain(tool: Any, **options: Unpack[CommonOptions]) -> FunctionTool[Any]:
    """Return a tool with the name, description and schema of a LangChain tool (``BaseTool``). ``options`` declare the
    traits, as for ``callgate.tool``. A sync tool runs in a worker thread, an async tool on the event loop. If it raises
    ``ToolException``, the call fails.

        Session(model, [from_langchain(search, effects="none")])
    """
    missing = [name for name in ("name", "description", "invoke", "ainvoke") if not hasattr(tool, name)]
    if missing:
        raise ToolDefinitionError(f"{tool!r} is not a LangChain tool: it has no {', '.join(missing)}")

    def call(arguments: dict[str, Any]) -> Any:
        try:
            return tool.invoke(arguments)
        except Exception as error:
            raise _failure(error) from error

    async def call_async(arguments: dict[str, Any]) -> Any:
        try:
            return await tool.ainvoke(arguments)
        except Exception as error:
            raise _failure(error) from error

    return schema_tool(tool.name, tool.description, _schema(tool), call_async if _is_async(tool) else call, **options)


def _schema(tool: Any) -> Mapping[str, Any]:
    """Return the JSON Schema without injected arguments, which a model must not set."""
    found: Any = getattr(tool, "tool_call_schema", None) or getattr(tool, "args_schema", None)
    schema = found.model_json_schema() if hasattr(found, "model_json_schema") else found
    if not isinstance(schema, Mapping):
        raise ToolDefinitionError(f"the LangChain tool {tool.name!r} has no schema: give it an args_schema")
    fields = cast(Mapping[str, Any], trimmed(dict(cast(Mapping[str, Any], schema))))
    return {key: value for key, value in fields.items() if key != "description"}


def _is_async(tool: Any) -> bool:
    """Return True if the tool defines its own async method: the default ``_arun`` of LangChain runs the sync function
    in a thread."""
    if getattr(tool, "coroutine", None) is not None:
        return True
    home = next((kind.__module__ for kind in type(tool).__mro__ if "_arun" in vars(kind)), "langchain_core")
    return home.partition(".")[0] != "langchain_core"


def _failure(error: Exception) -> Exception:
    named = any(kind.__name__ == "ToolException" for kind in type(error).__mro__)
    return ToolFailure(str(error)) if named else error
