"""Tests a model with small requests: text, streaming, tools, a forced tool, a schema, images.

Each request costs a few tokens at the model's lowest effort. If the first request fails, the others are not sent.
"""

import json
from base64 import b64decode
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any, Literal

from callgate.core.ports import Clock
from callgate.formats.display import counted
from callgate.providers.model_source import ConfiguredModel
from callgate.words.errors import ModelError
from callgate.words.messages import Image, Message, Part, Text
from callgate.words.model import (
    ArgumentsDelta,
    MessageEnded,
    ModelEvent,
    ModelNoted,
    PartStarted,
    Request,
    RequestLimits,
    RequestOptions,
    TextDelta,
    ToolChoice,
    ToolSpec,
)
from callgate.words.noun import noun

Verdict = Literal["works", "fails", "not offered"]
_TOKENS = 4_096
_NOTE = ToolSpec("note", "Keeps a word.", {"type": "object", "properties": {"word": {"type": "string"}}})
_SCHEMA = {
    "type": "object",
    "properties": {"word": {"type": "string"}},
    "required": ["word"],
    "additionalProperties": False,
}
_RED = Image(
    "image/png",
    b64decode(
        "iVBORw0KGgoAAAANSUhEUgAAACAAAAAgCAIAAAD8GO2jAAAAKElEQVR42u3NQQ0AAAgEoNP+nTWFDzcoQE1udQQCgUAgEAgEAsGTYAGjxAE/G/Q2tQAAAABJRU5ErkJggg=="
    ),
)


@noun
class ProbeResult:
    """The result of one test.

    detail  the answer of the model, or the reason for the failure
    """

    ability: str
    verdict: Verdict
    detail: str = ""


@noun
class _Answer:
    """The answer to a test request.

    first  the seconds until the first event
    whole  the seconds until the end of the answer
    """

    events: tuple[ModelEvent, ...]
    first: float
    whole: float

    @property
    def text(self) -> str:
        return "".join(event.text for event in self.events if isinstance(event, TextDelta)).strip()


async def probe(model: ConfiguredModel, clock: Clock) -> AsyncGenerator[ProbeResult]:
    """Test the abilities of a model one after the other, and yield the results."""
    able, most = model.abilities, min(_TOKENS, model.abilities.output_tokens or _TOKENS)

    def request(prompt: str, *parts: Part, **more: Any) -> Request:
        message = Message("u1", "user", (*parts, Text(prompt)))
        options = RequestOptions(effort=able.efforts[0] if able.efforts else None)
        return Request("", (message,), limits=RequestLimits(max_output_tokens=most), options=options, **more)

    try:
        answer = await _answer(model, clock, request("Reply with the single word: ready"))
    except ModelError as error:
        yield ProbeResult("text", "fails", str(error))
        return
    for event in answer.events:
        if isinstance(event, ModelNoted):
            yield ProbeResult("note", "works", event.text)
    pieces = sum(isinstance(event, TextDelta | ArgumentsDelta) for event in answer.events)
    text = answer.text[:60]
    yield ProbeResult("text", "works" if text else "fails", f"{text!r} in {answer.whole:.1f} s")
    yield ProbeResult("streaming", "works", f"{counted(pieces, 'piece')}, the first after {answer.first:.1f} s")
    call = request("Call the tool note with the word ready. Do not write anything else.", tools=(_NOTE,))
    forced = request("Keep the word ready.", tools=(_NOTE,), tool_choice=ToolChoice("named", _NOTE.name))
    schema = request("Give the word ready.", output=_SCHEMA)
    image = request("Name the colour of this image in one word.", _RED)
    probes = (
        ("tools", True, "", call, _calls_tool),
        ("forced tool", "named" in able.force, "this model does not support forced tools", forced, _calls_tool),
        ("JSON Schema", able.structured, "answers are validated and corrected instead", schema, _fits_schema),
        ("images", able.images, "as far as known, this model supports none", image, _has_text),
    )
    for ability, is_offered, why_not, sent, judge in probes:
        if not is_offered:
            yield ProbeResult(ability, "not offered", why_not)
            continue
        try:
            works, detail = judge(await _answer(model, clock, sent))
        except ModelError as error:
            works, detail = False, str(error)
        yield ProbeResult(ability, "works" if works else "fails", detail)


def _calls_tool(answer: _Answer) -> tuple[bool, str]:
    called = any(isinstance(event, PartStarted) and event.name == _NOTE.name for event in answer.events)
    return called, "" if called else "the tool was not called"


def _fits_schema(answer: _Answer) -> tuple[bool, str]:
    try:
        fits = isinstance(json.loads(answer.text).get("word"), str)
    except (ValueError, AttributeError):
        fits = False
    return fits, "" if fits else f"{answer.text[:60]!r} does not fit"


def _has_text(answer: _Answer) -> tuple[bool, str]:
    return bool(answer.text), repr(answer.text[:60])


async def _answer(model: ConfiguredModel, clock: Clock, request: Request) -> _Answer:
    begun, found = clock.monotonic(), list[ModelEvent]()
    first: float | None = None
    async with aclosing(model.stream(request)) as events:
        async for event in events:
            found.append(event)
            if isinstance(event, MessageEnded) and event.stop_reason == "refusal":
                raise ModelError(f"the model refused: {event.detail or 'no reason was given'}", kind="refused")
            if first is None and not isinstance(event, ModelNoted):
                first = clock.monotonic()
    ended = clock.monotonic()
    return _Answer(tuple(found), (first or ended) - begun, ended - begun)
