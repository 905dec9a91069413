"""The record of one play, and the claims that are computed from it."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from callgate import Event, Result
from callgate.words.events import CallArrived, CallSettled, MessageAdded, TurnStarted

from .shop import Files

E = TypeVar("E")


@dataclass(slots=True)
class PlayRecord:
    """``files`` is the content of the folder at named moments; ``exit_codes`` those of the processes that were started;
    ``before_kill`` the number of events of the first process; ``status`` that of the session when it was opened again;
    ``sent`` the id and text of each result that its model received; ``log`` and ``damages`` the events and the number
    of damaged places in its log; ``left_out`` the reason why the play was not performed."""

    events: list[Event] = field(default_factory=list[Event])
    files: dict[str, Files] = field(default_factory=dict[str, Files])
    exit_codes: list[int | None] = field(default_factory=list[int | None])
    before_kill: int = 0
    status: str = ""
    sent: Sequence[tuple[str, str]] = ()
    log: Sequence[Event] = ()
    damages: int = 0
    left_out: str = ""

    def of(self, kind: type[E], call: CallArrived | None = None) -> list[tuple[int, E]]:
        """The events of a type, or those of them about one call, with their positions: order never comes from a
        clock."""
        found = ((n, event) for n, event in enumerate(self.events) if isinstance(event, kind))
        return [(n, event) for n, event in found if call is None or _call_id(event) == call.call_id]

    def first(self, kind: type[object], call: CallArrived) -> int:
        """The position of the first event of a type about a call; IndexError if there is none."""
        return self.of(kind, call)[0][0]

    def calls(self, turn: int | None = None) -> list[CallArrived]:
        """The calls of one turn, or of all turns, in the order of their arrival."""
        messages = [started.message_id for _, started in self.of(TurnStarted) if turn in (None, started.turn)]
        return [call for _, call in self.of(CallArrived) if call.message_id in messages]

    def message(self, turn: int) -> int:
        """The position of the end of the model's message in that turn."""
        return [n for n, added in self.of(MessageAdded) if added.message.role == "assistant"][turn - 1]

    def result(self, call: CallArrived) -> Result:
        return self.of(CallSettled, call)[0][1].result

    def codes(self, turn: int) -> list[str]:
        return [self.result(call).code for call in self.calls(turn)]

    def time(self, one: int, other: int) -> str:
        """The time between two positions, for people."""
        seconds = max(self.events[other].at - self.events[one].at, 0.0)
        return f"{seconds:.2f} s" if seconds >= 1 else f"{seconds * 1000:.{0 if seconds >= 0.01 else 2}f} ms"


def _call_id(event: object) -> str | None:
    about = getattr(event, "question", None) or getattr(event, "confirmation", None) or event
    return getattr(about, "call_id", None)


def title_of(call: CallArrived) -> str:
    """The tool and the first text among its arguments; of a call that was cut off, the text so far."""
    texts = (value for value in call.arguments.values() if isinstance(value, str))
    return f"{call.name} {next(texts, call.raw_arguments or '')}".rstrip()


Claim = tuple[str, Callable[[PlayRecord], tuple[bool, str]]]
"""A sentence, and the function that computes from a record if it holds, with the figures."""


@dataclass(frozen=True, slots=True)
class Fact:
    """A claim after it was computed."""

    claim: str
    holds: bool
    detail: str


def facts(claims: Sequence[Claim], record: PlayRecord) -> Iterator[Fact]:
    """Computes every claim. A claim whose events are not in the record does not hold."""
    for claim, compute in () if record.left_out else claims:
        try:
            yield Fact(claim, *compute(record))
        except (LookupError, ValueError, AssertionError):
            yield Fact(claim, False, "it did not happen")
