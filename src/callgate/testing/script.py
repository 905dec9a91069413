"""The script of a model: one turn for each message.

    ScriptedModel(
        turn(say("Reading."), call("Read", path="a.py"), pause(0.2), call("Read", path="b.py")),
        turn(say("Both are fine.")),
    )

The stop reason of a turn follows from its steps, unless the last step is ``stop``, ``limit``, ``cut_off`` or ``fail``.
A turn can also be a function of the request.
"""

import asyncio
import json
import re
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, replace
from itertools import count
from typing import Any, Literal

from callgate.core.ports import Clock, wait_seconds
from callgate.words import model as m
from callgate.words.errors import ModelError, UsageError
from callgate.words.messages import Opaque, Usage
from callgate.words.model import Abilities, MessageStarted, ModelEvent, Request

NO_USAGE = Usage()


@dataclass(frozen=True, slots=True)
class Speech:
    kind: Literal["text", "thinking"]
    text: str
    over: float = 0.0
    signature: str | None = None


@dataclass(frozen=True, slots=True)
class Called:
    name: str
    text: str
    id: str | None
    closed: bool
    kept: Opaque | None = None


@dataclass(frozen=True, slots=True)
class Pause:
    seconds: float


@dataclass(frozen=True, slots=True)
class Sent:
    events: tuple[m.ModelEvent, ...]


@dataclass(frozen=True, slots=True)
class Ended:
    """The end of a message. If it has no reason and no error, the stream ends without MessageEnded."""

    reason: m.StopReason | None = None
    usage: Usage = NO_USAGE
    error: Exception | None = None


Step = Speech | Called | Opaque | Pause | Sent | Ended


@dataclass(frozen=True, slots=True)
class ScriptedTurn:
    """The steps of one scripted message."""

    steps: tuple[Step, ...]


Scene = ScriptedTurn | Callable[[m.Request], ScriptedTurn]
Played = tuple[m.ModelEvent, ...] | Pause | Exception


def turn(*steps: Step) -> ScriptedTurn:
    """Return the script of one message of the model."""
    for at, step in enumerate(steps):
        if isinstance(step, Ended) and at < len(steps) - 1:
            raise UsageError(f"a turn continues after its end: {steps[at + 1]}")
    ended = bool(steps) and isinstance(steps[-1], Ended)
    if not ended and any(isinstance(step, Called) and not step.closed for step in steps):
        raise UsageError("a turn with an open_call needs limit(), cut_off() or fail() at its end")
    return ScriptedTurn(steps)


def say(text: str, *, over: float = 0.0) -> Speech:
    """Return a step that streams text for ``over`` seconds. Adjacent texts form one part of the message, including
    pauses between them."""
    return Speech("text", text, over)


def think(text: str, *, signature: str | None = None, over: float = 0.0) -> Speech:
    """Return a step that streams reasoning for ``over`` seconds. ``signature`` is the provider's signature of the
    reasoning."""
    return Speech("thinking", text, over, signature)


def call(name: str, /, **arguments: Any) -> Called:
    """Return a well-formed call with the next free id. Use ``raw_call`` for another id or for malformed arguments."""
    return Called(name, json.dumps(arguments, ensure_ascii=False), None, closed=True)


def raw_call(
    name: str, arguments: str | Mapping[str, Any], *, id: str | None = None, kept: Opaque | None = None
) -> Called:
    """Return a call with this text as arguments, valid JSON or not. ``kept`` is the provider's opaque data about the
    call."""
    text = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
    return Called(name, text, id, closed=True, kept=kept)


def open_call(name: str, text: str, *, id: str | None = None) -> Called:
    """Return an incomplete call: the stream ends before the call is complete."""
    return Called(name, text, id, closed=False)


def pause(seconds: float = 0.0) -> Pause:
    """Return a step that waits on the model's clock; 0 yields once to the event loop."""
    return Pause(seconds)


def send(*events: m.ModelEvent) -> Sent:
    """Return a step that sends these events unchanged, for streams that no other step can produce."""
    return Sent(events)


def stop(reason: m.StopReason, usage: Usage = NO_USAGE) -> Ended:
    """Return a step that ends the message with this stop reason and usage."""
    return Ended(reason, usage)


def limit(usage: Usage = NO_USAGE) -> Ended:
    """Return a step that ends the message because the token limit is reached."""
    return Ended("max_tokens", usage)


def cut_off() -> Ended:
    """Return a step that ends the stream without MessageEnded."""
    return Ended()


def fail(error: Exception | str) -> Ended:
    """Return a step that ends the stream with an error."""
    return Ended(error=ModelError(error) if isinstance(error, str) else error)


def played(
    scene: ScriptedTurn, started: m.MessageStarted, chunk: int | None, new_id: Callable[[], str]
) -> list[Played]:
    """Return the events, pauses and errors of a scripted message."""
    take = _Take(started, chunk, new_id)
    for step in scene.steps:
        take.add(step)
    return take.ended()


