"""A neutral script of an answer, and the Protocol by which each family writes it as its own wire events."""

import pkgutil
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib import import_module
from itertools import zip_longest
from pathlib import Path
from typing import Literal, Protocol

from callgate.providers.family import Family, ModelFacts
from callgate.words.messages import Usage
from callgate.words.model import StopReason


@dataclass(frozen=True)
class Say:
    text: str


@dataclass(frozen=True)
class Think:
    text: str
    signature: str = ""


@dataclass(frozen=True)
class Call:
    """``arguments`` is the text that the model writes, usually JSON."""

    id: str
    name: str
    arguments: str = "{}"


Part = Say | Think | Call


@dataclass(frozen=True)
class Answer:
    """One message of a model. Without a ``stop`` it is that of its parts. ``piece``: the most characters of text or of
    arguments in one event. ``interleave``: where the API can, the events of the calls take turns."""

    parts: Sequence[Part] = (Say("Hello."),)
    stop: StopReason | None = None
    usage: Usage = field(default_factory=lambda: Usage(input=10, output=5))
    id: str = "msg_1"
    model: str = "fake-1"
    piece: int = 8
    interleave: bool = False

    @property
    def stop_reason(self) -> StopReason:
        return self.stop or ("tool_calls" if any(isinstance(part, Call) for part in self.parts) else "end")


Phase = Literal["start", "text", "thinking", "arguments", "call", "stop", "end"]
"""The content of one wire event: the beginning; a piece of text, thinking or arguments; anything that closes a call;
the stop reason and usage; the end marker, without which an answer is cut off. The beginning of a part is labelled as
the part."""


class WireWriter(Protocol):
    """How a family's server writes. ``events`` are whole server-sent events as bytes, each with its phase, in order."""

    family: Family
    facts: ModelFacts
    key: str

    def events(self, answer: Answer) -> Sequence[tuple[Phase, bytes]]: ...

    def error_event(self, kind: Literal["overloaded", "server"], message: str) -> bytes:
        """A failure that is reported in the middle of a stream."""
        ...

    def error_body(self, status: int, message: str) -> bytes:
        """The body of an answer with this HTTP status."""
        ...


def pieces(text: str, size: int) -> list[str]:
    """The text in pieces of at most so many characters; one empty piece for no text."""
    return [text[start : start + size] for start in range(0, len(text), size)] or [""]


def turns(answer: Answer, parts: Sequence[Sequence[tuple[Phase, bytes]]]) -> list[tuple[Phase, bytes]]:
    """The events of all parts in order; those of the calls take turns if the answer says so."""
    if not answer.interleave:
        return [event for part in parts for event in part]
    calls = [events for part, events in zip(answer.parts, parts, strict=True) if isinstance(part, Call)]
    others = [events for part, events in zip(answer.parts, parts, strict=True) if not isinstance(part, Call)]
    mixed = [event for row in zip_longest(*calls) for event in row if event is not None]
    return [*(event for part in others for event in part), *mixed]


def writers() -> dict[str, WireWriter]:
    """Every family that has a module here with a ``WRITER``."""
    names = sorted(module.name for module in pkgutil.iter_modules([str(Path(__file__).parent)]))
    modules = {name: import_module(f"{__package__}.{name}") for name in names if not name.startswith("_")}
    return {module.WRITER.family.name: module.WRITER for module in modules.values() if hasattr(module, "WRITER")}


def writer(family: str) -> WireWriter:
    return writers()[family]
