"""The yardstick: the least a person would write by hand.

It reads the same events, parses the arguments, starts a task a call and gathers the results. No validation, decision,
record, limit or cancel.
"""

import asyncio
import json
from collections.abc import Callable, Coroutine, Mapping
from typing import Any

from callgate.conversation.ports import Model
from callgate.words.model import ArgumentsDelta, PartEnded, PartStarted, Request

Function = Callable[..., Coroutine[Any, Any, str]]


async def by_hand(model: Model, functions: Mapping[str, Function]) -> list[str]:
    """Ask the model and run its calls until it asks for none; gives all results."""
    everything: list[str] = []
    while results := await one_message(model, functions):
        everything += results.values()
    return everything


async def one_message(model: Model, functions: Mapping[str, Function]) -> dict[str, str]:
    """One message and the results of its calls by their ids."""
    names: dict[int, tuple[str, str]] = {}
    texts: dict[int, list[str]] = {}
    tasks: dict[str, asyncio.Task[str]] = {}
    async for event in model.stream(Request("", ())):
        if isinstance(event, ArgumentsDelta):
            texts[event.index].append(event.text)
        elif isinstance(event, PartStarted):
            if event.kind == "tool_call":
                names[event.index] = (event.id, event.name)
                texts[event.index] = []
        elif isinstance(event, PartEnded) and event.index in names:
            call_id, name = names[event.index]
            arguments = json.loads("".join(texts[event.index]))
            tasks[call_id] = asyncio.create_task(functions[name](**arguments))
    results = await asyncio.gather(*tasks.values())
    return dict(zip(tasks, results, strict=True))
