"""Dependencies of a program for its tools: the very object, typed, never copied and never on record."""

import asyncio
import sqlite3
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import Annotated, Any

import pytest

from callgate import Nesting, Run, Session, Store, ToolCall, ToolCallRunner, shared, tool, writes
from callgate.assembly import Executor
from callgate.features import context_feature
from callgate.testing import ScriptedModel, call, say, turn
from callgate.words.errors import UsageError


@dataclass
class Shop:
    """Neither to be copied nor to be pickled."""

    orders: list[str] = field(default_factory=list[str])
    lock: Any = field(default_factory=Lock)


@tool(effects="none")
def order(what: str, run: Run[Shop]) -> str:
    """Order something."""
    with run.deps.lock:
        run.deps.orders.append(what)
    return "ordered"


@tool(effects="none")
async def order_later(what: str, run: "Run[Shop] | None" = None) -> str:
    """Order something, on the loop."""
    assert run is not None
    run.deps.orders.append(what)
    return "ordered"


@tool(effects="none")
def order_each(what: str, run: Run[Shop]) -> Iterator[str]:
    """Order something, item by item."""
    run.deps.orders.append(what)
    yield "ordered"


TOOLS = [order, order_later, order_each]


async def test_every_kind_of_tool_gets_the_very_object() -> None:
    shop = Shop()
    model = ScriptedModel(turn(*(call(each.spec.name, what=each.spec.name) for each in TOOLS)), turn(say("done")))
    async with Session(model, TOOLS, deps=shop) as session:
        await session.run("go")
    assert sorted(shop.orders) == ["order", "order_each", "order_later"]
    assert all("run" not in each.spec.parameters["properties"] for each in TOOLS)


async def test_the_executor_and_the_runner_take_it_too() -> None:
    shop = Shop()
    async with Executor([order], deps=shop) as executor:
        executor.add(ToolCall("c1", "order", {"what": "a"}))
        executor.close()
        assert [each async for each in executor.remaining()]
    await ToolCallRunner([order], deps=shop).execute([ToolCall("c2", "order", {"what": "b"})])
    assert shop.orders == ["a", "b"]


async def test_a_nested_session_inherits_it_unless_given_its_own() -> None:
    outer, inner = Shop(), Shop()

    @tool(effects="none")
    async def delegate(own: bool, run: Run[Shop]) -> str:
        """Let an agent order."""
        model = ScriptedModel(turn(call("order", what="nested")), turn(say("done")))
        async with Session(model, [order], nesting=Nesting(parent=session), deps=inner if own else None) as child:
            return (await child.run("go")).text

    model = ScriptedModel(turn(call("delegate", own=False), call("delegate", own=True)), turn(say("done")))
    async with Session(model, [delegate], deps=outer) as session:
        await session.run("go")
    assert (outer.orders, inner.orders) == (["nested"], ["nested"])


async def test_nothing_of_it_is_on_record(tmp_path: Path) -> None:
    shop = Shop(["a very secret order"])
    store = Store(tmp_path, tmp_path / "data")
    model = ScriptedModel(turn(call("order", what="x")), turn(say("done")))
    async with Session(model, [order], deps=shop, journal=await store.create(), host=tmp_path) as session:
        await session.run("go")
    written = b"".join(each.read_bytes() for each in (tmp_path / "data").rglob("*") if each.is_file())
    assert b"ordered" in written
    assert b"very secret" not in written


def test_a_live_object_in_the_context_is_refused_at_once_with_deps_named() -> None:
    with sqlite3.connect(":memory:") as connection:
        wanted = r"context\['db'\] is not JSON data \(Connection\).*Pass live objects as deps="
        with pytest.raises(UsageError, match=wanted):
            Session(ScriptedModel(), features=[context_feature({"user": "ann", "db": connection})])
        with pytest.raises(UsageError, match=wanted):
            Executor([], context={"db": connection})
    connection.close()


def counting(counter: Path) -> Any:
    read, write = counter.read_text, counter.write_text
    write("0")

    @tool(locks=writes(str(counter)), repeats=True)
    async def count() -> str:
        """Count."""
        before = int(read())
        await asyncio.sleep(0)
        write(str(before + 1))
        return "counted"

    return count


