"""How runs end: each cause by its own name, with a sentence and an exit code; and failures that are tried again."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any, get_args

import pytest

from callgate import Continue, Interrupt, Prompt, Session, SessionLimits, Store
from callgate.conversation.loop import CONTINUE_TEXT
from callgate.testing import PlainTool, ScriptedModel, call, cut_off, fail, limit, pause, run_virtual, say, settle, turn
from callgate.testing.script import Ended, stop
from callgate.words.endings import ENDINGS, RunReason
from callgate.words.errors import ModelError
from callgate.words.events import Event, InputRefused, Paused, RunEnded
from callgate.words.inputs import SetMode
from callgate.words.limits import LoopLimits, Retries
from callgate.words.model import Abilities, ModelEvent, Request, TextDelta
from callgate.words.traits import Traits
from tests.flows.kit import Workspace, check_history, run
from tests.sessions import grouped_session, with_event


def ends(events: Sequence[object]) -> list[RunEnded]:
    return [event for event in events if isinstance(event, RunEnded)]


def overloaded(after: float | None = None) -> Ended:
    return fail(ModelError("too busy", kind="overloaded", retryable=True, retry_after=after))


# ---- TRN-8 ----------------------------------------------------------------------------------------------------------

READS = call("read", path="a")
CAUSES: dict[str, tuple[Any, dict[str, Any]]] = {
    "done": (turn(say("Fine.")), {}),
    "limit": (turn(READS), {"limits": LoopLimits(max_turns=1)}),
    "output_limit": (turn(say("So"), limit()), {"limits": LoopLimits(max_truncations=0)}),
    "context_full": (turn(say("So"), stop("context_full")), {}),
    "refusal": (turn(say("No."), stop("refusal")), {}),
    "cut_off": (turn(say("So"), cut_off()), {"limits": LoopLimits(retries=Retries(most=0))}),
    "model_error": (turn(fail(ModelError("away", kind="connection"))), {}),
}


@pytest.mark.spec("TRN-8")
@pytest.mark.parametrize("reason", CAUSES)
def test_a_run_names_the_cause_of_its_end(reason: str) -> None:
    scene, options = CAUSES[reason]

    async def main() -> None:
        async with Workspace().session(ScriptedModel(scene), **options) as session:
            (ended,) = ends(await run(session))
            assert ended.reason == reason
            check_history(session.messages)
            kinds = {"limit": "turns", "model_error": "connection"}
            assert ended.kind == kinds.get(reason, "")

    run_virtual(main())


@pytest.mark.spec("TRN-8")
@pytest.mark.parametrize("reason", ["refusal", "context_full"])
def test_a_refusal_and_a_full_context_end_the_run_although_calls_have_results(reason: RunReason) -> None:
    """The next request would end in the same way."""

    async def main() -> None:
        model = ScriptedModel(otherwise=turn(READS, stop(reason)))  # pyright: ignore
        async with Workspace().session(model) as session:
            assert [each.reason for each in ends(await run(session))] == [reason]
            summaries = [request for request in model.requests[1:] if not request.tools]
            assert len(model.requests) == 1 + len(summaries), "only a shorter history was tried for"
            assert bool(summaries) == (reason == "context_full")
            check_history(session.messages)

    run_virtual(main())


@pytest.mark.spec("TRN-8")
def test_an_output_limit_that_comes_again_and_again_is_named() -> None:
    async def main() -> None:
        async with Workspace().session(ScriptedModel(otherwise=turn(call("write", path="a"), limit()))) as session:
            assert ends(await run(session))[-1].reason == "output_limit"

    run_virtual(main())


@pytest.mark.spec("TRN-8")
def test_an_interrupt_and_a_pause_after_denials_end_the_run_by_name() -> None:
    async def main() -> None:
        space = Workspace()
        async with space.session(ScriptedModel(turn(say("a"), pause(100.0)))) as session:
            reply = session.send(Prompt("go"))
            await settle()
            session.post(Interrupt())
            assert [each.reason for each in ends(await reply)] == ["interrupted"]
        model = ScriptedModel(otherwise=lambda request: turn(call("write", path=str(len(request.messages)))))
        async with space.session(model, limits=LoopLimits(denials_in_a_row=2)) as session:
            session.post(SetMode("plan"))
            events = await run(session)
            (ended,) = ends(events)
            assert ended.reason == "paused"
            assert ended.detail == "2 calls in a row were denied"
            assert any(isinstance(event, Paused) for event in events)
            assert session.status == "paused"

    run_virtual(main())


@pytest.mark.spec("TRN-8")
def test_a_run_that_paused_is_listed_as_unfinished_and_goes_on_after_a_restart(tmp_path: Path) -> None:
    async def main() -> None:
        store, tools = Store(tmp_path / "kept"), [PlainTool("change", traits=Traits())]
        options: dict[str, Any] = {"root": tmp_path, "mode": "plan", "limits": LoopLimits(denials_in_a_row=1)}
        model = ScriptedModel(turn(call("change")))
        async with grouped_session(model, tools, journal=await store.create(), **options) as session:
            assert ends(await session.send(Prompt("go")))[-1].reason == "paused"
        (about,) = [each.about for each in store.list()]
        assert about.unfinished
        model = ScriptedModel(turn(say("Then not.")))
        async with grouped_session(model, tools, journal=await store.open(), **options) as session:
            assert session.status == "paused"
            assert ends(await session.send(Continue()))[-1].reason == "done"

    asyncio.run(main())


@pytest.mark.spec("TRN-8")
def test_every_cause_has_a_sentence_and_one_of_the_exit_codes_of_every_command() -> None:
    assert set(ENDINGS) == set(get_args(RunReason))
    by_code: dict[int, set[str]] = {}
    for reason, ending in ENDINGS.items():
        by_code.setdefault(ending.exit_code, set()).add(reason)
    assert by_code == {
        0: {"done"},
        1: {"call_not_made", "context_full", "cut_off", "refusal", "model_error", "stopped"},
        3: {"paused"},
        4: {"limit", "budget", "output_limit"},
        130: {"interrupted"},
    }
    wrong = {reason: RunEnded(0.0, reason, "x", kind="turns").sentence for reason in ENDINGS}
    assert [text for text in wrong.values() if "{" in text or not text.endswith(". x")] == []
    assert RunEnded(0.0, "limit", kind="turns").sentence == "A limit of the run was reached: turns."
    assert RunEnded(0.0, "model_error").exit_code == ENDINGS["model_error"].exit_code


# ---- a run that goes on ----------------------------------------------------------------------------------------


def test_an_interrupt_ends_the_wait_for_the_next_attempt() -> None:
    async def main() -> None:
        model = ScriptedModel(turn(overloaded(30.0)), turn(say("never")))
        async with Workspace().session(model) as session:
            reply = session.send(Prompt("go"))
            await settle()
            session.post(Interrupt())
            assert [each.reason for each in ends(await reply)] == ["interrupted"]
            assert len(model.requests) == 1

    run_virtual(main())


@pytest.mark.parametrize(
    ("scene", "asked"),
    [
        (turn(overloaded()), "go"),
        (turn(fail("broken")), "go"),
        (turn(say("half"), fail("broken")), CONTINUE_TEXT),
        (turn(say("half"), cut_off()), CONTINUE_TEXT),
        (turn(say("half"), limit()), CONTINUE_TEXT),
    ],
    ids=["overloaded", "broken", "broken in the middle", "cut off", "limit"],
)
@pytest.mark.parametrize("kept", [False, True], ids=["at once", "after a restart"])
def test_continue_takes_up_a_run_that_its_model_broke_off(scene: Any, asked: str, kept: bool, tmp_path: Path) -> None:
    async def main() -> None:
        store = Store(tmp_path / "kept")
        limits = LoopLimits(max_truncations=0, retries=Retries(most=0))
        model = ScriptedModel(scene, turn(say("Done.")))
        session = Session(model, journal=await store.create(), limits=SessionLimits(run=limits), host=tmp_path)
        await session.send(Prompt("go"))
        if kept:
            await session.aclose()
            model = ScriptedModel(turn(say("Done.")))
            session = Session(model, journal=await store.open(), limits=SessionLimits(run=limits), host=tmp_path)
        async with session:
            events = await session.send(Continue())
            assert not any(isinstance(event, InputRefused) for event in events)
            assert ends(events)[-1].reason == "done"
            assert model.requests[-1].messages[-1].text == asked
            assert session.messages[-1].text == "Done."
            refused = await session.send(Continue())
            assert [event.reason for event in refused if isinstance(event, InputRefused)] == ["no work is unfinished"]

    asyncio.run(main())


# ---- a model that raises what it must not ---------------------------------------------------------------------------


class Panic(BaseException):
    pass


class Breaking:
    """Raises an exception when it is asked, while it streams, or when its stream is closed."""

    name = "breaking"
    abilities = Abilities()

    def __init__(self, error: BaseException, when: str) -> None:
        self._error = error
        self._when = when

    def stream(self, request: Request) -> AsyncIterator[ModelEvent]:
        if self._when == "asked":
            raise self._error
        return self._events(request)

    async def _events(self, request: Request) -> AsyncIterator[ModelEvent]:
        async for event in ScriptedModel(turn(say("half of it"))).stream(request):
            if self._when == "streaming" and isinstance(event, TextDelta):
                raise self._error
            yield event
        if self._when == "ending":
            raise self._error


@pytest.mark.parametrize("when", ["asked", "streaming", "ending"])
@pytest.mark.parametrize("error", [Panic("oh"), SystemExit(3), GeneratorExit(), ValueError("no")], ids=repr)
def test_whatever_a_stream_raises_the_run_ends_with_an_event(error: BaseException, when: str) -> None:
    async def main() -> None:
        heard: list[Event] = []
        async with Session(Breaking(error, when)) as session:
            session.listen(with_event(heard.append))
            await session.send(Prompt("go"))
            assert session.status == "idle"
        (ended,) = ends(heard)
        assert ended.reason == "model_error"
        assert type(error).__name__ in ended.detail

    asyncio.run(main())
