"""When calls start: locks, order, slots, early start, and messages that were cut off."""

import asyncio
from collections.abc import Awaitable, Mapping
from pathlib import Path
from typing import Any

import pytest

from callgate.assembly import Executor
from callgate.assembly.options import as_settings
from callgate.conversation.record import MemoryJournal
from callgate.core.ports import Run
from callgate.host.clock import LoopClock
from callgate.host.local import LocalHost
from callgate.testing import Barrier, Latch, PlainTool, PlainToolbox, Recorder, settle
from callgate.words.calls import Status
from callgate.words.errors import UsageError
from callgate.words.events import CallStarted
from callgate.words.limits import ExecutorSettings
from callgate.words.traits import Traits, shared, writes
from tests.core.kit import (
    ALONE,
    FREE,
    Desk,
    allow_all,
    call,
    codes,
    file_reader,
    file_writer,
    lasting,
    saying,
    virtual_host,
)

ON_A = Traits(declared_locks=writes("a.py"))

# ---- which calls overlap (EXE-1, EXE-2) -------------------------------------------------------------------------


@pytest.mark.spec("EXE-1")
async def test_calls_that_do_not_conflict_overlap() -> None:
    barrier = Barrier(3)
    desk = Desk(barrier)
    results = await desk.finish(call("a", "Barrier"), call("b", "Barrier"), call("c", "Barrier"))
    assert barrier.most == 3
    assert codes(results) == {"a": "ok", "b": "ok", "c": "ok"}


@pytest.mark.spec("EXE-1")
async def test_edits_of_different_files_overlap() -> None:
    both_inside = asyncio.Barrier(2)

    async def edit(_arguments: object, _run: object) -> str:
        await both_inside.wait()
        return "edited"

    desk = Desk(file_writer(body=edit))
    results = await desk.finish(call("a", "Edit", path="a.py"), call("b", "Edit", path="b.py"))
    assert codes(results) == {"a": "ok", "b": "ok"}


@pytest.mark.spec("EXE-1", "EXE-2")
async def test_a_read_of_a_file_waits_for_the_edit_of_it_before() -> None:
    latch = Latch("Edit", Traits(declared_locks=writes("a.py")))
    recorder = Recorder()
    desk = Desk(recorder.watch(latch), recorder.watch(file_reader("Cat")))
    await desk.begin(call("edit", "Edit"), call("cat", "Cat", path="a.py"), call("other", "Cat", path="b.py"))
    # while the edit is under way only the read of the other file has run
    assert sorted(recorder.started) == ["edit", "other"]
    latch.open()
    await desk.rest()
    assert recorder.started[-1] == "cat"


@pytest.mark.spec("EXE-2")
async def test_an_edit_does_not_wait_for_a_read_of_another_file() -> None:
    latch = Latch("Read", Traits(effects="none", declared_locks=writes("b.py")))
    recorder = Recorder()
    desk = Desk(recorder.watch(latch), recorder.watch(file_writer()))
    await desk.begin(call("read", "Read"), call("edit", "Edit", path="a.py"))
    assert recorder.order == ["started read", "started edit", "ended edit"]
    latch.open()
    await desk.rest()


@pytest.mark.spec("EXE-2")
async def test_an_exclusive_call_waits_for_all_before_it_and_all_after_wait_for_it() -> None:
    latch, alone = Latch(), Latch("Alone", ALONE)
    recorder = Recorder()
    desk = Desk(recorder.watch(latch), recorder.watch(alone))
    await desk.begin(call("one", "Latch"), call("two", "Latch"), call("x", "Alone"), call("three", "Latch"))
    assert recorder.started == ["one", "two"]
    latch.open("one")
    await settle()
    assert recorder.started == ["one", "two"]
    latch.open("two")
    await settle()
    assert recorder.started == ["one", "two", "x"]
    alone.open()
    latch.open()
    await desk.rest()
    assert recorder.started == ["one", "two", "x", "three"]


@pytest.mark.spec("EXE-1")
async def test_the_locks_of_a_call_come_from_its_own_arguments() -> None:
    recorder = Recorder()
    gate = Latch("Hold", Traits(declared_locks=writes("src")))
    desk = Desk(recorder.watch(gate), recorder.watch(file_writer()))
    await desk.begin(call("h", "Hold"), call("in", "Edit", path="src/deep/a.py"), call("out", "Edit", path="doc.md"))
    assert recorder.started == ["h", "out"]
    gate.open()
    await desk.rest()


