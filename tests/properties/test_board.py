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
from callgate.core.board import ACTIVE, MOVES, Board, BoardCall, Move, Stage
from callgate.core.lanes import EXCLUSIVE, SHARED, BoundLocks
from callgate.words.calls import Result
from callgate.words.errors import StateError
from callgate.words.messages import Text
from tests.properties.oracle import conflict

LOCKS = (
    SHARED,
    SHARED,
    EXCLUSIVE,
    BoundLocks("paths", ("/w",)),
    BoundLocks("paths", ("/w/a",)),
    BoundLocks("paths", (), ("/w/a",)),
    BoundLocks("paths", ("/w/b",), ("/w/a",)),
    BoundLocks("paths", (), ("/w/b",)),
)
CONFLICTS = {(id(one), id(other)): conflict(one, other) for one in LOCKS for other in LOCKS}
OK = Result((Text("ok"),))
FAILED = Result.failed("tool_error", "no")
DENIED = outcomes.denied("denied", "person", "")
RANK = {"discarded": 3, "sibling": 2, "user": 1}


class Planned(BoardCall):
    __calls__ = ("fails", "stubborn")

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
        self.start_rule = random.choice(("early", "early", "eager", "after"))
        self.board: Board[Planned] = Board(self.most, self.start_rule)
        self.to_arrive = random.randrange(1, 9)
        self.steps = 0
        self.strays: set[Planned] = set()
        self.locked: set[Planned] = set()  # on the host
        self.lock_waits: list[Planned] = []
        self.released: list[int] = []
        self.settled: set[Planned] = set()
        self.reasons: dict[Planned, list[str]] = {}
        self.over: bool | None = None
        self.people = random.random() < 0.8  # somebody answers

    # ---- perform ------------------------------------------------------------------------------------------------

    def perform(self) -> None:
        board = self.board
        while board.actions:
            action, call = board.actions.popleft()
            getattr(self, action)(call)
        assert len([call for call in board.calls if call.has_place]) <= self.most, "EXE-3"
        assert all(call.stage in (*ACTIVE, Stage.LOCKING) for call in board.calls if call.has_place), "EXE-21"
        assert self.released == list(range(len(self.released))), "EXE-7"
        front = next((call.index for call in board.calls if call.result is None), len(board.calls))
        assert len(self.released) == front, "a result leaves as soon as all before it have settled"

    def judge(self, call: Planned) -> None:
        """The verdict comes as a later step, as do the answer and the end of a run."""

    limit_wait = cancel_tool = judge

    def settle(self, call: Planned) -> None:
        assert call.result is not None
        assert call not in self.settled, "one result"
        self.settled.add(call)

    def release(self, call: Planned) -> None:
        self.released.append(call.index)

    def lock(self, call: Planned) -> None:
        if call.stage is not Stage.LOCKING:
            return
        busy = any(meet(other, call) for other in self.locked)
        if busy or self.random.random() < 0.1:  # or another executor has it
            self.lock_waits.append(call)
            self.board.lock_busy(call)
        else:
            self.locked.add(call)
            self.board.granted(call)

    def unlock(self, call: Planned) -> None:
        self.locked.discard(call)
        if call in self.lock_waits:
            self.lock_waits.remove(call)

    withdraw = defer = unlock

    def ask(self, call: Planned) -> None:
        self.check_order(call)

    def start(self, call: Planned) -> None:
        if call.stage is Stage.STARTING:
            self.check_start(call)

    def check_order(self, call: Planned) -> None:
        for other in self.board.calls[: call.index]:
            assert other.result is not None or not meet(other, call), "EXE-2: no overtaking"

    def check_start(self, call: Planned) -> None:
        self.check_order(call)
        for other in self.board.calls:
            runs = other is not call and (other.stage in ACTIVE or other in self.strays)
            assert not (runs and meet(other, call)), "EXE-1: conflicting calls never overlap"
        whole = self.over is True
        assert whole or self.start_rule == "eager" or (self.start_rule == "early" and call.early), "EXE-5"
        assert self.over is not False, "EXE-6"
        assert self.board.refuses(call) is None, "nothing starts after a cancel of the whole message"
        assert call.early or self.board.cancelled_because is None, "EXE-15"

    # ---- what happens -------------------------------------------------------------------------------------------

    def step(self) -> bool:
        """One thing that may happen now; False when nothing can."""
        board, random = self.board, self.random
        possible: list[tuple[str, Planned | None]] = []
        if self.over is None:
            possible.append(("arrive" if self.to_arrive else "over", None))
        for call in board.calls:
            name = WAITS_FOR.get(call.stage)
            if name is not None and (name != "answer" or self.people):
                possible.append((name, call))
            if call.stage is Stage.STRAY:
                possible.append(("stray ends", call))
        possible += [("grant", call) for call in self.lock_waits if self.may_hold(call)]
        if not possible:
            return False
        if self.steps < 60 and random.random() < 0.04:
            possible = [(random.choice(("cancel", "interrupt", "discard")), random.choice([*board.calls, None]))]
        name, call = random.choice(possible)
        self.steps += 1
        self.happen(name, call)
        self.perform()
        return True

    def may_hold(self, call: Planned) -> bool:
        return not any(meet(other, call) for other in self.locked)

    def happen(self, name: str, call: Planned | None) -> None:
        board, random = self.board, self.random
        if name == "arrive":
            self.to_arrive -= 1
            arrived = Planned(len(board.calls), random)
            board.arrived(arrived, DENIED if random.random() < 0.1 else None)
        elif name == "over":
            self.over = random.random() < 0.8
            board.over(whole=self.over)
            if not self.over:
                assert all(call.result or call.stage in (Stage.RUNNING, Stage.STOPPING) for call in board.calls)
        elif name in ("interrupt", "discard"):
            self.fall("user" if name == "interrupt" else "discarded")
        elif name == "cancel" and call is not None:
            self.note(call, "user")
            board.cancelled(call, "user", "Cancelled.")
        elif call is not None:
            self.happen_to(name, call)

    def fall(self, reason: str) -> None:
        for call in self.board.calls:
            self.note(call, reason)
        self.board.cancel_all(reason, "Everything ends.")

    def note(self, call: Planned, reason: str) -> None:
        if call.result is None:
            self.reasons.setdefault(call, []).append(reason)

    def happen_to(self, name: str, call: Planned) -> None:
        board, random = self.board, self.random
        if name == "judge":
            if random.random() < 0.15:
                board.settled(call, DENIED)
                return
            if random.random() < 0.2:
                call.locks = random.choice(LOCKS)
                board.relocked(call, call.locks)
            board.judged(call, asks=random.random() < 0.3)
        elif name == "prepare":
            board.asked(call)
        elif name == "answer":
            board.answered(call)
        elif name == "grant":
            self.lock_waits.remove(call)
            self.locked.add(call)
            board.granted(call)
        elif name == "begin":
            board.started(call)
        elif name == "end":
            siblings = [other for other in board.calls if other.result is None and other is not call]
            first = board.cancelled_because is None
            board.settled(call, FAILED if call.fails else OK)
            if call.fails and call.cascade and first:  # EXE-15
                for other in siblings:
                    if not other.early:
                        self.reasons.setdefault(other, []).append("sibling")
                        assert other.reason is not None
                    elif other not in self.reasons:
                        assert other.reason is None
        elif name == "stop":
            self.stop(call)
        elif name == "stray ends":
            self.strays.discard(call)
            board.ended(call)

    def stop(self, call: Planned) -> None:
        assert call.reason is not None
        assert call.reason == max(self.reasons[call], key=RANK.__getitem__), "EXE-17"
        if call.stubborn:
            self.strays.add(call)
            self.board.overdue(call, outcomes.unstoppable(call.reason, call.because, "mutating"))
        else:
            self.board.settled(call, outcomes.stopped(call.reason, call.because, "mutating"))


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
    waiting = [call for call in board.calls if call.result is None]
    if world.people:
        assert not waiting, "a dead-lock"
        assert board.is_settled
        assert board.moving == 0
    for call in waiting:  # for a person, or behind a call that does
        ahead = [other for other in waiting if other.index < call.index and meet(other, call)]
        assert call.stage is Stage.ASKED or ahead, "a dead-lock"
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
        for call in world.board.active():
            world.stop(call)
        world.perform()
        assert world.board.is_settled, seed
        assert {call.stage for call in world.board.calls} <= {Stage.SETTLED, Stage.STRAY}, seed