class _Take:
    def __init__(self, started: m.MessageStarted, chunk: int | None, new_id: Callable[[], str]) -> None:
        self._events: list[m.ModelEvent] = [started]
        self._played: list[Played] = []
        self._chunk = chunk
        self._new_id = new_id
        self._index = -1
        self._open: Literal["text", "thinking"] | None = None
        self._called = False
        self._over = False

    def add(self, step: Step) -> None:
        match step:
            case Speech():
                self._say(step)
            case Called():
                self._call(step)
            case Opaque():
                self._close_part()
                self._index += 1
                kept = m.OpaqueData(self._index, step.provider, step.data)
                self._events += [m.PartStarted(self._index, "opaque"), kept, m.PartEnded(self._index)]
            case Pause():
                self._pause(step)
            case Sent(events):
                self._close_part()
                self._events += events
                self._index = max([self._index, *(e.index for e in events if isinstance(e, m.PartStarted))])
                self._called = self._called or any(
                    isinstance(e, m.PartStarted) and e.kind == "tool_call" for e in events
                )
                self._over = any(isinstance(each, m.MessageEnded) for each in events)
            case Ended():
                self._end(step)

    def ended(self) -> list[Played]:
        if not self._over:
            self._end(Ended("tool_calls" if self._called else "end"))
        self._flush()
        return self._played

    def _say(self, step: Speech) -> None:
        if self._open != step.kind:
            self._close_part()
            self._index += 1
            self._open = step.kind
            self._events.append(m.PartStarted(self._index, step.kind))
        pieces = _pieces(step.text, self._chunk) if self._chunk else _words(step.text)
        for piece in pieces:
            self._events.append((m.TextDelta if step.kind == "text" else m.ThinkingDelta)(self._index, piece))
            if step.over > 0:
                self._pause(Pause(step.over / len(pieces)))
        if step.signature is not None:
            self._events.append(m.ThinkingDelta(self._index, signature=step.signature))

    def _call(self, step: Called) -> None:
        self._close_part()
        self._index += 1
        self._called = True
        self._events.append(m.PartStarted(self._index, "tool_call", step.id or self._new_id(), step.name))
        self._events += [m.ArgumentsDelta(self._index, piece) for piece in _pieces(step.text, self._chunk or 16)]
        if step.kept is not None:
            self._events.append(m.OpaqueData(self._index, step.kept.provider, step.kept.data))
        if step.closed:
            self._events.append(m.PartEnded(self._index))

    def _pause(self, step: Pause) -> None:
        self._flush()
        self._played.append(step)

    def _end(self, step: Ended) -> None:
        self._over = True
        if step.error is not None:
            self._flush()
            self._played.append(step.error)
        elif step.reason is not None:
            self._close_part()
            self._events.append(m.MessageEnded(step.reason, step.usage))

    def _close_part(self) -> None:
        if self._open is not None:
            self._events.append(m.PartEnded(self._index))
            self._open = None

    def _flush(self) -> None:
        if self._events:
            self._played.append(tuple(self._events))
            self._events.clear()


def _pieces(text: str, size: int) -> list[str]:
    return [text[at : at + size] for at in range(0, len(text), size)]


def _words(text: str) -> list[str]:
    return re.findall(r"\s*\S+|\s+$", text)


# ---- the model -------------------------------------------------------------------------------------------------------


class ScriptedModel:
    """A model that plays one scripted turn for each request. ``requests`` has all requests until now.

    chunk      the length of text deltas; by default text is streamed in words and arguments in pieces of 16 characters
    clock      the clock for pauses; by default the event loop
    otherwise  the turn for requests after the end of the script
    """

    def __init__(
        self,
        *scenes: Scene,
        name: str = "scripted",
        abilities: Abilities | None = None,
        clock: Clock | None = None,
        chunk: int | None = None,
        otherwise: Scene | None = None,
    ) -> None:
        self.requests: list[Request] = []
        self.name = name
        self.abilities = abilities or Abilities()
        self._clock = clock
        self._chunk = chunk
        self._otherwise = otherwise
        self._ids = (f"call_{number}" for number in count(1))
        self._at = 0
        # Prepared here, so that streaming is cheap.
        self._scenes = [
            self._prepared(scene, number) if isinstance(scene, ScriptedTurn) else scene
            for number, scene in enumerate(scenes, 1)
        ]

    def stream(self, request: Request) -> AsyncIterator[ModelEvent]:
        kept = replace(request, messages=tuple(request.messages)) if isinstance(request.messages, list) else request
        self.requests.append(kept)
        self._at += 1
        if self._at <= len(self._scenes):
            scene = self._scenes[self._at - 1]
            return self._play(self._reaction(scene, kept, self._at) if callable(scene) else scene)
        if self._otherwise is None:
            return self._play([ModelError(f"the script has {len(self._scenes)} turns, but one more was requested")])
        return self._play(self._reaction(self._otherwise, kept, self._at))

    def _reaction(self, scene: Scene, request: Request, number: int) -> list[Played]:
        try:
            return self._prepared(scene if isinstance(scene, ScriptedTurn) else scene(request), number)
        except Exception as error:  # raised by the stream
            return [error]

    async def _play(self, prepared: list[Played]) -> AsyncIterator[ModelEvent]:
        for item in prepared:
            if isinstance(item, tuple):
                for event in item:
                    yield event
            elif isinstance(item, Pause):
                if self._clock is None or item.seconds <= 0:
                    await asyncio.sleep(item.seconds)
                else:
                    await wait_seconds(self._clock, item.seconds)
            else:
                raise item

    def _prepared(self, scene: ScriptedTurn, number: int) -> list[Played]:
        return played(scene, MessageStarted(f"msg_{number}", self.name), self._chunk, lambda: next(self._ids))