@pytest.mark.spec("EXE-1")
async def test_shared_calls_overlap_with_an_edit_of_anything() -> None:
    latch = Latch("Fetch", Traits(effects="none", declared_locks=shared))
    recorder = Recorder()
    desk = Desk(latch, recorder.watch(file_writer()))
    await desk.begin(call("f", "Fetch"), call("e", "Edit", path="."))
    assert recorder.ended == ["e"]
    latch.open()
    await desk.rest()


# ---- how many (EXE-3) -------------------------------------------------------------------------------------------


@pytest.mark.spec("EXE-3")
async def test_no_more_than_max_concurrency_run_at_once_and_the_rest_follows_in_order() -> None:
    latch, recorder = Latch(traits=FREE), Recorder()
    desk = Desk(recorder.watch(latch), max_concurrency=2)
    await desk.begin(*(call(name, "Latch") for name in "abcd"))
    assert recorder.started == ["a", "b"]
    latch.open("b")
    await settle()
    assert recorder.started == ["a", "b", "c"]
    latch.open()
    await desk.rest()
    assert recorder.started == ["a", "b", "c", "d"]
    assert recorder.most_at_once == 2


@pytest.mark.spec("EXE-3")
async def test_ten_run_at_once_unless_told_otherwise() -> None:
    latch = Latch(traits=FREE)
    desk = Desk(latch)
    await desk.begin(*(call(f"c{n}", "Latch") for n in range(12)))
    assert len(latch.inside) == 10
    latch.open()
    await desk.rest()


@pytest.mark.spec("EXE-3")
async def test_each_executor_has_its_own_slots() -> None:
    latch, host = Latch(traits=FREE), virtual_host()
    one, two = Desk(latch, host=host, max_concurrency=1), Desk(latch, host=host, max_concurrency=1)
    await one.begin(call("a", "Latch"))
    await two.begin(call("b", "Latch"))
    assert latch.inside == ["a", "b"]
    latch.open()
    await one.rest()
    await two.rest()


@pytest.mark.spec("EXE-3")
def test_the_environment_sets_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CALLGATE_MAX_CONCURRENCY", "3")
    assert as_settings(None).max_concurrency == 3
    assert as_settings(ExecutorSettings(max_concurrency=7)).max_concurrency == 7


@pytest.mark.spec("EXE-3")
@pytest.mark.parametrize("wrong", ["0", "-1", "many", "1.5", "²"])
def test_a_limit_that_is_no_number_is_the_users_error(monkeypatch: pytest.MonkeyPatch, wrong: str) -> None:
    monkeypatch.setenv("CALLGATE_MAX_CONCURRENCY", wrong)
    with pytest.raises(UsageError, match="CALLGATE_MAX_CONCURRENCY"):
        as_settings(None)


# ---- locks of the host (EXE-4) ----------------------------------------------------------------------------------


@pytest.mark.spec("EXE-4")
async def test_two_executors_of_one_host_never_write_one_file_at_the_same_time() -> None:
    latch, recorder, host = Latch("Edit", Traits(declared_locks=writes("a.py"))), Recorder(), virtual_host()
    one, two = (Desk(recorder.watch(latch), host=host) for _ in range(2))
    await one.begin(call("first", "Edit"))
    await two.begin(call("second", "Edit"))
    assert recorder.started == ["first"]
    latch.open()
    await one.rest()
    await two.rest()
    assert recorder.order == ["started first", "ended first", "started second", "ended second"]


@pytest.mark.spec("EXE-4")
async def test_executors_of_different_hosts_know_nothing_of_each_other() -> None:
    latch = Latch("Edit", Traits(declared_locks=writes("a.py")))
    one, two = Desk(latch), Desk(latch)
    await one.begin(call("first", "Edit"))
    await two.begin(call("second", "Edit"))
    assert latch.inside == ["first", "second"]
    latch.open()
    await one.rest()
    await two.rest()


