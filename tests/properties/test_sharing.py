"""Several executors on one host, nested ones too: nobody writes what another reads, and everybody gets there."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callgate.assembly import DecisionGate, Executor
from callgate.conversation.ledger import Ledger
from callgate.conversation.record import MemoryJournal, Record
from callgate.core.ports import Case, Check, Run, Verdict
from callgate.testing import MemoryHost, PlainTool, PlainToolbox, run_virtual
from callgate.words.calls import ToolCall
from callgate.words.decisions import Allow
from callgate.words.limits import ExecutorSettings
from callgate.words.traits import Locks, Traits, shared
from tests.properties.oracle import conflict, kin
from tests.properties.stage import VirtualClock
from tests.properties.strategies import locks, path_locks


@dataclass(frozen=True)
class Node:
    """A call, and the message its tool runs in an executor of its own."""

    locks: Locks
    lasts: float
    inside: tuple["Node", ...] = ()


@dataclass
class Stay:
    id: str
    locks: Locks
    lineage: tuple[str, ...]


class World:
    """One host; notes whoever runs next to whom it must not."""

    def __init__(self, cap: int) -> None:
        self.host = MemoryHost(clock=VirtualClock())
        self.settings = ExecutorSettings(max_concurrency=cap, start="eager", lock_wait=10_000.0)
        self.nodes: dict[str, Node] = {}
        self.running: dict[str, Stay] = {}
        self.faults: list[str] = []
        self.codes: dict[str, str] = {}
        self.waited: dict[str, float] = {}

    async def message(self, nodes: tuple[Node, ...], name: str, lineage: tuple[str, ...] = ()) -> None:
        gate = DecisionGate([Check("all", _allow)])
        tool = PlainTool("Node", self._work, traits=self._traits)
        record = Record(MemoryJournal(), Ledger())
        async with Executor(
            PlainToolbox(tool), gate, host=self.host, record=record, settings=self.settings, lineage=lineage
        ) as executor:
            for n, node in enumerate(nodes):
                self.nodes[f"{name}.{n}"] = node
                executor.add(ToolCall(f"{name}.{n}", "Node", {"id": f"{name}.{n}"}))
            executor.close()
            async for item in executor.remaining():
                assert isinstance(item, ToolCall)
                assert item.result is not None
                self.codes[item.id] = item.result.code

    def _traits(self, arguments: Mapping[str, Any]) -> Traits:
        return Traits(declared_locks=self.nodes[arguments["id"]].locks)

    async def _work(self, arguments: Mapping[str, Any], run: Run) -> str:
        node = self.nodes[arguments["id"]]
        for other in self.running.values():
            # What is shared touches nothing: it keeps its order inside a message, and nobody else waits for it.
            strangers = other.lineage[:-1] != run.lineage[:-1] and "shared" in (other.locks.scope, node.locks.scope)
            if conflict(other.locks, node.locks) and not kin(other.lineage, run.lineage) and not strangers:
                self.faults.append(f"{run.call_id} next to {other.id}")
        self.running[run.call_id] = Stay(run.call_id, node.locks, run.lineage)
        await asyncio.sleep(node.lasts)
        if node.inside:
            await self.message(node.inside, run.call_id, run.lineage)
        del self.running[run.call_id]
        return "done"


def _allow(_case: Case) -> Verdict:
    return Allow("all")


def leaves(wanted: st.SearchStrategy[Locks]) -> st.SearchStrategy[Node]:
    return st.builds(Node, wanted, st.integers(0, 3).map(float))


def agents(wanted: st.SearchStrategy[Locks], depth: int) -> st.SearchStrategy[Node]:
    """A call that holds nothing but ``shared`` and has work done by others."""
    inside = leaves(wanted) if depth == 0 else st.one_of(leaves(wanted), agents(wanted, depth - 1))
    return st.builds(Node, st.just(shared), st.integers(0, 2).map(float), st.lists(inside, max_size=3).map(tuple))


def messages(wanted: st.SearchStrategy[Locks]) -> st.SearchStrategy[list[tuple[Node, ...]]]:
    one = st.lists(st.one_of(leaves(wanted), agents(wanted, 1)), min_size=1, max_size=3).map(tuple)
    return st.lists(one, min_size=1, max_size=3)


async def played(together: list[tuple[Node, ...]], cap: int) -> tuple[World, float]:
    world = World(cap)
    async with asyncio.TaskGroup() as group:
        for n, nodes in enumerate(together):
            group.create_task(world.message(nodes, f"m{n}"))
    assert asyncio.all_tasks() == {asyncio.current_task()}
    return world, asyncio.get_running_loop().time()


@pytest.mark.spec("EXE-3", "EXE-4")
@given(messages(path_locks), st.integers(1, 3))
def test_executors_of_one_host_never_touch_one_file_at_once_and_all_get_there(
    together: list[tuple[Node, ...]], cap: int
) -> None:
    world, took = run_virtual(played(together, cap))
    assert world.faults == []
    assert set(world.codes.values()) <= {"ok"}
    assert len(world.host.locks) == 0
    assert took < 1_000.0


@pytest.mark.spec("EXE-4")
@given(messages(locks), st.integers(1, 3))
def test_agents_with_exclusive_calls_inside_do_not_lock_each_other_out(
    together: list[tuple[Node, ...]], cap: int
) -> None:
    world, took = run_virtual(played(together, cap))
    assert world.faults == []
    assert set(world.codes.values()) <= {"ok"}
    assert took < 1_000.0
