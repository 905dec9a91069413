"""The board alone, without an event loop: thousands of random schedules a second.

A schedule is made of one number: its seed decides which calls there are and what happens to them in which order. The
rules are checked at every step, by the obvious means.
"""

import sys
from random import Random
from time import process_time

import pytest
from hypothesis import settings

from callgate.core import outcomes
from callgate.core.board import ACTIVE, MOVES, Board, Do, Move, Slot, Stage
from callgate.core.lanes import EXCLUSIVE, SHARED, Placed
from callgate.words.calls import Result
from callgate.words.errors import StateError
from callgate.words.messages import Text
from tests.properties.oracle import conflict

LOCKS = (
    SHARED,
    SHARED,
    EXCLUSIVE,
    Placed("paths", ("/w",)),
    Placed("paths", ("/w/a",)),
    Placed("paths", (), ("/w/a",)),
    Placed("paths", ("/w/b",), ("/w/a",)),
    Placed("paths", (), ("/w/b",)),
)
CONFLICTS = {(id(one), id(other)): conflict(one, other) for one in LOCKS for other in LOCKS}
OK = Result((Text("ok"),))
FAILED = Result.failed("tool_error", "no")
DENIED = outcomes.denied("denied", "person", "")
RANK = {"discarded": 3, "sibling": 2, "user": 1}


class Planned(Slot):
    __slots__ = ("fails", "stubborn")

    def __init__(self, number: int, random: Random) -> None:
        super().__init__(f"c{number}")
        self.locks = random.choice(LOCKS)
        self.early = random.random() < 0.5
        self.cascade = random.random() < 0.2
        self.yields = random.random() < 0.5
        self.fails = random.random() < 0.3
        self.stubborn = random.random() < 0.2


def meet(one: Planned, other: Planned) -> bool:
    return CONFLICTS[id(one.locks), id(other.locks)]