@pytest.mark.spec("EXE-4")
async def test_a_call_that_waits_for_one_of_its_locks_holds_no_slot() -> None:
    # given another executor that holds a.py
    latch, host = Latch("Edit", Traits(declared_locks=writes("a.py"))), virtual_host()
    other, recorder = Desk(latch, host=host), Recorder()
    await other.begin(call("other", "Edit"))
    # when a call of ours waits for it, in an executor with one slot
    desk = Desk(recorder.watch(file_writer()), host=host, max_concurrency=1)
    await desk.begin(call("waits", "Edit", path="a.py"), call("runs", "Edit", path="b.py"))
    # then the next one runs meanwhile
    assert recorder.ended == ["runs"]
    latch.open()
    await other.rest()
    await desk.rest()
    assert recorder.ended == ["runs", "waits"]


def agent(host: object, recorder: Recorder, *calls: object, traits: Traits) -> PlainTool:
    """A tool that runs an executor of its own, as a sub-agent does."""

    async def work(_arguments: object, run: object) -> str:
        box = PlainToolbox(recorder.watch(file_writer()))
        async with Executor(box, allow_all(), host=host, lineage=run.lineage) as inner:  # pyright: ignore
            for each in calls:
                inner.add(each)  # pyright: ignore[reportArgumentType]
            inner.close()
            return " ".join([item.id async for item in inner.remaining()])  # pyright: ignore

    return PlainTool("Agent", work, traits=traits)


@pytest.mark.spec("EXE-4")
async def test_the_calls_of_a_sub_agent_do_not_wait_for_the_locks_of_the_call_that_runs_it() -> None:
    host, recorder = virtual_host(), Recorder()
    inner = (call("x", "Edit", path="a.py"), call("y", "Edit", path="a.py"))
    desk = Desk(agent(host, recorder, *inner, traits=ALONE), host=host)
    results = await desk.finish(call("agent", "Agent"))
    assert results["agent"].text == "x y"
    assert recorder.most_at_once == 1


@pytest.mark.spec("EXE-4")
async def test_two_sub_agents_never_write_one_file_at_the_same_time() -> None:
    host, recorder = virtual_host(), Recorder()
    free = Traits(declared_locks=shared)
    one = agent(host, recorder, call("x", "Edit", path="a.py"), traits=free)
    desk = Desk(one, host=host)
    await desk.finish(call("agent 1", "Agent"), call("agent 2", "Agent"))
    assert sorted(recorder.started) == ["x", "x"]
    assert recorder.most_at_once == 1


@pytest.mark.spec("EXE-4")
async def test_a_call_of_another_session_with_an_ancestors_id_is_a_stranger() -> None:
    """Ids come from providers and are unique in one session only: ``call_1`` of two sessions is two calls."""
    host, recorder = virtual_host(), Recorder()
    latch = Latch("Edit", Traits(declared_locks=writes("a.py")))
    # given a session whose call_1 writes a.py
    other = Desk(latch, host=host)
    await other.begin(call("call_1", "Edit"))
    # when the sub-agent in call_1 of a second session wants to write a.py
    free = Traits(declared_locks=shared)
    desk = Desk(agent(host, recorder, call("x", "Edit", path="a.py"), traits=free), host=host)
    await desk.begin(call("call_1", "Agent"))
    started = list(recorder.started)
    latch.open()
    await other.rest()
    await desk.rest()
    # then it waits
    assert started == []


# ---- early start (EXE-5) ----------------------------------------------------------------------------------------


@pytest.mark.spec("EXE-5")
async def test_a_call_without_effects_starts_as_soon_as_it_is_added() -> None:
    latch = Latch()
    desk = Desk(latch)
    desk.add(call("a", "Latch"))
    await settle()
    assert latch.inside == ["a"]
    latch.open()
    await desk.finish()


@pytest.mark.spec("EXE-5")
@pytest.mark.parametrize("effects", ["idempotent", "mutating"])
async def test_a_call_with_effects_starts_when_the_message_is_whole(effects: str) -> None:
    recorder = Recorder()
    desk = Desk(recorder.watch(saying("Do", "did", Traits(effects=effects, declared_locks=shared))))  # pyright: ignore
    desk.add(call("a", "Do"))
    await settle()
    assert recorder.started == []
    assert desk.status("a") is Status.SCHEDULED
    await desk.finish()
    assert recorder.started == ["a"]


