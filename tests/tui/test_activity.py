"""What the agent waits for: through real sessions in virtual time, and for any stream of events."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as some

from callgate import Prompt, Session
from callgate.testing import PlainTool, ScriptedModel, call, fail, pause, say, turn
from callgate.tui.blocks import NoticeBlock
from callgate.tui.fold import ConversationFold
from callgate.tui.footer import activity_line
from callgate.words.errors import ModelError
from callgate.words.events import CallProgressed, Event, SessionStatus, StatusChanged, TextStreamed
from callgate.words.inputs import Compact
from callgate.words.traits import Traits, exclusive
from callgate.words.turns import PhaseEnded, PhaseStarted
from tests.core.kit import virtual_host
from tests.flows.gated import DONE, hooked, session_of
from tests.flows.kit import Workspace
from tests.formats.test_jsonable import EVENTS
from tests.sessions import with_event
from tests.virtual import passes


class Watcher:
    """Looks at the line every half second of a session."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.fold = ConversationFold()
        self.seen: list[str] = []
        self.events: list[Event] = []
        session.listen(with_event(self._hear))

    def _hear(self, event: Event) -> None:
        self.events.append(event)
        self.fold.apply(event)

    async def lines(self, prompt: str | Any, until: Callable[[], bool] = lambda: False) -> list[str]:
        """Each line once, in the order in which they appeared, until the session rests."""
        self.session.post(Prompt(prompt) if isinstance(prompt, str) else prompt)
        await passes(0.25)
        while self.session.status in ("working", "waiting_confirmation") and not until():
            line = activity_line(self.fold, self.session.controls.host.clock.now())
            if line not in self.seen:
                self.seen.append(line)
            await passes(0.5)
        return self.seen


async def slow(arguments: Any, run: Any) -> str:
    await passes(3)
    return "done"


PASSING: list[Event] = [
    TextStreamed(2.0, "m1", "x"),
    CallProgressed(2.0, "c1", "x"),
    *(StatusChanged(3.0, status) for status in get_args(SessionStatus)),
    *(StatusChanged(4.0, "working") for _ in range(5)),
    PhaseStarted(5.0, "hook-1", "hook", "hook Stop x"),
    PhaseEnded(6.0, "hook-1", "hook", "hook Stop x", 1.0),
    PhaseStarted(5.0, "summary", "summary", "small"),
]
ALONE = PlainTool("Build", slow, traits=lambda a: Traits("none", exclusive))


def notices(events: list[Event]) -> list[str]:
    fold = ConversationFold()
    fold.apply_all(events)
    return [block.text for block in fold.blocks if isinstance(block, NoticeBlock)]


@pytest.mark.spec("TUI-6")
async def test_a_silent_model_is_named_before_and_within_its_answer() -> None:
    model = ScriptedModel(turn(pause(3), say("One"), pause(3), say("two.")))
    async with Session(model, host=virtual_host()) as session:
        watcher = Watcher(session)
        assert await watcher.lines("go") == [
            *("working, 0.2 s", "working, 0.8 s", "working, 1.2 s", "working, 1.8 s"),
            *("waiting for the model, 2.2 s", "waiting for the model, 2.8 s"),
            *("working, 3.2 s", "working, 3.8 s", "working, 4.2 s", "working, 4.8 s"),
            *("no output from the model, 2.2 s", "no output from the model, 2.8 s"),
        ]
        assert activity_line(watcher.fold, 0.0) == ""


@pytest.mark.spec("TUI-6")
async def test_a_call_that_runs_is_named_with_the_one_that_waits_for_it() -> None:
    model = ScriptedModel(turn(call("Build"), call("Build")), DONE)
    async with Session(model, [ALONE], host=virtual_host()) as session:
        seen = await Watcher(session).lines("go")
        assert "running Build; Build is next, 2.2 s" in seen
        assert "running Build, 2.8 s" in seen


@pytest.mark.spec("TUI-6")
async def test_a_pause_before_a_retry_counts_down() -> None:
    busy = ModelError("busy", kind="overloaded", retryable=True, retry_after=5)
    model = ScriptedModel(turn(fail(busy)), DONE)
    async with Session(model, host=virtual_host()) as session:
        seen = await Watcher(session).lines("go")
        assert "retrying the model in 5 s" in seen
        assert "retrying the model in 1 s" in seen


@pytest.mark.spec("TUI-6")
async def test_a_hook_is_named_while_it_runs_and_shown_with_its_time(tmp_path: Path) -> None:
    async def lint(_told: dict[str, Any]) -> None:
        await passes(2.75)

    session = session_of(Workspace(), hooked(tmp_path, "UserPromptSubmit"), {"UserPromptSubmit": lint}, DONE)
    watcher = Watcher(session)
    seen = await watcher.lines("go")
    assert "running hook UserPromptSubmit UserPromptSubmit, 2.2 s" in seen
    assert notices(watcher.events) == ["hook UserPromptSubmit UserPromptSubmit took 2.8 s"]
    started = [event for event in watcher.events if isinstance(event, PhaseStarted)]
    ended = [event for event in watcher.events if isinstance(event, PhaseEnded)]
    assert [event.id for event in started] == [event.id for event in ended]
    await session.aclose()


async def test_a_fast_hook_is_not_shown(tmp_path: Path) -> None:
    async def lint(_told: dict[str, Any]) -> None: ...

    session = session_of(Workspace(), hooked(tmp_path, "Stop"), {"Stop": lint}, DONE)
    watcher = Watcher(session)
    await watcher.lines("go")
    assert any(isinstance(event, PhaseEnded) for event in watcher.events)
    assert notices(watcher.events) == []
    await session.aclose()


@pytest.mark.spec("TUI-6")
async def test_a_summary_that_is_written_is_named() -> None:
    model = ScriptedModel(DONE, turn(pause(4), say("A summary.")), name="small")
    async with Session(model, host=virtual_host()) as session:
        watcher = Watcher(session)
        await watcher.lines("go")
        assert "small is writing a summary, 3.2 s" in await watcher.lines(Compact())


@pytest.mark.spec("TUI-6")
async def test_a_person_is_named_at_once() -> None:
    space = Workspace()
    async with space.session(ScriptedModel(turn(call("write", path="a")), DONE)) as session:
        watcher = Watcher(session)
        seen = await watcher.lines("go", until=lambda: bool(session.questions))
        watcher.fold.apply(EVENTS[0])
        assert [*seen, activity_line(watcher.fold, 0.0)][-1] == "waiting for your answer"


@given(some.lists(some.sampled_from([*EVENTS, *PASSING]), max_size=60), some.floats(-1e9, 1e12))
def test_no_stream_of_events_breaks_it(events: list[Event], now: float) -> None:
    fold = ConversationFold()
    for event in events:
        fold.apply(event)
        assert "\n" not in activity_line(fold, now)
