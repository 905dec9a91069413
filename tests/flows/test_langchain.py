"""LangChain tools in one line each: by their shape here, and with the real package where it is installed."""

from collections.abc import Callable
from threading import get_ident
from typing import Any

import pytest
from pydantic import BaseModel

from callgate import Session, ToolFailure, from_langchain
from callgate.testing import PlainRun, ScriptedModel, call, say, turn
from callgate.words.calls import Accepted
from callgate.words.errors import ToolDefinitionError


class Query(BaseModel):
    """Searches the catalogue."""

    text: str
    limit: int = 3


class ToolException(Exception):
    pass


class Shaped:
    """Has what callers of ``langchain_core.tools.StructuredTool`` use."""

    name = "search"
    description = "Searches the catalogue."
    tool_call_schema: Any = Query

    def __init__(self, func: Callable[..., Any] | None = None, coroutine: Callable[..., Any] | None = None) -> None:
        self.func = func
        self.coroutine = coroutine

    def invoke(self, given: dict[str, Any]) -> Any:
        assert self.func is not None
        return self.func(**given)

    async def ainvoke(self, given: dict[str, Any]) -> Any:
        assert self.coroutine is not None
        return await self.coroutine(**given)


async def test_a_tool_keeps_its_name_description_and_schema_and_gets_the_traits_given() -> None:
    made = from_langchain(Shaped(lambda text, limit=3: f"{text} {limit}"), effects="none")
    assert (made.spec.name, made.spec.description) == ("search", "Searches the catalogue.")
    assert made.spec.parameters["properties"] == {
        "text": {"type": "string"},
        "limit": {"type": "integer", "default": 3},
    }
    assert made.traits({"text": "a"}).effects == "none"
    assert isinstance(made.read('{"text": "a"}'), Accepted)
    assert (await made.run({"text": "a"}, PlainRun())).text == "a 3"


async def test_a_sync_tool_runs_in_a_worker_thread_and_an_async_one_on_the_loop() -> None:
    async def on_the_loop(text: str) -> bool:
        return get_ident() == home

    home = get_ident()
    in_thread = from_langchain(Shaped(lambda text: get_ident() != home))
    assert (await in_thread.run({"text": ""}, PlainRun())).text == "true"
    assert (await from_langchain(Shaped(coroutine=on_the_loop)).run({"text": ""}, PlainRun())).text == "true"


async def test_a_tool_exception_is_the_failure_of_the_call_in_the_tools_own_words() -> None:
    def refuse(text: str) -> str:
        raise ToolException("no such catalogue")

    with pytest.raises(ToolFailure, match="no such catalogue"):
        await from_langchain(Shaped(refuse)).run({"text": ""}, PlainRun())


def test_something_else_is_refused_with_what_it_lacks() -> None:
    with pytest.raises(
        ToolDefinitionError, match="is not a LangChain tool: it has no name, description, invoke, ainvoke"
    ):
        from_langchain(object())
    bare = Shaped(lambda: "")
    bare.tool_call_schema = None
    with pytest.raises(ToolDefinitionError, match="has no schema: give it an args_schema"):
        from_langchain(bare)


async def test_tools_of_the_real_package_work_in_a_session() -> None:
    tools: Any = pytest.importorskip("langchain_core.tools")
    home = get_ident()

    def add(a: int, b: int = 2) -> str:
        """Adds."""
        return f"{a + b} {get_ident() == home}"

    async def double(a: int) -> str:
        """Doubles."""
        return f"{2 * a} {get_ident() == home}"

    made = [from_langchain(tools.tool(each), effects="none") for each in (add, double)]
    model = ScriptedModel(turn(call("add", a=1), call("double", a=4)), turn(say("done")))
    async with Session(model, made) as session:
        await session.run("go")
        results = session.messages[-2].parts
    assert [part.content[0].text for part in results] == ["3 False", "8 True"]  # pyright: ignore
