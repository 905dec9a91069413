"""Two that apply to the same files at once: one behind the other, and nobody sees half of a file.

What is promised, and to whom:

* Those who *apply* are promised an order. Executors that share a host wait for each other's locks; hosts that share a
  journal, in one program or in several, wait for its lock. Every change set finds all of its files as its preview did,
  or changes nothing and is told which ones differ. What is there at the end is what the applied ones make of it one
  behind the other.
* A *call that declares what it reads*, on a host that all share, is promised the same order: it sees no change set in
  part.
* Whoever else *reads a file* that is there before and after is promised that one file at a time: it is there, it is
  whole, and it goes back to what it was before only if the disk fails in the middle. Between two files nothing is
  promised: while a change set is applied one may be new and the next one old, and who lists a folder then finds files
  in it whose names begin with ``.callgate-``.
* When one of them is *killed*, the next one that applies finishes or undoes what it left before it looks at anything.

Hosts that share neither locks nor a journal exclude each other by locks on the folders alone.
"""

import asyncio
import os
import random
import signal
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import pytest

from callgate import DecisionGate, Prompt, Session, Store, tool
from callgate.assembly import Executor
from callgate.changes.history import ChangeHistory
from callgate.changes.history_host import HistoryHost
from callgate.core.ports import Case, Check, Host, Run
from callgate.host.applying.recovery import recover
from callgate.host.local import LocalHost
from callgate.host.threads import in_thread
from callgate.testing import ManualClock, PlainTool, ScriptedModel, call, say, settle, turn
from callgate.words.calls import ToolCall
from callgate.words.changes import ChangeSet, FileChange
from callgate.words.decisions import Allow, Ask, Decision
from callgate.words.messages import ResultPart, Text
from callgate.words.noun import noun
from callgate.words.traits import Traits, reads, writes
from tests.crash.talk import Talk
from tests.crash.together_program import START, Reader, Tried, Workspace, left_behind, named_in, order_of, tries_in

PROGRAM = Path(__file__).with_name("together_program.py")
ROUNDS = 30

Tree = Mapping[str, bytes | None]
"""Path to content; None where there is no file."""


# ---- two executors in one program -------------------------------------------------------------------------------

PLACES = [f"d{number % 2}/{number}" for number in range(7)]
FEW_OR_MANY = [pytest.param(range(5), id="few"), pytest.param(range(5, 45), id="many", marks=pytest.mark.slow)]
HostKind = Literal["bare", "journal", "kept"]


@noun
class Attempt:
    """A call that is over: what it found of its places, what it left there if it was applied, and what had changed
    since it looked, as the refusal says."""

    name: str
    found: Tree
    left: Tree | None = None
    named: frozenset[str] = frozenset()

    def fits(self, tree: Tree) -> bool:
        """Whether this is what becomes of it when the files are like that."""
        return {path for path, data in self.found.items() if tree.get(path) != data} == self.named


class Order:
    """Looks for an order of attempts, one behind the other, that ends like this."""

    def __init__(self, end: Tree) -> None:
        self._end = there(end)
        self._dead: set[tuple[object, ...]] = set()

    def exists(self, tree: Tree, attempts: Iterable[Attempt]) -> bool:
        """Whoever changes nothing can take its turn as soon as it fits."""
        rest = [each for each in attempts if each.left is not None or not each.fits(tree)]
        if all(each.left is None for each in rest):
            return not rest and there(tree) == self._end
        key = (*sorted(there(tree).items()), *(each.name for each in rest))
        if key in self._dead:
            return False
        self._dead.add(key)  # unless it is found below, and then nobody comes here again
        return any(
            self.exists({**tree, **each.left}, [other for other in rest if other is not each])
            for each in rest
            if each.left is not None and each.fits(tree)
        )


def there(tree: Tree) -> dict[str, bytes]:
    return {path: data for path, data in tree.items() if data is not None}


class HalfWay(LocalHost):
    """Waits for a word when it has applied one of the files."""

    def __init__(self, root: Path) -> None:
        super().__init__(root, clock=ManualClock())
        self.half, self.go_on = asyncio.Event(), asyncio.Event()

    async def apply(self, changes: ChangeSet, *, kept: str = "") -> ChangeSet:
        await super().apply(replace(changes, files=changes.files[:1]))
        self.half.set()
        await self.go_on.wait()
        return await super().apply(replace(changes, files=changes.files[1:]))


