"""Pending actions at random: whatever the model, its tools and people do, and wherever the program ends, each action is
finished once or not at all, and nobody is left in the dark about it."""

import asyncio
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import cycle
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from callgate.conversation.ledger import Ledger
from callgate.staging.feature import MOST_FORCED
from callgate.staging.state import State
from callgate.words.events import (
    ActionResolved,
    ActionStaged,
    CallArrived,
    CallSettled,
    CallStarted,
    Durable,
    MessageAdded,
    Noted,
    TurnEnded,
    TurnStarted,
)
from callgate.words.inputs import Continue, Prompt
from callgate.words.model import Abilities, ToolChoice
from callgate.words.pending import RESOLVE, Staged
from tests.flows.pending.kit import every_change
from tests.history import faults
from tests.profiles import fewer
from tests.properties.pending_kit import FILES, Deed, Image, Setting, Spoken, World, rests, settings, spoken, steps

# ---- what must hold -------------------------------------------------------------------------------------------------


class Watch:
    """Goes through a log and says what is wrong with it. ``cut`` is how much of it an earlier life had written."""

    def __init__(self, cut: int = 0) -> None:
        self.ledger = Ledger()
        self.state = State()
        self.staged: dict[str, Staged] = {}
        self.ends: dict[str, ActionResolved] = {}
        self._cut = cut
        self._barred: set[str] = set()
        self._settled: set[str] = set()
        self._forced = 0

    def all(self, events: Sequence[Durable]) -> None:
        for at, event in enumerate(events):
            if at == self._cut:  # what was pending then may have been lost with the program
                self._barred = {each for each in self._barred if each in self._settled}
            self._see(event)
            self.ledger.fold(event)
            self.state.fold(event)
        assert all(entry.result is not None for entry in self.ledger.calls.values())
        assert not faults(list(self.ledger.history()))
        given_up = [each for each in self.ends.values() if each.reason.startswith("it was not resolved")]
        noted = [each for each in events if isinstance(each, Noted) and each.text.startswith("Discarded")]
        # The crash may have come between the two.
        assert len(noted) in (len(given_up), len(given_up) - bool(self._cut)), "people are told of what was given up"

    def _see(self, event: Durable) -> None:
        match event:
            case ActionStaged():
                self._stage(event.action)
            case ActionResolved():
                self._end(event)
            case CallArrived(name="Touch"):
                if any(each.message_id != event.message_id for each in self.state.actions.values()):
                    self._barred.add(event.call_id)
            case CallStarted():
                assert event.call_id not in self._barred, "something is pending, and yet it starts"
            case CallSettled():
                assert event.call_id not in self._settled, "one result a call"
                self._settled.add(event.call_id)
            case TurnStarted() | TurnEnded() | MessageAdded():
                self._count(event)
            case _:
                pass

    def _stage(self, action: Staged) -> None:
        before = self.staged.get(action.id)
        # A call that the program's end had interrupted runs again, and stages again what is still pending.
        assert before is None or (self._cut and before.call_id == action.call_id and action.id in self.state.actions)
        call = self.ledger.calls[action.call_id]
        assert call.result is None
        assert call.message_id == action.message_id
        self.staged[action.id] = action

    def _end(self, event: ActionResolved) -> None:
        assert event.id in self.state.actions, "it ends once"
        self.ends[event.id] = event
        self._forced = 0
        if event.by == "model":
            calls = [entry for entry in self.ledger.calls.values() if entry.arguments.get("id") == event.id]
            about = [entry for entry in calls if entry.name == RESOLVE and entry.result is None]
            assert about, "by a call that is under way"
            assert all(entry.message_id != self.staged[event.id].message_id for entry in about), "nobody had seen it"

    def _count(self, event: TurnStarted | TurnEnded | MessageAdded) -> None:
        if isinstance(event, TurnStarted):
            assert not event.forced or self.state.actions
            assert not event.forced or self._forced < MOST_FORCED, "never a dead end"
        elif isinstance(event, TurnEnded):
            opened = self.ledger.open_turn
            whole = event.reason in ("answered", "calls") and self.state.faced in self.state.actions
            self._forced += whole and opened is not None and opened.forced
        elif event.message.role == "user" and event.about is None:
            self._forced = 0


