"""Calls of several messages take the locks of a host in the order of their requests."""

import asyncio
from random import Random
from typing import Any

import pytest
from hypothesis import settings

from callgate.assembly import Executor
from callgate.core.lanes import conflict
from callgate.core.locks import Claim, LockTable
from callgate.core.ports import Run
from callgate.testing import PlainTool, PlainToolbox, run_virtual, settle
from callgate.words.events import CallSettled, CallStarted
from callgate.words.traits import Locks, Traits, reads, shared, writes
from tests.core.kit import Desk, allow_all, call, virtual_host

KINDS: dict[str, tuple[str, Locks]] = {
    "WriteA": ("mutating", writes("a")),
    "WriteAll": ("mutating", writes(".")),
    "ReadA": ("none", reads("a")),
    "ReadB": ("none", reads("b")),
    "WriteB": ("mutating", writes("b")),
    "Free": ("none", shared),
    "Post": ("mutating", shared),
}


class NotedTable(LockTable):
    """Notes the claims in the order of their first requests."""

    def __init__(self) -> None:
        super().__init__()
        self.requested: list[Claim] = []

    def enter(self, claim: Claim) -> bool:
        self.requested.append(claim)
        return super().enter(claim)


async def last(arguments: Any, _run: Run) -> str:
    await asyncio.sleep(arguments["seconds"])  # virtual
    return "done"


def tools() -> list[PlainTool]:
    return [
        PlainTool(name, last, traits=Traits(effects=effects, declared_locks=locks))  # pyright: ignore
        for name, (effects, locks) in KINDS.items()
    ]


async def play(seed: int) -> None:
    random = Random(seed)
    host = virtual_host()
    host.locks = table = NotedTable()
    desks = [
        Desk(*tools(), host=host, lineage=(f"s{n}", "m"), max_concurrency=random.choice((1, 1, 2, 3)), lock_wait=10**6)
        for n in range(random.randrange(2, 5))
    ]
    await asyncio.gather(*(send(desk, n, random) for n, desk in enumerate(desks)))
    for desk in desks:
        assert all(event.result.code == "ok" for event in desk.journal.events if isinstance(event, CallSettled)), seed
    begun = sorted(
        (event.at, event.call_id) for desk in desks for event in desk.journal.events if isinstance(event, CallStarted)
    )
    at = {call_id: when for when, call_id in begun}
    for n, claim in enumerate(table.requested):
        for later in table.requested[n + 1 :]:
            if conflict(claim.locks, later.locks):
                one, other = claim.lineage[-1], later.lineage[-1]
                assert at[one] <= at[other], f"seed {seed}: {other} overtook {one}"
    assert len(table) == 0


async def send(desk: Desk, n: int, random: Random) -> None:
    for k in range(random.randrange(3, 12)):
        desk.add(call(f"{n}.{k}", random.choice([*KINDS]), seconds=1 + random.random() * 5))
        if random.random() < 0.3:
            await asyncio.sleep(random.random() * 4)
    desk.executor.close()
    await desk.rest()


@pytest.mark.spec("EXE-4")
def test_no_later_call_overtakes_a_conflicting_call_in_any_schedule() -> None:
    for seed in range(3 * settings().max_examples):
        run_virtual(play(seed))


@pytest.mark.spec("EXE-4")
@pytest.mark.parametrize("places", [1, 2, 3])
def test_a_call_that_gets_its_lock_when_no_place_is_free_is_not_overtaken_by_forty_writers(places: int) -> None:
    async def main() -> list[str]:
        host = virtual_host()
        first, second = (
            Desk(*tools(), host=host, lineage=(name, "m"), max_concurrency=most)
            for name, most in (("one", places), ("two", 1))
        )
        second.add(call("holds", "WriteA", seconds=1))
        second.executor.close()
        await settle()
        first.add(call("waits", "WriteA", seconds=1))
        for n in range(places):
            first.add(call(f"long{n}", "Post", seconds=5))
        first.executor.close()
        await settle()
        writers = [Desk(*tools(), host=host, lineage=(f"w{n}", "m")) for n in range(40)]
        for n, desk in enumerate(writers):
            desk.add(call(f"w{n}", "WriteA", seconds=1))
            desk.executor.close()
        await asyncio.gather(*(desk.rest() for desk in (first, second, *writers)))
        found = [
            (event.at, event.call_id)
            for desk in (first, second, *writers)
            for event in desk.journal.events
            if isinstance(event, CallStarted) and not event.call_id.startswith("long")
        ]
        return [call_id for _, call_id in sorted(found)]

    assert run_virtual(main())[:3] == ["holds", "waits", "w0"]


@pytest.mark.spec("EXE-4")
@pytest.mark.parametrize("late", [False, True], ids=["nested after", "nested before"])
def test_a_nested_call_passes_a_call_that_waits_for_the_place_of_its_ancestor(late: bool) -> None:
    """Otherwise both wait until their timeouts."""

    async def main() -> dict[str, str]:
        host = virtual_host()
        opened, held = asyncio.Event(), asyncio.Event()

        async def agent(_arguments: Any, run: Run) -> str:
            await opened.wait()
            box = PlainToolbox(*tools())
            async with Executor(box, allow_all(), host=host, lineage=run.lineage) as inner:  # pyright: ignore
                inner.add(call("inner", "WriteA", seconds=1))
                inner.close()
                return str([item.code async for item in inner.remaining()])  # pyright: ignore

        async def hold(_arguments: Any, _run: Run) -> str:
            await held.wait()
            return "held"

        holder = Desk(PlainTool("Hold", hold, traits=Traits(declared_locks=writes("a"))), host=host, lineage=("h", "m"))
        await holder.begin(call("h", "Hold"))
        nests = PlainTool("Agent", agent, traits=Traits(declared_locks=shared))
        desk = Desk(nests, *tools(), host=host, lineage=("one", "m"), max_concurrency=1)
        await desk.begin(call("waits", "WriteA", seconds=1), call("agent", "Agent"))
        if late:
            opened.set()
            await settle()
        other = Desk(*tools(), host=host, lineage=("two", "m"))
        await other.begin(call("other", "WriteA", seconds=1))
        held.set()
        await settle()
        opened.set()
        for each in (holder, desk, other):
            await each.rest()
        return {name: where.result(name).code for where, name in ((desk, "waits"), (desk, "agent"), (other, "other"))}

    assert run_virtual(main()) == {"waits": "ok", "agent": "ok", "other": "ok"}
