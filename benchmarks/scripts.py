"""The same work for everybody: tools, and what a model says, in terms that every library can be told."""

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.yardstick import Function
from callgate.testing import ScriptedModel, call, pause, say, turn


@dataclass(frozen=True, slots=True)
class Wanted:
    """A call the model wants."""

    id: str
    name: str
    arguments: Mapping[str, Any]

    @property
    def text(self) -> str:
        return json.dumps(self.arguments)


Steps = Sequence[Wanted | float | str]
"""One message of a model: calls, text, and pauses in seconds. Every script ends with a second message, ``DONE``."""
DONE = "All done."


async def noop(value: int) -> str:
    """Do nothing."""
    return "done"


async def wait(seconds: float, number: int) -> str:
    """Do nothing for so long."""
    await asyncio.sleep(seconds)
    return "done"


FUNCTIONS: Mapping[str, Function] = {"noop": noop, "wait": wait}


def scripted(steps: Steps) -> ScriptedModel:
    said = [
        call(each.name, **each.arguments)
        if isinstance(each, Wanted)
        else say(each)
        if isinstance(each, str)
        else pause(each)
        for each in steps
    ]
    return ScriptedModel(turn(*said), turn(say(DONE)))


def many_calls(count: int) -> Steps:
    """One message of so many calls, no two alike: a loop guard would stop those."""
    return [Wanted(f"call_{number}", "noop", {"value": number}) for number in range(count)]


@dataclass(frozen=True, slots=True)
class Spaced:
    """Five calls whose arguments close 0.2 s apart, each running 0.5 s.

    ``last`` is how long the last one runs, ``tail`` how long text goes on after it; in seconds.
    """

    work: str
    last: float = 0.5
    tail: float = 0.0

    def steps(self, second: float) -> Steps:
        lengths = [0.5] * 4 + [self.last]
        out: list[Wanted | float | str] = []
        for number, length in enumerate(lengths):
            out += [Wanted(f"call_{number}", "wait", {"seconds": length * second, "number": number}), 0.2 * second]
        out.pop()
        for _ in range(10 if self.tail else 0):
            out += ["and so on ", self.tail * second / 10]
        return out


SPACED: Mapping[str, Spaced] = {
    "latency": Spaced("five calls 0.2 s apart, 0.5 s each: wall"),
    "latency_tail": Spaced("  with 1 s of text after the last call", tail=1.0),
    "latency_slow": Spaced("  with a last call of 1.5 s", last=1.5),
}