class Desk:
    """A workspace with a tool that changes many files and one that reads many."""

    def __init__(self, folder: Path, kind: HostKind) -> None:
        self.root = folder / "root"
        for path in PLACES[:4]:
            (self.root / path).parent.mkdir(parents=True, exist_ok=True)
            (self.root / path).write_bytes(f"{START} {path}".encode())
        self.journal = folder / "journal"
        journal, clock = None if kind == "bare" else self.journal, ManualClock()
        self.history = ChangeHistory(folder / "kept")
        self.host: Host = LocalHost(self.root, clock=clock, journal=journal)
        if kind == "kept":
            self.host = HistoryHost(self.history, "s1", self.root, clock=clock, journal=journal)
        self.edit = PlainTool("edit", traits=lambda a: Traits("mutating", writes(*a["locks"])), preview=self._proposed)
        self.look = PlainTool("look", self._look, traits=lambda a: Traits("none", reads(*a["paths"])))
        self._seen: dict[str, Attempt] = {}

    def executor(self, decide: Callable[[Case], Decision]) -> Executor:
        return Executor([self.edit, self.look], DecisionGate([Check("test", decide)]), host=self.host)

    def tree(self) -> dict[str, bytes]:
        return {path: data for path in PLACES if (data := self._read(path)) is not None}

    def attempts(self, calls: Iterable[ToolCall]) -> list[Attempt]:
        """What became of these calls; those that were denied did not try."""
        return [self._attempt(each) for each in calls if each.code != "denied"]

    def _attempt(self, each: ToolCall) -> Attempt:
        seen, result = self._seen[each.id], each.result
        assert result is not None
        if not result.is_error:
            return seen
        assert result.effects == "none"
        named = named_in(result.text)
        assert named <= {*seen.found}
        return Attempt(seen.name, seen.found, named=frozenset(named))

    async def _look(self, arguments: Mapping[str, Any], run: Run) -> str:
        found = {path: await in_thread(lambda path=path: self._read(path)) for path in arguments["paths"]}
        self._seen[run.call_id] = Attempt(run.call_id, found)
        return "looked"

    async def _proposed(self, arguments: Mapping[str, Any], run: Run) -> ChangeSet:
        """Every path is created, replaced, deleted or moved to one that is free, as the call's id has it."""
        mark, draw = run.call_id, random.Random(run.call_id)
        found = {path: await in_thread(lambda path=path: self._read(path)) for path in arguments["paths"]}
        free = [path for path, data in found.items() if data is None]
        changes: list[FileChange] = []
        for path, data in found.items():
            new = f"{mark} {path}".encode()
            match draw.choice(("replace", "replace", "delete", "rename")) if data is not None else "free":
                case "replace":
                    changes.append(FileChange(path, data, new))
                case "rename" if free:
                    changes.append(FileChange(free.pop(), data, new, source=path))
                case "delete" | "rename":
                    changes.append(FileChange(path, data, None))
                case _:
                    continue
        changes += [FileChange(path, None, f"{mark} {path}".encode()) for path in free]
        left: dict[str, bytes | None] = dict.fromkeys(found)
        left |= {change.path: change.after for change in changes if isinstance(change.after, bytes)}
        self._seen[mark] = Attempt(mark, found, left)
        return ChangeSet(mark, tuple(changes))

    def _read(self, path: str) -> bytes | None:
        try:
            return (self.root / path).read_bytes()
        except FileNotFoundError:
            return None


def some_calls(draw: random.Random, who: str) -> list[ToolCall]:
    """Overlapping ones; some have whole folders locked."""
    calls: list[ToolCall] = []
    for number in range(5):
        paths = draw.sample(PLACES, draw.randint(2, 5))
        locks = sorted({path[:2] for path in paths}) if draw.random() < 0.2 else paths
        name = draw.choice(("edit", "edit", "edit", "look"))
        calls.append(ToolCall(f"{who}{number}", name, {"paths": paths, "locks": locks}))
    return calls