def check_told(events: Sequence[Durable], watch: Watch) -> None:
    """The model hears of every end once: by the result of its own call, or else by a message."""
    calls = {each.call_id: each.arguments.get("id") for each in events if isinstance(each, CallArrived)}
    for action_id, end in watch.ends.items():
        after = events[events.index(end) :]
        said = [each for each in after if isinstance(each, MessageAdded) and each.about == action_id]
        settled = [each.result for each in after if isinstance(each, CallSettled) and calls[each.call_id] == action_id]
        done = [each for each in settled if not each.is_error]
        heard = done or [each for each in settled if f"it was {end.ended}" in each.text]
        assert len(said) + len(done) <= 1, f"told twice: {end}"
        assert said or heard, f"never told: {end}"


def check_files(world: World, watch: Watch) -> None:
    """Every file came to be what it is by what was applied and what others did, each of it once."""
    made = {after: (before, "") for _, before, after in world.edits}
    for action_id, pushes in world.pushed.items():
        for each in (each for changes in pushes for each in changes.files):
            assert isinstance(each.after, bytes)
            before = each.before.decode() if isinstance(each.before, bytes) else None
            made[each.after.decode()] = (before, action_id)
    written: Counter[str] = Counter()
    for path in FILES:
        text = world.text(path)
        while text in made:
            text, action_id = made[text]
            written[action_id] += 1
        assert text == (None if path == FILES[2] else f"first {path}")
    del written[""]
    applied = {each for each, end in watch.ends.items() if end.ended == "applied"}
    assert written == {each: len(watch.staged[each].paths) for each in applied if watch.staged[each].paths}


def check_callbacks(world: World, watch: Watch, *, crashed: bool = False) -> None:
    """Done once if it is on record, and not at all otherwise; but for what a crash has cut off."""
    for action in watch.staged.values():
        end = watch.ends.get(action.id)
        applied, rejected = world.applied[action.label], world.rejected[action.label]
        assert applied <= 1
        assert rejected <= 1
        if not action.paths and not crashed:
            assert applied == (end is not None and end.ended == "applied")
            assert not rejected or (end is not None and end.ended == "discarded")
            if end is not None and end.ended == "discarded" and end.by != "callgate":
                assert rejected == 1


def check_history(world: World, watch: Watch) -> None:
    """What is kept of the changes says the same as the record."""
    states = {each.number: each.state for each in every_change(world.store)}
    pending = {each.change for each in watch.state.actions.values()}
    assert {number for number, state in states.items() if state == "staged"} == pending - {None}
    for action in watch.staged.values():
        if action.change is not None and action.id in watch.ends:
            assert states[action.change] == watch.ends[action.id].ended


def check_requests(world: World) -> None:
    assert len({tools for _, _, tools in world.requests}) <= 1, "the array never changes"
    abilities = Abilities(force=world.setting.force)
    for started, choice, _ in world.requests:
        assert choice == abilities.nearest(ToolChoice("named", RESOLVE) if started.forced else ToolChoice())


def check(world: World, *, cut: int = 0) -> None:
    watch = Watch(cut)
    watch.all(world.log)
    assert tuple(reversed(watch.state.actions.values())) == world.session.pending
    check_requests(world)
    check_told(world.log, watch)
    check_files(world, watch)
    check_callbacks(world, watch, crashed=bool(cut))
    if world.setting.kept:
        check_history(world, watch)


# ---- whole sessions -------------------------------------------------------------------------------------------------


