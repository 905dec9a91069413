"""What becomes of a resolution that is interrupted: before it starts nothing is done, after that all of it."""

import asyncio
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from callgate import Prompt, Session, Store
from callgate.host.applying import replacement
from callgate.testing import say, settle, turn
from callgate.tools.staging import Callbacks
from callgate.words.events import CallSettled, CallStarted, Event, StrayEnded, StrayFound
from callgate.words.inputs import Interrupt
from callgate.words.limits import ExecutorSettings
from tests.flows.keep import results, run
from tests.flows.resolving.kit import Bench, apply, discard, pending, stages
from tests.sessions import with_event


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


# ---- cancelled before it starts -------------------------------------------------------------------------------------


@pytest.mark.spec("RES-6")
def test_an_interrupt_while_it_is_asked_about_runs_nothing(bench: Bench) -> None:
    bench.put("rename", bench.callbacks("rename"))

    async def main() -> None:
        async with bench.open(turn(stages("rename")), turn(apply()), mode="default") as session:
            await bench.say(Prompt("go"))
            assert session.status == "waiting_confirmation"
            await bench.say(Interrupt())
            assert [each.id for each in session.pending] == [pending(1)]
            told = bench.results()["call_2"]
            assert (told.code, told.details["started"]) == ("cancelled_by_user", False)
            assert bench.ran == []

    run(main())


@pytest.mark.spec("RES-6")
def test_an_interrupt_while_it_waits_for_its_locks_runs_nothing(bench: Bench) -> None:
    bench.put("rename", bench.callbacks("rename"))
    bench.put("slow", Callbacks(lambda reason, extra: None))

    async def main() -> None:
        inside, let_go = asyncio.Event(), asyncio.Event()

        async def slow(reason: str, extra: Any) -> str:
            inside.set()
            await let_go.wait()
            return "slow is done"

        bench.put("slow", Callbacks(slow))
        async with bench.open(turn(stages("rename")), turn(stages("slow")), turn(apply(), apply())) as session:
            reply = session.send(Prompt("go"))
            await inside.wait()
            session.post(Interrupt())
            let_go.set()
            bench.events += await reply
            told = bench.results()
            assert (told["call_3"].is_error, told["call_3"].text) == (False, "slow is done")
            assert (told["call_4"].code, told["call_4"].details["started"]) == ("cancelled_by_user", False)
            assert [each.id for each in session.pending] == [pending(1)]
            assert bench.ran == []

    run(main())


@pytest.mark.spec("RES-6")
@pytest.mark.parametrize("action", ["apply", "discard"])
@pytest.mark.parametrize("kind", ["async", "plain"])
def test_an_interrupt_at_the_last_moment_before_the_callback_runs_nothing(bench: Bench, kind: str, action: str) -> None:
    async def waiting(reason: str, extra: Any) -> None:
        bench.heard.append((action, reason, extra))

    def plain(reason: str, extra: Any) -> None:
        bench.heard.append((action, reason, extra))

    callback: Any = waiting if kind == "async" else plain
    bench.put("rename", Callbacks(callback, callback))

    async def main() -> None:
        said = apply() if action == "apply" else discard()
        async with bench.open(turn(stages("rename")), turn(said)) as session:

            def hear(event: Event) -> None:
                if isinstance(event, CallStarted) and event.call_id == "call_2":
                    session.post(Interrupt())
                    bench.heard.clear()  # what ran before is not the question

            session.listen(with_event(hear))
            reply = session.send(Prompt("go"))
            bench.events += await reply
            assert bench.heard == []
            assert [each.id for each in session.pending] == [pending(1)]
            assert bench.results()["call_2"].code == "cancelled_by_user"

    run(main())


# ---- cancelled while it runs ----------------------------------------------------------------------------------------