@pytest.mark.spec("EXE-5")
async def test_eager_starts_everything_at_once() -> None:
    recorder = Recorder()
    desk = Desk(recorder.watch(saying("Do", "did", Traits(declared_locks=shared))), start="eager")
    desk.add(call("a", "Do"))
    await settle()
    assert recorder.started == ["a"]
    await desk.finish()


@pytest.mark.spec("EXE-5")
async def test_after_starts_nothing_before_the_end() -> None:
    recorder = Recorder()
    desk = Desk(recorder.watch(saying("Look", "seen")), start="after")
    desk.add(call("a", "Look"))
    await settle()
    assert recorder.started == []
    await desk.finish()
    assert recorder.started == ["a"]


# ---- cut off (EXE-6) --------------------------------------------------------------------------------------------


@pytest.mark.spec("EXE-6")
@pytest.mark.parametrize("stop_reason", ["max_tokens", "cut_off", "refusal", "context_full"])
async def test_after_a_cut_off_message_nothing_with_effects_has_run(stop_reason: str) -> None:
    recorder = Recorder()
    desk = Desk(recorder.watch(file_writer()), recorder.watch(saying("Look", "seen")))
    desk.add(call("edit", "Edit", path="a.py"), call("look", "Look"))
    await settle()
    desk.executor.close(stop_reason)
    results = {each.id: each.result for each in await desk.rest()}
    assert recorder.started == ["look"]
    assert results["edit"] is not None
    assert results["edit"].code == "not_run_truncated"
    assert results["edit"].effects == "none"
    assert results["look"] is not None
    assert results["look"].text == "seen"


@pytest.mark.spec("EXE-6")
async def test_a_running_reader_goes_on_when_the_message_is_cut_off() -> None:
    latch = Latch()
    desk = Desk(latch)
    desk.add(call("a", "Latch"))
    await settle()
    desk.executor.close("cut_off")
    latch.open()
    (done,) = await desk.rest()
    assert done.status is Status.SUCCESS


@pytest.mark.spec("EXE-6")
async def test_calls_that_wait_in_any_stage_settle_when_the_message_is_cut_off() -> None:
    # given one that waits for a slot, one that waits for a lock, both without effects
    latch = Latch(traits=FREE)
    desk = Desk(latch, file_reader(), max_concurrency=1)
    desk.add(call("runs", "Latch"), call("no slot", "Latch"), call("no slot either", "Read", path="a.py"))
    await settle()
    desk.executor.close("max_tokens")
    assert desk.result("no slot").code == desk.result("no slot either").code == "not_run_truncated"
    latch.open()
    await desk.rest()
    assert [event.call_id for event in desk.told(CallStarted)] == ["runs"]


@pytest.mark.spec("EXE-6")
async def test_an_eager_call_whose_message_is_cut_off_in_the_same_step_does_not_run() -> None:
    recorder = Recorder()
    desk = Desk(recorder.watch(file_writer()), start="eager")
    desk.add(call("a", "Edit", path="a.py"), call("b", "Edit", path="b.py"))
    desk.executor.close("max_tokens")
    results = {each.id: each.code for each in await desk.rest()}
    assert results == {"a": "not_run_truncated", "b": "not_run_truncated"}
    assert recorder.started == []
    assert len(desk.host.locks) == 0


@pytest.mark.spec("EXE-6")
async def test_an_eager_call_that_waits_for_the_record_when_its_message_is_cut_off_does_not_run() -> None:
    recorder, durable = Recorder(), asyncio.Event()
    desk = Desk(recorder.watch(file_writer()), start="eager", journal=Slow(durable))
    desk.add(call("a", "Edit", path="a.py"))
    await settle()
    desk.executor.close("max_tokens")
    assert desk.result("a").code == "not_run_truncated"
    durable.set()
    await desk.rest()
    assert recorder.started == []


class Slow(MemoryJournal):
    """Durable when the test says so."""

    def __init__(self, durable: asyncio.Event) -> None:
        super().__init__()
        self._durable = durable

    def barrier(self) -> Awaitable[None] | None:
        return None if self._durable.is_set() else self._pass()

    async def _pass(self) -> None:
        await self._durable.wait()


# ---- locks of the host ------------------------------------------------------------------------------------------


