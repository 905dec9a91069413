# pyright: basic, reportMissingImports=false
"""openai-agents, on a Model of its own interface."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

from agents import Agent, Model, ModelResponse, RunConfig, Runner, Usage, function_tool
from agents.items import ToolCallOutputItem
from openai.types.responses import (
    Response,
    ResponseCompletedEvent,
    ResponseFunctionToolCall,
    ResponseOutputItemDoneEvent,
    ResponseOutputMessage,
    ResponseOutputText,
)

from benchmarks.scripts import DONE, FUNCTIONS, Steps, Wanted

Prepared = tuple[Agent, bool]
QUIET = RunConfig(tracing_disabled=True)


def prepare(steps: Steps, *, streamed: bool = False) -> Prepared:
    tools = [function_tool(function) for function in FUNCTIONS.values()]
    return Agent(name="bench", model=_Scripted(steps), tools=tools), streamed


async def run(prepared: Prepared) -> int:
    agent, streamed = prepared
    if streamed:
        result = Runner.run_streamed(agent, "Go.", run_config=QUIET)
        async for _ in result.stream_events():
            pass
    else:
        result = await Runner.run(agent, "Go.", run_config=QUIET)
    return sum(isinstance(item, ToolCallOutputItem) for item in result.new_items)


class _Scripted(Model):
    def __init__(self, steps: Steps) -> None:
        self._steps = steps
        self._calls = {step.id: _call(step) for step in steps if isinstance(step, Wanted)}
        self._asked = 0

    async def get_response(self, *args: Any, **options: Any) -> ModelResponse:
        return ModelResponse(output=self._output(), usage=Usage(), response_id=None)

    async def stream_response(self, *args: Any, **options: Any) -> AsyncIterator[Any]:
        output = self._output()
        if self._asked == 1:
            at = 0
            for step in self._steps:
                if isinstance(step, Wanted):
                    item = self._calls[step.id]
                    kind = "response.output_item.done"
                    yield ResponseOutputItemDoneEvent(item=item, output_index=at, sequence_number=at, type=kind)
                    at += 1
                elif isinstance(step, float):
                    await asyncio.sleep(step)
        response = Response(
            id="response",
            created_at=0,
            model="scripted",
            object="response",
            output=output,
            tool_choice="auto",
            tools=[],
            parallel_tool_calls=True,
        )
        yield ResponseCompletedEvent(response=response, sequence_number=len(output), type="response.completed")

    def _output(self) -> list[Any]:
        self._asked += 1
        return list(self._calls.values()) if self._asked == 1 else [_said()]


def _call(step: Wanted) -> ResponseFunctionToolCall:
    return ResponseFunctionToolCall(arguments=step.text, call_id=step.id, name=step.name, type="function_call")


def _said() -> ResponseOutputMessage:
    text = ResponseOutputText(annotations=[], text=DONE, type="output_text")
    return ResponseOutputMessage(id="message", content=[text], role="assistant", status="completed", type="message")