@pytest.mark.spec("EXE-2")
@pytest.mark.parametrize("later", [SHARED, BoundLocks("paths", ("/w/a",))], ids=["holds no locks", "holds locks"])
def test_a_call_that_waits_for_a_call_does_not_pass_an_earlier_one_that_got_other_locks(later: BoundLocks) -> None:
    board: Board[Planned] = Board(1)
    changed, runs, waits = (Planned(number, Random(0)) for number in range(3))
    for call, locks in ((changed, SHARED), (runs, SHARED), (waits, later)):
        call.locks, call.early = locks, True
        board.arrived(call)
    for call in (runs, waits):
        board.judged(call, asks=False)
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
        Move.ASKED: lambda board, call: board.asked(call),
        Move.ANSWERED: lambda board, call: board.answered(call),
        Move.STARTED: lambda board, call: board.started(call),
        Move.DECIDED: lambda board, call: board.judged(call, asks=False),
        Move.SETTLED: lambda board, call: board.settled(call, OK),
        Move.OVERDUE: lambda board, call: board.overdue(call, OK),
        Move.ENDED: lambda board, call: board.ended(call),
    }
    for stage in Stage:
        for move, feed in inputs.items():
            board: Board[Planned] = Board()
            call = Planned(0, Random(0))
            board.arrived(call)
            call.stage = stage
            try:
                feed(board, call)
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