class World:
    """Performs what the board says and picks what happens next."""

    def __init__(self, seed: int) -> None:
        self.random = random = Random(seed)
        self.most = random.choice((1, 2, 10))
        self.start = random.choice(("early", "early", "eager", "after"))
        self.board: Board[Planned] = Board(self.most, self.start)
        self.to_arrive = random.randrange(1, 9)
        self.steps = 0
        self.strays: set[Planned] = set()
        self.locked: set[Planned] = set()  # on the host
        self.lock_waits: list[Planned] = []
        self.released: list[int] = []
        self.reasons: dict[Planned, list[str]] = {}
        self.over: bool | None = None
        self.people = random.random() < 0.8  # somebody answers

    # ---- perform ------------------------------------------------------------------------------------------------

    def perform(self) -> None:
        board = self.board
        while board.actions:
            do, slot, result = board.actions.popleft()
            if do is Do.SETTLE:
                assert result is not None
                assert slot.result is result, "one result"
            elif do is Do.RELEASE:
                self.released.append(slot.index)
            elif do is Do.LOCK and slot.stage is Stage.LOCKING:
                self.lock(slot)
            elif do in (Do.UNLOCK, Do.WITHDRAW, Do.DEFER):
                self.unlock(slot)
            elif do is Do.START and slot.stage is Stage.STARTING:
                self.check_start(slot)
            elif do is Do.ASK:
                self.check_order(slot)
        assert len([slot for slot in board.slots if slot.takes_slot]) <= self.most, "EXE-3"
        assert all(slot.stage in (*ACTIVE, Stage.LOCKING) for slot in board.slots if slot.takes_slot), "EXE-21"
        assert self.released == list(range(len(self.released))), "EXE-7"
        front = next((slot.index for slot in board.slots if slot.result is None), len(board.slots))
        assert len(self.released) == front, "a result leaves as soon as all before it have settled"

    def lock(self, slot: Planned) -> None:
        busy = any(meet(other, slot) for other in self.locked)
        if busy or self.random.random() < 0.1:  # or another executor has it
            self.lock_waits.append(slot)
            self.board.lock_busy(slot)
        else:
            self.locked.add(slot)
            self.board.granted(slot)

    def unlock(self, slot: Planned) -> None:
        self.locked.discard(slot)
        if slot in self.lock_waits:
            self.lock_waits.remove(slot)

    def check_order(self, slot: Planned) -> None:
        for other in self.board.slots[: slot.index]:
            assert other.result is not None or not meet(other, slot), "EXE-2: no overtaking"

    def check_start(self, slot: Planned) -> None:
        self.check_order(slot)
        for other in self.board.slots:
            runs = other is not slot and (other.stage in ACTIVE or other in self.strays)
            assert not (runs and meet(other, slot)), "EXE-1: conflicting calls never overlap"
        whole = self.over is True
        assert whole or self.start == "eager" or (self.start == "early" and slot.early), "EXE-5"
        assert self.over is not False, "EXE-6"
        assert self.board.fallen is None, "nothing starts after a cancel of the whole message"

    # ---- what happens -------------------------------------------------------------------------------------------

    def step(self) -> bool:
        """One thing that may happen now; False when nothing can."""
        board, random = self.board, self.random
        possible: list[tuple[str, Planned | None]] = []
        if self.over is None:
            possible.append(("arrive" if self.to_arrive else "over", None))
        for slot in board.slots:
            name = WAITS_FOR.get(slot.stage)
            if name is not None and (name != "answer" or self.people):
                possible.append((name, slot))
            if slot.stage is Stage.STRAY:
                possible.append(("stray ends", slot))
        possible += [("grant", slot) for slot in self.lock_waits if self.may_hold(slot)]
        if not possible:
            return False
        if self.steps < 60 and random.random() < 0.04:
            possible = [(random.choice(("cancel", "interrupt", "discard")), random.choice([*board.slots, None]))]
        name, slot = random.choice(possible)
        self.steps += 1
        self.happen(name, slot)
        self.perform()
        return True

    def may_hold(self, slot: Planned) -> bool:
        return not any(meet(other, slot) for other in self.locked)

    def happen(self, name: str, slot: Planned | None) -> None:
        board, random = self.board, self.random
        if name == "arrive":
            self.to_arrive -= 1
            arrived = Planned(len(board.slots), random)
            board.arrived(arrived, DENIED if random.random() < 0.1 else None)
        elif name == "over":
            self.over = random.random() < 0.8
            board.over(whole=self.over)
            if not self.over:
                assert all(slot.result or slot.stage in (Stage.RUNNING, Stage.STOPPING) for slot in board.slots)
        elif name in ("interrupt", "discard"):
            self.fall("user" if name == "interrupt" else "discarded")
        elif name == "cancel" and slot is not None:
            self.note(slot, "user")
            board.cancelled(slot, "user", "Cancelled.")
        elif slot is not None:
            self.happen_to(name, slot)

    def fall(self, reason: str) -> None:
        for slot in self.board.slots:
            self.note(slot, reason)
        self.board.fell(reason, "Everything ends.")

    def note(self, slot: Planned, reason: str) -> None:
        if slot.result is None:
            self.reasons.setdefault(slot, []).append(reason)

    def happen_to(self, name: str, slot: Planned) -> None:
        board, random = self.board, self.random
        if name == "judge":
            if random.random() < 0.15:
                board.settled(slot, DENIED)
                return
            if random.random() < 0.2:
                slot.locks = random.choice(LOCKS)
                board.relocked(slot, slot.locks)
            board.judged(slot, asks=random.random() < 0.3)
        elif name == "prepare":
            board.asked(slot)
        elif name == "answer":
            board.answered(slot)
        elif name == "grant":
            self.lock_waits.remove(slot)
            self.locked.add(slot)
            board.granted(slot)
        elif name == "begin":
            board.started(slot)
        elif name == "end":
            siblings = [other for other in board.slots if other.result is None and other is not slot]
            first = board.fallen is None
            board.settled(slot, FAILED if slot.fails else OK)
            if slot.fails and slot.cascade and first:  # EXE-15
                for other in siblings:
                    self.reasons.setdefault(other, []).append("sibling")
                    assert other.reason is not None
        elif name == "stop":
            self.stop(slot)
        elif name == "stray ends":
            self.strays.discard(slot)
            board.ended(slot)

    def stop(self, slot: Planned) -> None:
        assert slot.reason is not None
        assert slot.reason == max(self.reasons[slot], key=RANK.__getitem__), "EXE-17"
        if slot.stubborn:
            self.strays.add(slot)
            self.board.overdue(slot, outcomes.unstoppable(slot.reason, slot.because, "mutating"))
        else:
            self.board.settled(slot, outcomes.stopped(slot.reason, slot.because, "mutating"))


