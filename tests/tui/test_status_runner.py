"""When the command of the status line runs, and what its end changes: against a model of the rules."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as some

from callgate.assembly.settings import Finished
from callgate.testing import ManualClock, run_virtual, settle
from callgate.tui.statusline.status_line import DEBOUNCE, StatusLine, asks_for_run, failure_of, status_lines
from callgate.words import events as facts
from callgate.words.messages import Message

REFRESH = 1.0013  # no tick falls on the end of a window


class Stage:
    """A status line whose runs end when the test says so; one that is killed is gone when the test says so."""

    def __init__(self, refresh: float = 0.0) -> None:
        self.clock = ManualClock()
        self.starts = self.kills = 0
        self.shown: list[tuple[str, ...]] = []
        self.told: list[str] = []
        self.running: asyncio.Future[Finished | str] | None = None
        self.dying: asyncio.Future[None] | None = None
        self.line = StatusLine(
            self._run, lambda: b"{}", self.shown.append, clock=self.clock, refresh=refresh, warn=self.told.append
        )

    async def _run(self, stdin: bytes) -> Finished | str:
        assert stdin == b"{}"
        assert self.running is None, "one at a time"
        self.starts += 1
        self.running = asyncio.get_running_loop().create_future()
        try:
            return await self.running
        except asyncio.CancelledError:
            self.kills += 1
            self.dying = asyncio.get_running_loop().create_future()
            await self.dying
            raise
        finally:
            self.running = self.dying = None

    async def end(self, outcome: Finished | str) -> None:
        assert self.running is not None
        self.running.set_result(outcome)
        await settle()

    async def gone(self) -> None:
        assert self.dying is not None
        self.dying.set_result(None)
        await settle()

    async def wait(self, seconds: float) -> None:
        await self.clock.advance_and_settle(seconds)


def on(stage: Stage, main: Callable[[Stage], Coroutine[Any, Any, None]]) -> None:
    run_virtual(main(stage))


def printed(text: str) -> Finished:
    return Finished(0, text.encode())


@pytest.mark.spec("STL-4")
def test_what_comes_within_the_debounce_is_one_run() -> None:
    async def main(stage: Stage) -> None:
        stage.line.start()
        await stage.wait(DEBOUNCE - 0.01)
        stage.line.ask()
        assert stage.starts == 0
        await stage.wait(0.01)
        assert stage.starts == 1
        await stage.end(printed("one"))
        await stage.wait(60)
        assert (stage.starts, stage.shown) == (1, [("one",)])

    on(Stage(), main)


@pytest.mark.spec("STL-4")
def test_an_event_ends_a_run_and_the_next_starts_when_it_is_gone() -> None:
    async def main(stage: Stage) -> None:
        stage.line.start()
        await stage.wait(1)
        stage.line.ask()
        await stage.wait(1)
        assert (stage.starts, stage.kills) == (1, 1)
        stage.line.ask()
        await stage.wait(1)
        assert (stage.starts, stage.kills) == (1, 1)
        await stage.gone()
        assert stage.starts == 2
        await stage.end(printed("two"))
        assert stage.shown == [("two",)]

    on(Stage(), main)


@pytest.mark.spec("STL-4")
def test_a_command_slower_than_the_timer_shows_its_line() -> None:
    async def main(stage: Stage) -> None:
        stage.line.start()
        for _ in range(3):
            await stage.wait(4.5)
            assert stage.kills == 0
            await stage.end(printed("slow"))
        assert (stage.starts, stage.shown) == (3, [("slow",)])
        await stage.line.close()

    on(Stage(refresh=1.0), main)


@pytest.mark.spec("STL-4", "STL-5")
def test_only_a_good_end_changes_the_line_and_the_same_line_redraws_nothing() -> None:
    ends = [
        printed("a\n"),
        Finished(1, b"b"),
        Finished(-9, b"c"),
        Finished(0, b"d", timed_out=True),
        "no trust",
        printed(" a"),
        printed("\n"),
        printed(""),
        printed("e"),
    ]

    async def main(stage: Stage) -> None:
        for end in ends:
            stage.line.ask()
            await stage.wait(DEBOUNCE)
            await stage.end(end)
        assert stage.shown == [("a",), (), ("e",)]
        assert stage.line.lines == ("e",)
        assert stage.told == ["the command of the status line exited with code 1: see callgate statusline test"]

    on(Stage(), main)


def test_each_failure_has_its_words() -> None:
    assert failure_of(printed("")) is None
    assert failure_of(Finished(3)) == "exited with code 3"
    assert failure_of(Finished(0, timed_out=True)) == "did not finish within 5 s"
    assert failure_of("no trust") == "could not run (no trust)"


def test_a_command_that_cannot_be_started_keeps_the_line() -> None:
    async def main() -> None:
        async def run(stdin: bytes) -> Finished | str:
            raise OSError(2, "No such file")

        clock, told, shown = ManualClock(), list[str](), list[tuple[str, ...]]()
        line = StatusLine(run, bytes, shown.append, clock=clock, warn=told.append)
        line.start()
        await clock.advance_and_settle(1)
        assert "No such file" in told[0]
        assert shown == []

    run_virtual(main())


def test_the_end_of_the_program_waits_for_the_run_under_way() -> None:
    async def main(stage: Stage) -> None:
        stage.line.start()
        await stage.wait(5)
        closing = asyncio.ensure_future(stage.line.close())
        await settle()
        assert stage.kills == 1
        assert not closing.done()
        await stage.gone()
        await closing
        stage.line.ask()
        await stage.wait(60)
        assert (stage.starts, stage.shown) == (1, [])

    on(Stage(REFRESH), main)


@pytest.mark.spec("STL-4")
def test_an_answer_and_each_change_ask_for_a_run() -> None:
    answer, prompt = Message("m", "assistant", ()), Message("p", "user", ())
    asking = [
        facts.MessageAdded(0.0, answer),
        facts.TurnEnded(0.0, 1, "answered"),
        facts.ModeSet(0.0, "plan"),
        facts.ModelSet(0.0, "m"),
        facts.EffortSet(0.0, "high"),
        facts.MetadataSet(0.0, "title", "t"),
        facts.Compacted(0.0, "s"),
        facts.Rewound(0.0, "m"),
        facts.Branched(0.0, "m"),
    ]
    others = [
        facts.MessageAdded(0.0, prompt),
        facts.TextStreamed(0.0, "m", "x"),
        facts.MetadataSet(0.0, "tags", ()),
        facts.StatusChanged(0.0, "idle"),
    ]
    assert [event for event in (*asking, *others) if asks_for_run(event)] == asking


class Model:
    """The rules, written without tasks: what a status line must have done after each step."""

    def __init__(self) -> None:
        self.now = 0.0
        self.tick = REFRESH
        self.window: float | None = None
        self.by_event = self.running = self.dying = False
        self.starts = self.kills = 0
        self.lines: tuple[str, ...] = ()
        self.shown: list[tuple[str, ...]] = []

    def ask(self, *, event: bool) -> None:
        self.by_event = self.by_event or event
        if self.window is None:
            self.window = self.now + DEBOUNCE

    def wait(self, seconds: float) -> None:
        end = self.now + seconds
        while (due := min(self.tick, self.window or self.tick)) <= end:
            self.now = due
            if self.window == due:
                self._due()
            else:
                self.tick += REFRESH
                self.ask(event=False)
        self.now = end

    def _due(self) -> None:
        by_event, self.by_event, self.window = self.by_event, False, None
        if not self.running and not self.dying:
            self.running = True
            self.starts += 1
        elif by_event and self.running:
            self.running, self.dying = False, True
            self.kills += 1

    def end(self, outcome: Finished | str) -> None:
        self.running = False
        if isinstance(outcome, Finished) and not outcome.returncode and not outcome.timed_out:
            lines = status_lines(outcome.stdout)
            if lines != self.lines:
                self.lines = lines
                self.shown.append(lines)

    def gone(self) -> None:
        self.dying, self.running = False, True
        self.starts += 1


OUTCOMES = some.sampled_from(
    [printed("a"), printed("b"), printed(""), Finished(1, b"c"), Finished(0, b"d", timed_out=True), "why"]
)
STEPS = some.lists(
    some.one_of(
        some.just("event"), some.sampled_from([0.05, 0.25, 0.3, 0.7, 2.0]), some.tuples(some.just("end"), OUTCOMES)
    ),
    max_size=40,
)


@pytest.mark.spec("STL-4", "STL-5")
@given(STEPS)
def test_any_sequence_of_events_time_and_ends_follows_the_rules(steps: list[Any]) -> None:
    async def main(stage: Stage) -> None:
        model = Model()
        stage.line.start()
        model.ask(event=True)
        for step in steps:
            if step == "event":
                stage.line.ask()
                model.ask(event=True)
            elif isinstance(step, float):
                await stage.wait(step)
                model.wait(step)
            elif stage.dying is not None:
                await stage.gone()
                model.gone()
            elif stage.running is not None:
                await stage.end(step[1])
                model.end(step[1])
            assert (stage.starts, stage.kills, stage.shown) == (model.starts, model.kills, model.shown)
            assert (stage.running is not None, stage.dying is not None) == (model.running or model.dying, model.dying)
        closing = asyncio.ensure_future(stage.line.close())
        await settle()
        if stage.dying is not None:
            await stage.gone()
        await closing
        assert stage.running is None

    on(Stage(REFRESH), main)