async def test_nested_sessions_share_the_locks_of_their_parent(tmp_path: Path) -> None:
    count = counting(tmp_path / "n")

    @tool(effects="none", locks=shared)
    async def delegate(name: str) -> str:
        """Let an agent count."""
        model = ScriptedModel(turn(call("count"), call("count")), turn(say("done")))
        async with Session(model, [count], nesting=Nesting(parent=session), mode="bypass") as child:
            assert child.controls.host is session.controls.host
            return (await child.run("go")).text

    model = ScriptedModel(turn(*(call("delegate", name=name) for name in "abc")), turn(say("done")))
    async with Session(model, [delegate], host=tmp_path, mode="bypass") as session:
        assert (await session.run("go")).ok
    assert (tmp_path / "n").read_text() == "6"


async def test_a_nested_session_does_not_wait_for_the_locks_of_the_call_around_it(tmp_path: Path) -> None:
    count = counting(tmp_path / "n")

    @tool
    async def delegate() -> str:
        """Let an agent count, alone in the workspace."""
        model = ScriptedModel(turn(call("count")), turn(say("done")))
        async with Session(model, [count], nesting=Nesting(parent=session), mode="bypass") as child:
            return (await child.run("go")).text

    model = ScriptedModel(turn(call("delegate"), call("delegate")), turn(say("done")))
    async with Session(model, [delegate], host=tmp_path, mode="bypass") as session:
        assert (await session.run("go")).ok
    assert (tmp_path / "n").read_text() == "2"


def test_a_tool_in_a_thread_may_run_a_session_of_its_own(tmp_path: Path) -> None:
    count = counting(tmp_path / "n")

    @tool
    def delegate() -> str:
        """Let an agent count, alone in the workspace."""
        model = ScriptedModel(turn(call("count")), turn(say("done")))
        with Session(model, [count], nesting=Nesting(parent=session), mode="bypass") as child:
            return child.run_sync("go").text

    model = ScriptedModel(turn(call("delegate")), turn(say("done")))
    with Session(model, [delegate], host=tmp_path, mode="bypass") as session:
        assert session.run_sync("go").ok
    assert (tmp_path / "n").read_text() == "1"


def test_sessions_in_two_threads_do_not_lose_each_others_writes(tmp_path: Path) -> None:
    count = counting(tmp_path / "n")

    def work() -> None:
        model = ScriptedModel(turn(*(call("count") for _ in range(10))), turn(say("done")))
        with Session(model, [count], host=tmp_path, mode="bypass") as session:
            assert session.run_sync("go").ok

    with ThreadPoolExecutor(2) as threads:
        for done in [threads.submit(work) for _ in range(2)]:
            done.result()
    assert (tmp_path / "n").read_text() == "20"


async def test_two_sessions_on_one_root_share_their_locks(tmp_path: Path) -> None:
    async with Session(ScriptedModel(), host=tmp_path) as one, Session(ScriptedModel(), host=tmp_path) as two:
        assert one.controls.host.locks is two.controls.host.locks
        async with Session(ScriptedModel(), host=tmp_path / "..") as other:
            assert other.controls.host.locks is not one.controls.host.locks


class LargeShop(Shop):
    """A Shop too."""


def _with(annotation: Any) -> Any:
    def act(run: Any) -> str:
        """Act."""
        return "done"

    act.__annotations__["run"] = annotation
    return tool(act)


DEPS: list[tuple[Any, Any, bool]] = [
    (Run[Shop], Shop(), True),
    (Run[Shop], LargeShop(), True),
    (Run[Shop], None, True),
    (Run[Any], 7, True),
    (Run, 7, True),
    (Run[dict[str, int]], 7, True),
    (Run[Shop] | None, Shop(), True),
    (Run[Shop], Shop, False),
    (Run[Shop], 7, False),
    (Run[Shop] | None, "shop", False),
    (Run[LargeShop], Shop(), False),
    (Annotated[Run[Shop], "x"], 7, False),
]


async def test_deps_of_another_type_than_a_tool_names_are_refused() -> None:
    wrong: list[str] = []
    for annotation, given, fits in DEPS:
        refusal = ""
        try:
            async with Session(ScriptedModel(), [_with(annotation)], deps=given):
                pass
        except UsageError as error:
            refusal = str(error)
        if (refusal == "") is not fits or (refusal and "the tool act takes Run[" not in refusal):
            wrong.append(f"{annotation} with {given!r}: {refusal}")
    assert not wrong, "\n".join(wrong)