async def answer_all(executors: Sequence[Executor], draw: random.Random) -> None:
    """Some of the open questions at a time, in any order, so that others get old."""
    while True:
        for executor in executors:
            await executor.stalled()
        asked = [(executor, question) for executor in executors for question in executor.questions]
        if not asked:
            break
        draw.shuffle(asked)
        for executor, question in asked[: draw.randint(1, len(asked))]:
            executor.answer(question.no() if draw.random() < 0.1 else question.yes())
    assert all(executor.settled for executor in executors)


def allow(_case: Case) -> Decision:
    return Allow("test")


def ask_about_edits(case: Case) -> Decision:
    return Ask("test") if case.name == "edit" else Allow("test")


def work_together(desk: Desk, seed: int, how: Literal["asked", "allowed"]) -> list[Attempt]:
    """Two executors with calls of their own; checks that they went one behind the other."""
    draw = random.Random(seed)
    decide = ask_about_edits if how == "asked" else allow

    async def main() -> list[Attempt]:
        one, two = desk.executor(decide), desk.executor(decide)
        async with one, two:
            for executor, who in ((one, "a"), (two, "b")):
                for each in some_calls(draw, f"{who}{seed}-"):
                    executor.add(each)
            one.close()
            two.close()
            await answer_all((one, two), draw)
            return desk.attempts([*one.calls(), *two.calls()])

    before = desk.tree()
    attempts = asyncio.run(main())
    assert Order(desk.tree()).exists(before, attempts), (before, attempts, desk.tree())
    assert left_behind(desk.root, desk.journal, PLACES) == []
    return attempts


def check_executors(desk: Desk, seeds: Iterable[int], how: Literal["asked", "allowed"]) -> None:
    attempts = [each for seed in seeds for each in work_together(desk, seed, how)]
    applied = sum(each.left is not None for each in attempts)
    refused = sum(bool(each.named) for each in attempts)
    assert applied > len(attempts) / 4
    if how == "allowed":
        assert refused == 0, "whoever holds the locks from the preview on finds what it saw"
    else:
        assert refused > 0, "questions got old"
    if isinstance(desk.host, HistoryHost):
        states = Counter(kept.state for kept in desk.history.all("s1"))
        assert states == Counter(applied=applied, discarded=refused)


@pytest.mark.spec("CHG-1", "CHG-2")
@pytest.mark.parametrize("seeds", FEW_OR_MANY)
@pytest.mark.parametrize("how", ["asked", "allowed"])
@pytest.mark.parametrize("kind", ["bare", "journal", "kept"])
def test_executors_that_share_a_host_apply_one_behind_the_other(
    tmp_path: Path, kind: HostKind, how: Literal["asked", "allowed"], seeds: range
) -> None:
    check_executors(Desk(tmp_path, kind), seeds, how)


@pytest.mark.spec("CHG-1")
def test_a_call_that_declares_what_it_reads_waits_until_a_change_is_whole(tmp_path: Path) -> None:
    async def main() -> list[Attempt]:
        desk = Desk(tmp_path, "bare")
        desk.host = host = HalfWay(desk.root)
        one, two = desk.executor(allow), desk.executor(allow)
        async with one, two:
            one.add(ToolCall("a", "edit", {"paths": PLACES[:2], "locks": PLACES[:2]}))
            one.close()
            await host.half.wait()
            two.add(ToolCall("b", "look", {"paths": PLACES[:2]}))
            two.close()
            await settle()
            assert two.calls()[0].started_at is None
            host.go_on.set()
            await one.stalled()
            await two.stalled()
            return desk.attempts([*one.calls(), *two.calls()])

    edited, looked = asyncio.run(main())
    assert looked.found == edited.left


