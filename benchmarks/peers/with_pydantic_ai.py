# pyright: basic, reportMissingImports=false
"""pydantic-ai, on its FunctionModel."""

import asyncio
from collections.abc import AsyncIterable, AsyncIterator
from typing import Any

from pydantic_ai import Agent
from pydantic_ai.messages import ModelRequest, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import DeltaToolCall, FunctionModel

from benchmarks.scripts import DONE, FUNCTIONS, Steps, Wanted

Prepared = tuple[Agent, bool]


def prepare(steps: Steps, *, streamed: bool = False) -> Prepared:
    whole = ModelResponse(
        parts=[ToolCallPart(s.name, s.text, tool_call_id=s.id) for s in steps if isinstance(s, Wanted)]
    )
    done = ModelResponse(parts=[TextPart(DONE)])

    def answer(messages: list[Any], info: Any) -> ModelResponse:
        return whole if len(messages) == 1 else done

    async def stream(messages: list[Any], info: Any) -> AsyncIterator[str | dict[int, DeltaToolCall]]:
        if len(messages) > 1:
            yield DONE
            return
        for index, step in enumerate(steps):
            if isinstance(step, Wanted):
                yield {index: DeltaToolCall(step.name, step.text, tool_call_id=step.id)}
            elif isinstance(step, str):
                yield step
            else:
                await asyncio.sleep(step)

    model = FunctionModel(answer, stream_function=stream)
    return Agent(model, tools=list(FUNCTIONS.values())), streamed


async def run(prepared: Prepared) -> int:
    agent, streamed = prepared
    result = await agent.run("Go.", event_stream_handler=_listener if streamed else None)
    parts = [part for message in result.all_messages() if isinstance(message, ModelRequest) for part in message.parts]
    return sum(isinstance(part, ToolReturnPart) for part in parts)


async def _listener(context: Any, events: AsyncIterable[Any]) -> None:
    async for _ in events:
        pass