class Slow:
    """A callback that stays inside until it is let go, of either kind."""

    def __init__(self, kind: str, *, raises: Exception | None = None) -> None:
        self._loop = asyncio.get_running_loop()
        self.inside = asyncio.Event()
        self._open = asyncio.Event() if kind == "async" else threading.Event()
        self._raises = raises
        self.cancelled = False
        self.callback: Callable[[str, Any], Any] = self._wait if kind == "async" else self._block

    def let_go(self) -> None:
        self._open.set()

    async def _wait(self, reason: str, extra: Any) -> str:
        self.inside.set()
        assert isinstance(self._open, asyncio.Event)
        try:
            await self._open.wait()
        except asyncio.CancelledError:
            self.cancelled = True
            raise
        return self._end()

    def _block(self, reason: str, extra: Any) -> str:
        self._loop.call_soon_threadsafe(self.inside.set)
        assert isinstance(self._open, threading.Event)
        self._open.wait()
        return self._end()

    def _end(self) -> str:
        if self._raises is not None:
            raise self._raises
        return "all of it is done"


@pytest.mark.spec("RES-6")
@pytest.mark.parametrize("kind", ["async", "plain"])
@pytest.mark.parametrize("action", ["apply", "discard"])
def test_an_interrupt_during_a_callback_sees_it_through_and_reports_it(bench: Bench, kind: str, action: str) -> None:
    async def main() -> None:
        slow = Slow(kind)
        bench.put("rename", Callbacks(slow.callback, slow.callback))
        said = apply() if action == "apply" else discard()
        async with bench.open(turn(stages("rename")), turn(said)) as session:
            reply = session.send(Prompt("go"))
            # given a callback that is at it when the interrupt comes
            await slow.inside.wait()
            session.post(Interrupt())
            await settle()
            assert session.status == "working", "it is waited for"
            slow.let_go()
            bench.events += await reply
            # then it has run to its end, and that is what is told
            told = bench.results()["call_2"]
            assert not slow.cancelled
            assert (told.is_error, told.text) == (False, "all of it is done")
            assert told.details["action"] == action
            assert bench.resolved() == [(pending(1), "applied" if action == "apply" else "discarded")]
            assert session.pending == ()

    run(main())


@pytest.mark.spec("RES-5", "RES-6")
@pytest.mark.parametrize("kind", ["async", "plain"])
def test_an_interrupt_during_an_apply_that_fails_tells_how_it_failed(bench: Bench, kind: str) -> None:
    async def main() -> None:
        slow = Slow(kind, raises=ValueError("not now"))
        bench.put("rename", Callbacks(slow.callback))
        async with bench.open(turn(stages("rename")), turn(apply())) as session:
            reply = session.send(Prompt("go"))
            await slow.inside.wait()
            session.post(Interrupt())
            slow.let_go()
            bench.events += await reply
            told = bench.results()["call_2"]
            assert told.is_error
            assert "Apply failed: not now" in told.text
            assert [each.id for each in session.pending] == [pending(1)]

    run(main())


