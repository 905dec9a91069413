"""One session on a fake server whose first answer fails: every family, every fault, every phase."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from callgate import Prompt, Session, SessionLimits
from callgate.host.clock import LoopClock
from callgate.testing import MemoryHost
from callgate.words.events import Event, RequestRetried, RunEnded, TurnEnded
from callgate.words.limits import LoopLimits, Retries
from tests.flows.kit import Workspace, answering, check_history
from tests.history import faults
from tests.providers.clients import model_on, waiting
from tests.providers.servers import CUT, HANG, Answer, Call, FakeServer, Reply, Say, WireWriter
from tests.providers.servers.server import Step

ANSWER = Answer(
    (Say("I look first."), Call("c1", "read", '{"path": "a"}'), Call("c2", "write", '{"path": "a"}')), piece=5
)
DONE = Answer((Say("Done."),), id="msg_2")
AT_ONCE = LoopLimits(retries=Retries(first=0.0, jitter=0.0))

Where = Literal[
    "before the head", "before the body", "in text", "in arguments", "after the last call", "before the end"
]


@dataclass(frozen=True)
class Failure:
    """``steps`` is how a body fails, behind the events that came before; ``head`` is a whole reply in its place."""

    name: str
    retryable: bool
    steps: Callable[[WireWriter], Sequence[Step]] | None = None
    head: Callable[[WireWriter], Reply] | None = None


FAILURES = [
    Failure("cut", True, lambda _: [CUT], lambda _: Reply(before=[CUT])),
    Failure("hang", True, lambda _: [HANG], lambda _: Reply(before=[HANG])),
    Failure("no end marker", True, lambda _: []),
    Failure(
        "garbage",
        False,
        lambda _: [b"data: {garbage\n\n"],
        lambda _: Reply([b"\x16\x03\x01 no HTTP\r\n\r\n"], raw=True),
    ),
    Failure("overloaded", True, lambda w: [w.error_event("overloaded", "busy")], lambda w: Reply.error(w, 529, "busy")),
    Failure("server error", True, lambda w: [w.error_event("server", "oops")], lambda w: Reply.error(w, 500, "oops")),
    Failure("rate limit", True, head=lambda w: Reply.error(w, 429, "slow", retry_after="0")),
    Failure("wrong key", False, head=lambda w: Reply.error(w, 401, "who are you?")),
    Failure("a page", False, head=lambda _: Reply([b"<html>"], headers={"content-type": "text/html"})),
]


def failing(wire: WireWriter, failure: Failure, where: Where) -> Reply | None:
    """The reply that fails there; None if this family has no such place, or the failure cannot be there."""
    if where == "before the head":
        return None if failure.head is None else failure.head(wire)
    if failure.steps is None:
        return None
    events = wire.events(ANSWER)
    phases = [phase for phase, _ in events]
    label = {
        "in text": "text",
        "in arguments": "arguments",
        "after the last call": "call",
        "before the end": "end",
    }.get(where)
    if label is None:
        return Reply([*failure.steps(wire)])
    if label not in phases:
        return None
    places = [index for index, phase in enumerate(phases) if phase == label]
    at = {"end": places[0], "call": places[-1] + 1}.get(label, places[len(places) // 2])
    return Reply([*(data for _, data in events[:at]), *failure.steps(wire)])


PLACES: tuple[Where, ...] = get_args(Where)


@dataclass(frozen=True)
class Outcome:
    events: Sequence[Event]
    done: Sequence[str]
    requests: int

    @property
    def retries(self) -> int:
        return sum(isinstance(event, RequestRetried) for event in self.events)

    @property
    def cut_off(self) -> int:
        """Turns whose message ended in order and was not whole: it stays on record, and the next turn goes on."""
        return sum(isinstance(event, TurnEnded) and event.reason == "truncated" for event in self.events)

    @property
    def ended(self) -> RunEnded:
        return next(event for event in reversed(self.events) if isinstance(event, RunEnded))


async def played(wire: WireWriter, first: Reply, *then: Answer) -> Outcome:
    """A whole run: the first answer is given, the next ones are whole. The history is checked."""
    space, events = Workspace(), list[Event]()
    replies = [first, *(Reply.of(wire, answer) for answer in then)]
    async with FakeServer(*replies) as server, model_on(server, wire) as (model, clock):

        async def impatient() -> None:
            await server.hung.wait()
            await waiting(clock)
            clock.advance(91)

        watching = asyncio.create_task(impatient())
        host = MemoryHost(clock=LoopClock())
        async with Session(model, space.toolbox(), host=host, limits=SessionLimits(run=AT_ONCE)) as session:
            async for event in session.send(Prompt("go")):
                events.append(event)
                answering(session, event)
            assert faults(session.messages) == []
            check_history(session.messages)
        watching.cancel()
        await asyncio.wait((watching,))
        return Outcome(events, space.done, len(server.requests))


def check_outcome(outcome: Outcome, *, retryable: bool) -> None:
    """A failure that may pass is repeated once, is seen, and the effect happens once; any other one ends the run."""
    ended = outcome.ended
    if retryable:
        assert ended.reason == "done", ended
        assert outcome.retries + outcome.cut_off == 1
        assert outcome.requests == 3
        assert outcome.done.count("write a") == 1
    else:
        assert (ended.reason, ended.retryable) == ("model_error", False), ended
        assert outcome.retries + outcome.cut_off == 0
        assert outcome.requests == 1
        assert "write a" not in outcome.done