@pytest.mark.spec("CHG-1", "CHG-2")
def test_two_sessions_of_a_workspace_change_its_files_one_behind_the_other(tmp_path: Path) -> None:
    """Each has a host of its own; in one program they share the locks of the workspace, from the preview on."""
    root, rounds = tmp_path / "root", 5
    root.mkdir()
    for name in "abc":
        (root / name).write_text(START)
    store = Store(root, tmp_path / "data")

    async def work(who: str) -> tuple[list[str], Counter[str]]:
        async def proposed(mark: str) -> ChangeSet:
            found = {name: (root / name).read_bytes() for name in "abc"}
            await settle()
            return ChangeSet(mark, tuple(FileChange(name, data, mark.encode()) for name, data in found.items()))

        @tool(locks=lambda _: writes("a", "b", "c"), preview=proposed)
        def edit(mark: str) -> None:
            """Change all."""

        turns = [turn(call("edit", mark=f"{who}{number}")) for number in range(rounds)]
        model = ScriptedModel(*turns, turn(say("done")))
        journal = await store.create()
        async with Session(model, [edit], journal=journal, host=root, mode="bypass") as session:
            await session.send(Prompt("go"))
            parts = [part for message in session.messages for part in message.parts if isinstance(part, ResultPart)]
            told = ["".join(each.text for each in part.content if isinstance(each, Text)) for part in parts]
            return told, Counter(kept.state for kept in ChangeHistory(store.folder).all(session.id))

    async def main() -> Sequence[tuple[list[str], Counter[str]]]:
        return await asyncio.gather(work("one"), work("two"))

    for told, kept in asyncio.run(main()):
        assert len(told) == rounds
        assert not any("Nothing was changed" in each for each in told)
        assert kept == Counter(applied=rounds)
    (mark,) = {(root / name).read_text() for name in "abc"}
    assert mark in ("one4", "two4")
    assert left_behind(root, store.folder / "applying", "abc") == []


# ---- two programs -----------------------------------------------------------------------------------------------


def started(space: Workspace, who: str, rounds: int, stop: int = 0) -> Talk:
    words = (PROGRAM, space.folder, len(space.names), who, rounds, stop)
    return Talk([sys.executable, "-B", *map(str, words)])


def begin(*programs: Talk) -> None:
    """All of them at once."""
    for program in programs:
        program.until("ready")
    for program in programs:
        program.go_on()


def finished(program: Talk) -> list[Tried]:
    ran = program.end()
    assert ran.code == 0, ran
    return tries_in(ran.said)


def is_stopped(program: Talk) -> bool:
    """Wait until it has stopped itself, or ended."""
    state = os.waitid(os.P_PID, program.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)
    assert state is not None
    return state.si_code == os.CLD_STOPPED


def run_freely(space: Workspace, rounds: int, stop: int = 0) -> None:
    """Nobody waits for anybody but for the lock. With ``stop`` one of them is killed there, if it gets there."""
    with Reader(space) as reader, started(space, "a", rounds) as one, started(space, "b", rounds, stop) as two:
        begin(one, two)
        for _ in range(rounds):
            one.go_on()
            two.go_on()
        if stop and is_stopped(two):
            assert space.locked()
            two.kill()
            tries = tries_in(two.end().said)
        else:
            tries = finished(two)
        tries += finished(one)
        if stop:  # the other may have been through before the kill: then the next start finishes or undoes it
            recover(space.root, space.journal)
    assert len(tries) == 2 * rounds or stop
    assert sum(tried.won is None for tried in tries) <= (1 if stop else 0)
    reader.check(order_of(tries, space))


@pytest.mark.spec("CHG-1", "CHG-2")
@pytest.mark.parametrize("files", [3, *(pytest.param(files, marks=pytest.mark.slow) for files in range(4, 11))])
def test_programs_apply_one_behind_the_other_and_readers_see_whole_files(tmp_path: Path, files: int) -> None:
    run_freely(Workspace(tmp_path, files).make(), ROUNDS)


@pytest.mark.spec("CHG-2")
def test_of_two_programs_that_saw_the_same_files_one_changes_them_and_one_is_told(tmp_path: Path) -> None:
    space = Workspace(tmp_path, 5).make()
    with started(space, "a", ROUNDS) as one, started(space, "b", ROUNDS) as two:
        begin(one, two)
        for _ in range(ROUNDS):
            one.until("shown")
            two.until("shown")
            one.go_on()
            two.go_on()
        pairs = [*zip(finished(one), finished(two), strict=True)]
    for pair in pairs:
        assert pair[0].found == pair[1].found
        (refused,) = (tried for tried in pair if not tried.won)
        assert named_in(refused.why) == {*space.names}
    assert len(order_of([tried for pair in pairs for tried in pair], space)) == 1 + ROUNDS


