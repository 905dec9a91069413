# pyright: basic, reportMissingImports=false
"""kosong's steps, on a provider that streams the script."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import kosong
from kosong.chat_provider.mock import MockChatProvider, MockStreamedMessage
from kosong.message import Message, TextPart, ToolCall, ToolCallPart
from kosong.tooling import CallableTool2, ToolOk, ToolReturnValue
from kosong.tooling.simple import SimpleToolset
from pydantic import BaseModel

from benchmarks.scripts import DONE, FUNCTIONS, Steps, Wanted

Prepared = tuple[list[Any], SimpleToolset]


def prepare(steps: Steps, *, streamed: bool = False) -> Prepared:
    parts: list[Any] = []
    for step in steps:
        if isinstance(step, Wanted):
            body = ToolCall.FunctionBody(name=step.name, arguments=None)
            parts += [ToolCall(id=step.id, function=body), ToolCallPart(arguments_part=step.text)]
        else:
            parts.append(TextPart(text=step) if isinstance(step, str) else step)
    return parts, SimpleToolset([_Noop(), _Wait()])


async def run(prepared: Prepared) -> int:
    parts, toolset = prepared
    history = [Message(role="user", content="Go.")]
    step = await kosong.step(_Provider(parts), "", toolset, history)
    results = await step.tool_results()
    history += [step.message, *(_as_message(result) for result in results)]
    await kosong.step(_Provider([TextPart(text=DONE)]), "", toolset, history)
    return sum(not result.return_value.is_error for result in results)


def _as_message(result: Any) -> Message:
    return Message(role="tool", content=result.return_value.output, tool_call_id=result.tool_call_id)


class _Stream(MockStreamedMessage):
    async def _to_stream(self, message_parts: list[Any]) -> AsyncIterator[Any]:
        for part in message_parts:
            if isinstance(part, float):
                await asyncio.sleep(part)
            else:
                yield part


class _Provider(MockChatProvider):
    async def generate(self, *args: Any) -> _Stream:
        return _Stream(self._message_parts)


class _NoopArguments(BaseModel):
    value: int


class _Noop(CallableTool2[_NoopArguments]):
    name: str = "noop"
    description: str = "Do nothing."
    params: type[_NoopArguments] = _NoopArguments

    async def __call__(self, params: _NoopArguments) -> ToolReturnValue:
        return ToolOk(output=await FUNCTIONS["noop"](**params.model_dump()))


class _WaitArguments(BaseModel):
    seconds: float
    number: int


class _Wait(CallableTool2[_WaitArguments]):
    name: str = "wait"
    description: str = "Do nothing for so long."
    params: type[_WaitArguments] = _WaitArguments

    async def __call__(self, params: _WaitArguments) -> ToolReturnValue:
        return ToolOk(output=await FUNCTIONS["wait"](**params.model_dump()))
