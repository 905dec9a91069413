# pyright: basic, reportMissingImports=false
"""langgraph's prebuilt agent, on a chat model of langchain-core's interface."""

import asyncio
from collections.abc import Iterator
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import tool
from langgraph.prebuilt import create_react_agent

from benchmarks.scripts import DONE, FUNCTIONS, Steps, Wanted


def prepare(steps: Steps, *, streamed: bool = False) -> Any:
    """Its tools start when the message is whole, so a message that comes in pieces is one that comes late."""
    calls = [{"name": s.name, "args": dict(s.arguments), "id": s.id} for s in steps if isinstance(s, Wanted)]
    late = sum(step for step in steps if isinstance(step, float))
    answers = iter([(late, AIMessage(content="", tool_calls=calls)), (0.0, AIMessage(content=DONE))])
    return create_react_agent(_Scripted(answers=answers), [tool(function) for function in FUNCTIONS.values()])


async def run(agent: Any) -> int:
    state = await agent.ainvoke({"messages": [("user", "Go.")]})
    return sum(isinstance(message, ToolMessage) for message in state["messages"])


class _Scripted(BaseChatModel):
    answers: Iterator[Any]

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Any, **options: Any) -> "_Scripted":
        return self

    def _generate(self, *args: Any, **options: Any) -> ChatResult:
        raise NotImplementedError

    async def _agenerate(self, *args: Any, **options: Any) -> ChatResult:
        late, message = next(self.answers)
        await asyncio.sleep(late)
        return ChatResult(generations=[ChatGeneration(message=message)])
