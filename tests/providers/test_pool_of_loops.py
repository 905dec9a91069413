"""Programs that use one model on several event loops leave no open connection, and each gets its answer."""

import asyncio
import gc
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Thread
from typing import Any

from callgate import Model, Session, run_sync, tool
from callgate.host.clock import LoopClock
from callgate.providers.http_model import HttpModel
from tests.providers.servers import Answer, Call, FakeServer, Reply, Say, serving, writer

PLAIN = writer("plain")
CALL = Reply.of(PLAIN, Answer((Call("c1", "nested", "{}"),)))
SAYS = Reply.of(PLAIN, Answer((Say("done"),)))


async def once(model: Model) -> str:
    async with Session(model) as session:
        return (await session.run("go")).text


def two_calls_of_run_sync(model: Model) -> list[str]:
    return [run_sync(model, "go").text for _ in range(2)]


def two_sessions(model: Model) -> list[str]:
    found: list[str] = []
    for _ in range(2):
        with Session(model) as session:
            found.append(session.run_sync("go").text)
    return found


def two_runs_of_a_session(model: Model) -> list[str]:
    with Session(model) as session:
        return [session.run_sync("go").text for _ in range(2)]


def two_loops(model: Model) -> list[str]:
    return [asyncio.run(once(model)) for _ in range(2)]


def threads(model: Model) -> list[str]:
    with ThreadPoolExecutor(4) as pool:
        return [*pool.map(lambda _: asyncio.run(once(model)), range(4))]


def sessions_at_once(model: Model) -> list[str]:
    async def main() -> list[str]:
        return await asyncio.gather(*(once(model) for _ in range(6)))

    return asyncio.run(main())


def _nested(model: Model, run: Callable[[Session], str]) -> list[str]:
    found: list[str] = []

    @tool(effects="none")
    def nested() -> str:
        """Ask a nested session."""
        found.append(run(session))
        return found[-1]

    with Session(model, [nested], mode="bypass") as session:
        return [*found, session.run_sync("go").text, *found]


def a_nested_session(model: Model) -> list[str]:
    def run(session: Session) -> str:
        with session.derive(tools=[]) as inner:
            return inner.run_sync("go").text

    return _nested(model, run)


def two_nested_runs(model: Model) -> list[str]:
    def run(session: Session) -> str:
        with session.derive(tools=[]) as inner:
            return inner.run_sync("go").text + inner.run_sync("again").text

    return _nested(model, run)


def nested_in_a_loop_of_its_own(model: Model) -> list[str]:
    async def ask(session: Session) -> str:
        async with session.derive(tools=[]) as inner:
            return (await inner.run("go")).text

    return _nested(model, lambda session: asyncio.run(ask(session)))


def nested_twice(model: Model) -> list[str]:
    def run(session: Session) -> str:
        with session.derive(tools=[]) as outer, outer.derive(tools=[]) as inner:
            return outer.run_sync("go").text + inner.run_sync("go").text

    return _nested(model, run)


def a_thread_beside_a_loop(model: Model) -> list[str]:
    async def main() -> list[str]:
        found = [await once(model)]
        thread = Thread(target=lambda: found.append(asyncio.run(once(model))))
        thread.start()
        await asyncio.to_thread(thread.join)
        return [*found, await once(model)]

    return asyncio.run(main())


PROGRAMS: list[tuple[Callable[[Model], list[str]], list[Reply], list[str]]] = [
    (two_calls_of_run_sync, [SAYS] * 2, ["done"] * 2),
    (two_sessions, [SAYS] * 2, ["done"] * 2),
    (two_runs_of_a_session, [SAYS] * 2, ["done"] * 2),
    (two_loops, [SAYS] * 2, ["done"] * 2),
    (threads, [SAYS] * 4, ["done"] * 4),
    (sessions_at_once, [SAYS] * 6, ["done"] * 6),
    (a_nested_session, [CALL, SAYS, SAYS], ["done"] * 2),
    (two_nested_runs, [CALL, SAYS, SAYS, SAYS], ["done", "donedone"]),
    (nested_in_a_loop_of_its_own, [CALL, SAYS, SAYS], ["done"] * 2),
    (nested_twice, [CALL, SAYS, SAYS, SAYS], ["done", "donedone"]),
    (a_thread_beside_a_loop, [SAYS] * 3, ["done"] * 3),
]


def _left_open(program: Callable[[Model], list[str]], server: FakeServer) -> tuple[list[str], list[str]]:
    """Run the program. Return its answers, and the warnings about objects that it left open."""
    model: Any = HttpModel(
        f"{PLAIN.family.name}/x", PLAIN.family, PLAIN.facts, key=PLAIN.key, base=server.url, clock=LoopClock()
    )
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always", ResourceWarning)
        answers = program(model)
        del model
        gc.collect()
    return answers, [str(each.message) for each in found if issubclass(each.category, ResourceWarning)]


def test_no_connection_is_left_open_at_the_end_of_an_event_loop() -> None:
    wrong: list[str] = []
    for program, replies, wanted in PROGRAMS:
        with serving(*replies) as server:
            answers, left = _left_open(program, server)
        if answers != wanted or left:
            wrong.append(f"{program.__name__}: {answers}, {left}")
    assert not wrong, "\n".join(wrong)


def test_the_connections_of_a_loop_are_reused_after_a_nested_session_on_another_loop() -> None:
    with serving(CALL, SAYS, SAYS, SAYS) as server:
        assert _left_open(two_nested_runs, server)[0] == ["done", "donedone"]
        assert server.connections == 2