WAITS_FOR = {
    Stage.JUDGING: "judge",
    Stage.PREPARING: "prepare",
    Stage.ASKED: "answer",
    Stage.STARTING: "begin",
    Stage.RUNNING: "end",
    Stage.STOPPING: "stop",
}


def play(seed: int) -> World:
    world = World(seed)
    while world.step():
        pass
    board = world.board
    waiting = [slot for slot in board.slots if slot.result is None]
    if world.people:
        assert not waiting, "a dead-lock"
        assert board.closed
        assert board.moving == 0
    for slot in waiting:  # for a person, or behind a call that does
        ahead = [other for other in waiting if other.index < slot.index and meet(other, slot)]
        assert slot.stage is Stage.ASKED or ahead, "a dead-lock"
    return world


def many(number: int) -> None:
    for seed in range(number):
        try:
            play(seed)
        except Exception as error:
            error.add_note(f"play({seed})")
            raise


@pytest.mark.spec("EXE-1", "EXE-2", "EXE-3", "EXE-5", "EXE-6", "EXE-7", "EXE-8", "EXE-15", "EXE-17", "EXE-19", "EXE-21")
def test_every_random_schedule_of_the_board_keeps_the_rules() -> None:
    many(20 * settings().max_examples)


@pytest.mark.spec("EXE-19")
def test_a_discarded_message_leaves_nothing_open() -> None:
    for seed in range(200):
        world = World(seed)
        for _ in range(world.random.randrange(30)):
            world.step()
        world.fall("discarded")
        world.perform()
        for slot in world.board.active():
            world.stop(slot)
        world.perform()
        assert world.board.closed, seed
        assert {slot.stage for slot in world.board.slots} <= {Stage.SETTLED, Stage.STRAY}, seed


@pytest.mark.spec("EXE-2")
@pytest.mark.parametrize("later", [SHARED, Placed("paths", ("/w/a",))], ids=["holds no locks", "holds locks"])
def test_a_call_that_waits_for_a_slot_does_not_pass_an_earlier_one_that_got_other_locks(later: Placed) -> None:
    board: Board[Planned] = Board(1)
    changed, runs, waits = (Planned(number, Random(0)) for number in range(3))
    for slot, locks in ((changed, SHARED), (runs, SHARED), (waits, later)):
        slot.locks, slot.early = locks, True
        board.arrived(slot)
    for slot in (runs, waits):
        board.judged(slot, asks=False)
    board.started(runs)
    board.relocked(changed, EXCLUSIVE)
    board.settled(runs, OK)
    if waits.stage is Stage.LOCKING:
        board.granted(waits)
    assert waits.stage is Stage.HELD
    board.settled(changed, OK)
    assert waits.stage in (Stage.STARTING, Stage.LOCKING)


def test_a_move_that_the_table_does_not_know_is_refused() -> None:
    wrong: list[str] = []
    inputs = {
        Move.ASKED: lambda board, slot: board.asked(slot),
        Move.ANSWERED: lambda board, slot: board.answered(slot),
        Move.STARTED: lambda board, slot: board.started(slot),
        Move.DECIDED: lambda board, slot: board.judged(slot, asks=False),
        Move.SETTLED: lambda board, slot: board.settled(slot, OK),
        Move.OVERDUE: lambda board, slot: board.overdue(slot, OK),
        Move.ENDED: lambda board, slot: board.ended(slot),
    }
    for stage in Stage:
        for move, feed in inputs.items():
            board: Board[Planned] = Board()
            slot = Planned(0, Random(0))
            board.arrived(slot)
            slot.stage = stage
            try:
                feed(board, slot)
                refused = False
            except StateError:
                refused = True
            if refused == (move in MOVES[stage]):
                wrong.append(f"{move} while {stage}")
    assert not wrong


def test_every_stage_can_be_reached_and_every_call_can_settle() -> None:
    reached, todo = {Stage.JUDGING}, [Stage.JUDGING]
    while todo:
        for after in MOVES[todo.pop()].values():
            if after not in reached:
                reached.add(after)
                todo.append(after)
    assert reached == set(Stage)
    assert [stage for stage, moves in MOVES.items() if not moves] == [Stage.SETTLED]
    assert set(Move) == {move for moves in MOVES.values() for move in moves}


if __name__ == "__main__":
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 20_000
    began = process_time()
    many(count)
    print(f"{count / (process_time() - began):,.0f} schedules a second of CPU")
