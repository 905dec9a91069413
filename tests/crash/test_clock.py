"""A clock that is set back and forth: order comes from the log, durations never go below zero, and it resumes."""

import asyncio
from itertools import cycle
from pathlib import Path

import pytest

from callgate import Prompt, Session, tool
from callgate.conversation.ledger import Ledger
from callgate.host.clock import LoopClock
from callgate.host.local import LocalHost
from callgate.testing import ScriptedModel, call, say, turn
from callgate.transcript.store import Store
from callgate.words.events import CallSettled
from tests.crash.stage import Facts

DAY = 86_400.0


class Jumping(LoopClock):
    """Somebody sets the time whenever it is looked at."""

    def __init__(self, *jumps: float) -> None:
        super().__init__()
        self._jumps = cycle(jumps)
        self.now = self._now  # type: ignore[method-assign]

    def _now(self) -> float:
        return 1_700_000_000.0 + next(self._jumps)


@tool(effects="none")
def look(q: str) -> str:
    """Look."""
    return f"saw {q}"


async def one_prompt(store: Store, clock: Jumping, *, first: bool) -> None:
    model = ScriptedModel(turn(call("look", q="a"), call("look", q="b")), turn(say("Done.")))
    journal = await (store.create() if first else store.open())
    async with Session(model, [look], journal=journal, host=LocalHost(clock=clock)) as session:
        assert session.status == "idle"
        await session.send(Prompt("go"))
        assert session.status == "idle"
        assert session.messages[-1].text == "Done."


@pytest.mark.spec("TRS-1", "TRS-8")
@pytest.mark.parametrize(
    "jumps",
    [
        pytest.param((0.0, -DAY, DAY, -2 * DAY), id="back-and-forth"),
        pytest.param(tuple(-DAY * day for day in range(40)), id="always-back"),
        pytest.param((0.0, float("inf"), float("nan"), -1e12), id="no-time-at-all"),
    ],
)
def test_a_clock_that_jumps_changes_neither_order_nor_durations(tmp_path: Path, jumps: tuple[float, ...]) -> None:
    store = Store(tmp_path, tmp_path / "data")
    for first in (True, False, False):
        asyncio.run(one_prompt(store, Jumping(*jumps), first=first))
    facts = Facts(store.find().read_bytes())  # numbered without a gap, each line hanging on the one before
    times = [event.at for event in facts.events]
    assert times != sorted(times)
    taken = [event.duration_ms for event in facts.events if isinstance(event, CallSettled)]
    assert len(taken) == 6
    assert all(each is not None and each >= 0 for each in taken)
    roles = [message.role for message in Ledger(store.read().events).messages]
    assert roles == ["user", "assistant", "tool", "assistant"] * 3
