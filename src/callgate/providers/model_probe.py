"""Small requests that find out what works with a model: text, streaming, tools, a forced tool, a schema, images.

Each is a few tokens at the model's lowest effort. Where the first one brings no answer nothing else is tried.
"""

import json
from base64 import b64decode
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Literal

from callgate.core.ports import Clock
from callgate.providers.model_source import ConfiguredModel
from callgate.words.errors import ModelError
from callgate.words.messages import Image, Message, Part, Text
from callgate.words.model import (
    ArgumentsDelta,
    MessageEnded,
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
    """``ability`` is in words for people; ``detail`` says what came back, or why it failed."""

    ability: str
    verdict: Verdict
    detail: str = ""


@noun
class _Heard:
    """An answer: its text, its pieces, the names of the calls in it, and seconds to the first piece and to the end."""

    text: str
    pieces: int
    calls: tuple[str, ...]
    first: float
    whole: float
    notes: tuple[str, ...]


class Probe:
    """Tries one model."""

    def __init__(self, model: ConfiguredModel, clock: Clock) -> None:
        self._model = model
        self._clock = clock

    async def results(self) -> AsyncGenerator[ProbeResult]:
        """The outcome for each ability, one after the other."""
        able = self._model.abilities
        try:
            heard = await self._asked("Reply with the single word: ready")
        except ModelError as error:
            yield ProbeResult("text", "fails", str(error))
            return
        for note in heard.notes:
            yield ProbeResult("note", "works", note)
        whole = heard.text.strip()[:60]
        yield ProbeResult("text", "works" if whole else "fails", f"{whole!r} in {heard.whole:.1f} s")
        yield ProbeResult("streaming", "works", f"{heard.pieces} pieces, the first after {heard.first:.1f} s")
        call = "Call the tool note with the word ready. Do not write anything else."
        yield await self._tried("tools", call, tools=True)
        named = ToolChoice("named", _NOTE.name)
        if "named" in able.force:
            yield await self._tried("forced tool", "Keep the word ready.", tools=True, choice=named)
        else:
            yield ProbeResult("forced tool", "not offered", "this model cannot be held to a tool")
        if able.structured:
            yield await self._tried("JSON Schema", "Give the word ready.", schema=True)
        else:
            yield ProbeResult("JSON Schema", "not offered", "answers are checked and repaired instead")
        if able.images:
            yield await self._tried("images", "Name the colour of this image in one word.", _RED)
        else:
            yield ProbeResult("images", "not offered", "this model takes none, as far as is known")

    async def _tried(
        self,
        ability: str,
        prompt: str,
        *parts: Part,
        tools: bool = False,
        choice: ToolChoice | None = None,
        schema: bool = False,
    ) -> ProbeResult:
        try:
            heard = await self._asked(prompt, *parts, tools=tools, choice=choice, schema=schema)
        except ModelError as error:
            return ProbeResult(ability, "fails", str(error))
        if tools:
            called = _NOTE.name in heard.calls
            return ProbeResult(ability, "works" if called else "fails", "" if called else "the tool was not called")
        text = heard.text.strip()
        if schema:
            try:
                fits = isinstance(json.loads(text).get("word"), str)
            except (ValueError, AttributeError):
                fits = False
            return ProbeResult(ability, "works" if fits else "fails", "" if fits else f"{text[:60]!r} does not fit")
        return ProbeResult(ability, "works" if text else "fails", repr(text[:60]))

    async def _asked(
        self,
        prompt: str,
        *parts: Part,
        tools: bool = False,
        choice: ToolChoice | None = None,
        schema: bool = False,
    ) -> _Heard:
        efforts = self._model.abilities.efforts
        most = min(_TOKENS, self._model.abilities.output_tokens or _TOKENS)
        request = Request(
            "",
            (Message("u1", "user", (*parts, Text(prompt))),),
            tools=(_NOTE,) if tools else (),
            tool_choice=choice or ToolChoice(),
            limits=RequestLimits(max_output_tokens=most),
            options=RequestOptions(effort=efforts[0] if efforts else None),
            output=_SCHEMA if schema else None,
        )
        text, pieces, calls, notes = "", 0, list[str](), list[str]()
        begun = self._clock.monotonic()
        first: float | None = None
        async with aclosing(self._model.stream(request)) as events:
            async for event in events:
                match event:
                    case ModelNoted(note):
                        notes.append(note)
                        continue
                    case TextDelta(_, piece):
                        text += piece
                        pieces += 1
                    case PartStarted(_, "tool_call", _, name):
                        calls.append(name)
                    case ArgumentsDelta():
                        pieces += 1
                    case MessageEnded(stop_reason="refusal", detail=detail):
                        raise ModelError(f"the model refused: {detail or 'no reason was given'}", kind="refused")
                    case _:
                        pass
                first = self._clock.monotonic() if first is None else first
        ended = self._clock.monotonic()
        return _Heard(
            text=text,
            pieces=pieces,
            calls=tuple(calls),
            first=(first or ended) - begun,
            whole=ended - begun,
            notes=tuple(notes),
        )