@pytest.mark.spec("EXE-4")
async def test_a_lock_that_comes_when_no_slot_is_free_keeps_its_place_for_as_long_as_that_takes() -> None:
    # given a file that others on the host hold, and a call that waits for it while another call has the only slot
    host = virtual_host()
    others = [Desk(lasting("Hold", ON_A), host=host) for _ in range(9)]
    desk = Desk(file_writer(), lasting(), host=host, max_concurrency=1, lock_wait=5.0, start="eager")
    others[0].add(call("o0", "Hold", seconds=4.0))
    others[0].executor.close()
    await settle()
    desk.add(call("edit", "Edit", path="a.py"), call("sleep", "Sleep", seconds=30.0))
    desk.executor.close()
    await settle()
    for n, other in enumerate(others[1:], start=1):
        other.add(call(f"o{n}", "Hold", seconds=4.0))
        other.executor.close()
    # then those that came later wait for it, also when it waits for the slot for longer than for its lock
    loop = asyncio.get_running_loop()
    began = loop.time()
    await desk.rest()
    assert desk.result("edit").code == "ok"
    assert loop.time() - began == pytest.approx(30.0, abs=1.0)
    for other in others:
        await other.rest()
    assert loop.time() - began == pytest.approx(30.0 + 8 * 4.0, abs=1.0)
    assert len(host.locks) == 0


@pytest.mark.spec("EXE-4")
async def test_a_lock_that_comes_when_no_slot_is_free_is_taken_before_those_that_came_later() -> None:
    host, order = virtual_host(), Recorder()
    first, later = Desk(lasting("Hold", ON_A), host=host), Desk(order.watch(lasting("Late", ON_A)), host=host)
    third = Desk(order.watch(lasting("Third", ON_A)), host=host)
    desk = Desk(order.watch(file_writer()), lasting(), host=host, max_concurrency=1, start="eager")
    await first.begin(call("hold", "Hold", seconds=2.0))
    await desk.begin(call("edit", "Edit", path="a.py"), call("sleep", "Sleep", seconds=3.0))
    await later.begin(call("late", "Late", seconds=4.0))
    await third.begin(call("third", "Third", seconds=1.0))
    for each in (first, desk, later, third):
        await each.rest()
    assert order.started == ["edit", "late", "third"]


@pytest.mark.spec("EXE-1", "EXE-4")
async def test_a_link_made_by_an_earlier_call_counts_when_the_later_one_starts(tmp_path: Path) -> None:
    """Both write one file, over two names of which one became a link meanwhile."""
    (tmp_path / "real").mkdir()
    running: list[str] = []

    async def write(arguments: Mapping[str, Any], run: Run) -> str:
        assert not running, f"{run.call_id} runs beside {running}"
        running.append(run.call_id)
        await asyncio.sleep(0)
        running.remove(run.call_id)
        return "written"

    def link(_arguments: Mapping[str, Any], _run: Run) -> str:
        (tmp_path / "name").symlink_to("real")
        return "linked"

    desk = Desk(
        PlainTool("Link", link, traits=Traits(declared_locks=writes("name"))),
        file_writer("Write", write),
        host=LocalHost(tmp_path, clock=LoopClock()),
    )
    ids = ("link", "over the link", "direct")
    paths = ("", "name/a.txt", "real/a.txt")
    calls = [call("link", "Link")] + [
        call(each, "Write", path=path) for each, path in zip(ids[1:], paths[1:], strict=True)
    ]
    results = await desk.finish(*calls)
    assert codes(results) == dict.fromkeys(ids, "ok")


@pytest.mark.spec("EXE-4")
async def test_two_local_hosts_on_one_root_share_their_locks(tmp_path: Path) -> None:
    (tmp_path / "linked").symlink_to(tmp_path)
    held = 0

    async def increment(_arguments: Mapping[str, Any], _run: Run) -> str:
        nonlocal held
        held += 1
        assert held == 1, "two at once"
        await asyncio.sleep(0)
        held -= 1
        return "done"

    roots = (tmp_path, tmp_path / "linked")
    desks = [Desk(file_writer("Write", increment), host=LocalHost(root, clock=LoopClock())) for root in roots]
    for n, desk in enumerate(desks):
        await desk.begin(call(f"c{n}", "Write", path="count.txt"))
    for desk in desks:
        assert [each.code for each in await desk.rest()] == ["ok"]