@pytest.mark.spec("RES-1", "RES-5", "RES-6", "RES-8", "RES-9", "RES-10", "RES-11", "RES-12")
@given(settings, st.lists(spoken, min_size=1, max_size=5), st.lists(steps, max_size=4))
@fewer(25)
@example(
    Setting(),
    [
        Spoken((Deed("stage", how="fails"), Deed("stage"))),
        Spoken(meanwhile=(Deed("interrupt"),)),
        Spoken((Deed("stage", n=1),)),
    ],
    [Deed("reopen"), Deed("prompt")],
).via("its id was given out again after a restart, since one before it was never staged")
@example(
    Setting(kept=False, rest="talk"), [Spoken((Deed("act", how="slow"),)), Spoken(meanwhile=(Deed("apply"),))], []
).via("the model was asked without end while a person's apply took its time")
def test_each_action_is_finished_once_or_not_at_all(setting: Setting, script: list[Spoken], taken: list[Deed]) -> None:
    async def main(folder: Path) -> None:
        world = World(folder, list(script), setting)
        await world.begin()
        await world.send(Prompt("the first"))
        for deed in taken:
            await world.do(deed)
            assert world.session.pending == tuple(reversed(State(world.log).actions.values()))
        await world.end()
        check(world)
        await world.session.aclose()

    with TemporaryDirectory() as folder:
        asyncio.run(main(Path(folder)))


# ---- every prefix resumes -------------------------------------------------------------------------------------------


async def first_life(world: World) -> list[Image]:
    """Images of its disk, from the moment on when there is a log."""
    await world.begin()
    await world.send(Prompt("the first"))
    await world.end()
    await world.session.aclose()
    return [each for each in world.images if any(name.endswith(world.store.find().name) for name in each.data)]


async def second_life(world: World, image: Image, lines: int) -> None:
    await world.crash(image, lines)
    cut = len(world.log)
    await world.send(Continue())
    await world.end()
    check(world, cut=cut)
    await world.session.aclose()


@pytest.mark.spec("RES-12")
@given(
    settings.map(lambda each: replace(each, kept=True)),
    st.lists(spoken, min_size=1, max_size=3),
    st.integers(4, 40),
    st.integers(0, 3),
    rests,
)
@fewer(25)
def test_what_was_pending_when_the_program_ended_is_finished_once_or_not_at_all(
    setting: Setting, script: list[Spoken], at: int, less: int, rest: str
) -> None:
    async def main(folder: Path) -> None:
        world = World(folder, list(script), setting, pictured={at})
        for image in await first_life(world):
            world.setting = replace(setting, rest=rest)
            await second_life(world, image, max(image.surely, image.lines - less))

    with TemporaryDirectory() as folder:
        asyncio.run(main(Path(folder)))


LONG = (
    Spoken((Deed("stage"), Deed("act"), Deed("look"))),
    Spoken((Deed("apply"), Deed("touch"))),
    Spoken((Deed("stage", n=1, how="twice"), Deed("stage", how="fails"), Deed("apply", ref="oldest"))),
    Spoken((Deed("discard"), Deed("apply", ref="oldest")), meanwhile=(Deed("apply", ref="newest", n=5),)),
    Spoken((Deed("act", how="fails once"),)),
    Spoken((Deed("apply"),)),
    Spoken((Deed("touch"),)),
)
"""A session with a bit of everything."""


@pytest.mark.spec("RES-12")
@pytest.mark.parametrize("every", [pytest.param(1, marks=pytest.mark.slow), 3])
def test_every_prefix_resumes(tmp_path: Path, every: int) -> None:
    async def main() -> None:
        world = World(tmp_path, list(LONG), pictured=range(1000))
        images = await first_life(world)
        store, rest = world.store, cycle(("talk", "apply", "discard"))
        for number, image in enumerate(images[::every]):
            world.store, world.setting = store, replace(world.setting, rest=next(rest))
            await second_life(world, image, max(image.surely, image.lines - number % 2))

    asyncio.run(main())