@pytest.mark.spec("RES-6")
@pytest.mark.parametrize("kept", [False, True], ids=["in memory", "kept"])
def test_an_interrupt_while_changes_are_written_sees_them_through(
    bench: Bench, kept: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench.put("rename", bench.change("a.py", "b.py"))

    async def main() -> None:
        loop, inside, let_go = asyncio.get_running_loop(), asyncio.Event(), threading.Event()
        commit = replacement.FileReplacement.commit

        def slowly(self: replacement.FileReplacement) -> None:
            loop.call_soon_threadsafe(inside.set)
            let_go.wait()
            commit(self)

        monkeypatch.setattr(replacement.FileReplacement, "commit", slowly)
        options: dict[str, Any] = {}
        if kept:
            options["journal"] = await Store(bench.root, bench.folder / "data").create()
        async with bench.open(turn(stages("rename")), turn(apply()), **options) as session:
            reply = session.send(Prompt("go"))
            await inside.wait()
            session.post(Interrupt())
            let_go.set()
            bench.events += await reply
            told = bench.results()["call_2"]
            assert (told.is_error, told.text) == (False, "Applied: rename (2 files, +2 −2). Reason: fine")
            assert bench.resolved() == [(pending(1), "applied")]
            assert (bench.text("a.py"), bench.text("b.py")) == ("new\n", "new\n")

    run(main())


@pytest.mark.spec("RES-6")
def test_an_interrupt_while_changes_do_not_fit_leaves_them_pending(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench.put("rename", bench.change("a.py"))

    async def main() -> None:
        loop, inside, let_go = asyncio.get_running_loop(), asyncio.Event(), threading.Event()
        difference = replacement.FileReplacement.difference

        def slowly(self: replacement.FileReplacement) -> str | None:
            loop.call_soon_threadsafe(inside.set)
            let_go.wait()
            return difference(self)

        monkeypatch.setattr(replacement.FileReplacement, "difference", slowly)
        async with bench.open(turn(stages("rename")), turn(apply())) as session:
            reply = session.send(Prompt("go"))
            await inside.wait()
            session.post(Interrupt())
            (bench.root / "a.py").write_text("mine\n")
            let_go.set()
            bench.events += await reply
            told = bench.results()["call_2"]
            assert told.is_error
            assert "a.py" in told.text
            assert bench.text("a.py") == "mine\n"
            assert [each.id for each in session.pending] == [pending(1)]

    run(main())


def heard(session: Session, kind: type[Any], call_id: str) -> asyncio.Future[Any]:
    """The next event of this kind about this call."""
    found: asyncio.Future[Any] = asyncio.get_running_loop().create_future()

    def hear(event: Event) -> None:
        if isinstance(event, kind) and getattr(event, "call_id", "") == call_id and not found.done():
            found.set_result(event)

    session.listen(with_event(hear))
    return found


@pytest.mark.spec("RES-6")
@pytest.mark.parametrize("kind", ["async", "plain"])
def test_an_apply_that_outlasts_the_grace_of_an_interrupt_is_told_as_what_it_came_to(bench: Bench, kind: str) -> None:
    async def main() -> None:
        slow = Slow(kind)
        bench.put("rename", Callbacks(slow.callback))
        settings = ExecutorSettings(grace=0.0)
        async with bench.open(turn(stages("rename")), turn(apply()), turn(say("I see")), settings=settings) as session:
            session.listen(with_event(bench.events.append))
            stray, settled = heard(session, StrayFound, "call_2"), heard(session, CallSettled, "call_2")
            session.post(Prompt("go"))
            await slow.inside.wait()
            # given an apply that is not over when the grace of the interrupt is
            ended = heard(session, StrayEnded, "call_2")
            session.post(Interrupt())
            await settle()
            slow.let_go()
            await settled
            if stray.done():
                await ended
            assert bench.resolved() == [(pending(1), "applied")]
            # then the model knows that it was applied when it goes on
            await session.send(Prompt("and?"))
            said = "\n".join(results_and_words(bench))
            assert "all of it is done" in said or f"({pending(1)}), applied" in said

    run(main())


def results_and_words(bench: Bench) -> list[str]:
    """All that the model was told by the time of its last message."""
    messages = bench.model.requests[-1].messages
    return [message.text for message in messages] + [*results(tuple(messages)).values()]


@pytest.mark.spec("RES-6")
def test_while_an_action_is_seen_through_nobody_else_gets_hold_of_it(bench: Bench) -> None:
    async def main() -> None:
        slow = Slow("async")
        bench.put("rename", Callbacks(slow.callback))
        scenes = turn(stages("rename")), turn(apply()), turn(apply("again", id=pending(1)))
        async with bench.open(*scenes, settings=ExecutorSettings(grace=0.0)) as session:
            session.listen(with_event(bench.events.append))
            session.post(Prompt("go"))
            await slow.inside.wait()
            settled = heard(session, CallSettled, "call_2")
            session.post(Interrupt())
            await settled
            # given one that still runs after the interrupt
            slow.inside.clear()
            again, ended = heard(session, CallSettled, "call_3"), heard(session, StrayEnded, "call_2")
            reply = session.send(Prompt("go on"))
            await settle()
            # then a second resolve of it does not start its callback once more
            assert not slow.inside.is_set()
            slow.let_go()
            await ended
            await reply
            assert (await again).result.is_error
            assert bench.resolved()[0] == (pending(1), "applied")
            assert session.pending == ()

    run(main())