# ---- and one of them stops or is killed -------------------------------------------------------------------------


def steps_of(folder: Path, files: int) -> int:
    """How many steps an apply takes that nobody disturbs."""
    with started(Workspace(folder, files).make(), "a", 1) as only:
        begin(only)
        only.go_on()
        return int(only.end().said[-1].removeprefix("steps "))


def disturb(space: Workspace, stops: Sequence[int], then: Literal["killed", "continued"]) -> set[str]:
    """One after the other stops in the middle of its apply, and is killed or goes on; another one waits to apply, and
    has seen the same files. Gives the marks that a reader could see while the first one stood still."""
    with ExitStack() as stack:
        victims = [stack.enter_context(started(space, f"v{n}", 1, stop)) for n, stop in enumerate(stops)]
        other = stack.enter_context(started(space, "other", 2))
        begin(*victims, other)
        for program in (*victims, other):
            program.until("shown")
        seen: list[set[str]] = []
        tries: list[Tried] = []
        for victim in victims:
            victim.go_on()
            stopped = is_stopped(victim)
            if stopped:
                seen.append({*space.marks()})
                assert space.locked()
            if victim is victims[-1]:
                other.go_on()  # waits for the lock
            if stopped:
                os.kill(victim.pid, signal.SIGKILL if then == "killed" else signal.SIGCONT)
            tries += tries_in(victim.end().said)
        other.until("shown")
        first, second = tries_in(other.said)
        assert second.found == (space.the_mark(),)
        other.go_on()
        tries += finished(other)
        order = order_of(tries, space)
    assert order[-1] == "other-2", "it goes on as if nothing had been"
    if then == "continued":
        assert order == [START, "v0-1", "other-2"]
        assert first.won is False
    assert seen[0] <= {START, "v0-1"}
    return seen[0]


def check_disturbed(folder: Path, files: int, places: slice, then: Literal["killed", "continued"]) -> None:
    every = range(1, steps_of(folder / "undisturbed", files) + 1)
    seen = [disturb(Workspace(folder / str(stop), files).make(), [stop], then) for stop in every[places]]
    assert {START, "v0-1"} in seen, "in the middle one file is new and another one old: so much is not promised"


@pytest.mark.spec("CHG-1")
def test_where_one_of_two_programs_is_killed_all_is_old_or_new_and_the_other_goes_on(tmp_path: Path) -> None:
    check_disturbed(tmp_path, 3, slice(1, None, 8), "killed")


@pytest.mark.spec("CHG-1", "CHG-2")
def test_while_one_of_two_programs_stands_still_in_the_middle_the_other_one_waits(tmp_path: Path) -> None:
    check_disturbed(tmp_path, 3, slice(9, 10), "continued")


@pytest.mark.slow
@pytest.mark.parametrize(("then", "files"), [("killed", 3), ("killed", 7), ("continued", 3)])
def test_wherever_one_of_two_programs_is_killed_or_stands_still(
    tmp_path: Path, then: Literal["killed", "continued"], files: int
) -> None:
    check_disturbed(tmp_path, files, slice(None), then)


@pytest.mark.slow
def test_whoever_recovers_can_be_killed_too(tmp_path: Path) -> None:
    draw = random.Random(5)
    for number in range(20):
        disturb(Workspace(tmp_path / str(number), 3).make(), [draw.randint(1, 18), draw.randint(1, 14)], "killed")


@pytest.mark.spec("CHG-1")
def test_a_program_that_is_killed_while_two_compete_takes_nothing_with_it(tmp_path: Path) -> None:
    run_freely(Workspace(tmp_path, 3).make(), ROUNDS, stop=28)


@pytest.mark.slow
def test_a_program_that_is_killed_anywhere_while_two_compete_takes_nothing_with_it(tmp_path: Path) -> None:
    draw = random.Random(7)
    for number in range(12):
        run_freely(Workspace(tmp_path / str(number), 4).make(), ROUNDS, stop=draw.randint(1, 200))
