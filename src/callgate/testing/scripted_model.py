"""A model that plays a script."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from itertools import count

from callgate.core.ports import Clock, wait_seconds
from callgate.testing.script import Pause, Played, Scene, ScriptedTurn, played
from callgate.words.errors import ModelError
from callgate.words.model import Abilities, MessageStarted, ModelEvent, Request


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
