"""Every family × fault × phase through a real session: the right retries, no effect twice, a legal history."""

import asyncio
import random

import pytest

from callgate import Interrupt, Session
from callgate.testing import MemoryHost
from tests.flows.kit import Workspace
from tests.history import faults
from tests.providers.clients import model_on, waiting
from tests.providers.matrix import ANSWER, DONE, FAILURES, PLACES, Failure, Where, check_outcome, failing, played
from tests.providers.servers import CUT, FakeServer, Reply, WireWriter, writers

WRITERS = writers()
CASES = [
    (name, failure, where)
    for name in WRITERS
    for failure in FAILURES
    for where in PLACES
    if failing(WRITERS[name], failure, where) is not None
]
SOME = random.Random(13).sample(CASES, min(len(CASES), 24))


def named(case: tuple[str, Failure, Where]) -> str:
    return f"{case[0]}, {case[1].name}, {case[2]}"


async def check(case: tuple[str, Failure, Where]) -> None:
    name, failure, where = case
    reply = failing(WRITERS[name], failure, where)
    assert reply is not None
    check_outcome(await played(WRITERS[name], reply, ANSWER, DONE), retryable=failure.retryable)


@pytest.mark.parametrize("case", SOME, ids=named)
async def test_a_failure_somewhere_has_the_right_retries_and_no_effect_twice(case: tuple[str, Failure, Where]) -> None:
    await check(case)


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES, ids=named)
async def test_a_failure_anywhere_has_the_right_retries_and_no_effect_twice(case: tuple[str, Failure, Where]) -> None:
    await check(case)


def cut_at(wire: WireWriter, byte: int) -> Reply:
    return Reply([b"".join(data for _, data in wire.events(ANSWER))[:byte], CUT])


def places_to_cut(wire: WireWriter) -> range:
    """Every byte before the end marker is complete: its last one ends the message."""
    events = wire.events(ANSWER)
    return range(sum(len(data) for phase, data in events if phase != "end"))


@pytest.mark.parametrize("name", WRITERS)
async def test_an_answer_may_be_cut_at_some_bytes(name: str) -> None:
    wire = WRITERS[name]
    for byte in random.Random(7).sample(places_to_cut(wire), 6):
        check_outcome(await played(wire, cut_at(wire, byte), ANSWER, DONE), retryable=True)


@pytest.mark.slow
@pytest.mark.parametrize("name", WRITERS)
async def test_an_answer_may_be_cut_at_many_bytes(name: str) -> None:
    wire = WRITERS[name]
    for byte in random.Random(8).sample(places_to_cut(wire), 100):
        check_outcome(await played(wire, cut_at(wire, byte), ANSWER, DONE), retryable=True)


@pytest.mark.chaos
@pytest.mark.parametrize("name", WRITERS)
async def test_an_answer_may_be_cut_at_any_byte(name: str) -> None:
    wire = WRITERS[name]
    for byte in places_to_cut(wire):
        check_outcome(await played(wire, cut_at(wire, byte), ANSWER, DONE), retryable=True)


@pytest.mark.parametrize("name", WRITERS)
async def test_an_answer_in_pieces_of_one_byte_is_the_same_answer(name: str) -> None:
    wire = WRITERS[name]
    data = b"".join(data for _, data in wire.events(ANSWER))
    outcome = await played(wire, Reply([data[at : at + 1] for at in range(len(data))]), DONE)
    assert outcome.retries == 0
    assert outcome.done == ["read a", "write a"]


@pytest.mark.parametrize("case", [case for case in CASES if case[1].name == "hang"], ids=named)
async def test_an_interrupt_lets_go_of_the_connection_and_leaves_a_legal_history(
    case: tuple[str, Failure, Where],
) -> None:
    name, hang, where = case
    wire, space = WRITERS[name], Workspace()
    reply = failing(wire, hang, where)
    assert reply is not None
    async with FakeServer(reply) as server, model_on(server, wire) as (model, clock):
        async with Session(model, space.toolbox(), host=MemoryHost()) as session:
            running = asyncio.create_task(session.run("go"))
            await server.hung.wait()
            await waiting(clock)
            session.post(Interrupt())
            await running
            await server.gone.wait()
            assert faults(session.messages) == []
            assert "write a" not in space.done
        assert clock.next_timer is None
