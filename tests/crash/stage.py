"""A data folder, a world, and the program of program.py between them; what must hold after a crash."""

import os
import random
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from callgate.conversation.ledger import Ledger
from callgate.transcript.codec import START, read_line
from callgate.transcript.lock import lock_path
from callgate.transcript.side_files import index_path
from callgate.transcript.store import Store
from callgate.words.calls import Result
from callgate.words.events import CallArrived, CallSettled, CallStarted, Durable, MessageAdded
from tests.crash.program import EFFECTS, SESSION, answered, key_of, not_run, plan_of
from tests.crash.tracing import Ran, plain, synced_length, traced
from tests.history import faults

PROGRAM = Path(__file__).with_name("program.py")


class Stage:
    """One session, from its first start to its last resume."""

    def __init__(self, folder: Path, *, plan: int = 10) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder.resolve()
        self.data, self.world = self.folder / "data", self.folder / "world"
        self.plan = plan
        self.store = Store(workspace=self.world, data=self.data)
        self.log = self.store.folder / f"{SESSION}.jsonl"
        places = (self.data, self.data / "projects", self.store.folder)
        self.paths = (*places, self.log, lock_path(self.log), index_path(self.log))

    def command(self, mode: str, *more: str) -> list[str]:
        return [sys.executable, str(PROGRAM), mode, str(self.data), str(self.world), "--plan", str(self.plan), *more]

    def run(self, mode: str, *more: str, faults: Sequence[str] | None = None) -> Ran:
        """Start the program and wait for its end; under strace if there are faults, or an empty list of them."""
        command = self.command(mode, *more)
        if faults is None:
            return plain(command)
        return traced(command, self.folder / "trace", paths=self.paths, faults=faults)

    def bytes(self) -> bytes:
        return self.log.read_bytes() if self.log.exists() else b""


class Facts:
    """What a log says. Fails on a line that does not check or does not hang on the one before."""

    def __init__(self, log: bytes) -> None:
        self.events: list[Durable] = []
        self.arrived: dict[str, CallArrived] = {}
        self.started: Counter[str] = Counter()
        self.settled: dict[str, Result] = {}
        self.messages: set[str] = set()
        self.keys: set[str] = set()
        assert log.endswith(b"\n") or not log, f"half a line stayed: {log[-80:]!r}"
        before, number = START, 0
        for line in log.split(b"\n")[:-1]:
            entry = read_line(line)
            assert (entry.prev, entry.n) == (before, number + 1), f"line {entry.n} does not follow line {number}"
            before, number = entry.sum, entry.n
            assert entry.event is not None, f"line {entry.n} is unknown"
            self._take(entry.event)

    def _take(self, event: Durable) -> None:
        self.events.append(event)
        key = key_of(event)
        if key is not None:
            self.keys.add(key)
        match event:
            case CallArrived():
                self.arrived[event.call_id] = event
            case CallStarted():
                self.started[event.call_id] += 1
            case CallSettled():
                assert event.call_id not in self.settled, f"{event.call_id} has two results"
                assert event.duration_ms is None or event.duration_ms >= 0
                self.settled[event.call_id] = event.result
            case MessageAdded():
                assert event.message.id not in self.messages, f"{event.message.id} is there twice"
                self.messages.add(event.message.id)
            case _:
                pass


def intact(log: bytes) -> bytes:
    """Without a torn end."""
    return log[: log.rfind(b"\n") + 1]


def cut_power(stage: Stage, ran: Ran, seed: int, begin: int = 0) -> None:
    """What was never synced may be lost: all of it, a part down to the middle of a line, or nothing."""
    size = len(stage.bytes())
    safe = synced_length(ran, stage.log, begin)
    assert safe <= size
    draw = random.Random(seed)
    if safe < size and draw.random() < 0.7:
        os.truncate(stage.log, draw.randint(safe, size))


def check_crashed(stage: Stage, ran: Ran) -> Facts:
    """Everything that anybody was told of is there."""
    crashed = Facts(intact(stage.bytes()))
    lost = ran.acks - crashed.keys
    assert not lost, f"acknowledged and not on disk: {sorted(lost)}"
    return crashed


def check_resumed(stage: Stage, crashed: Facts, before: bytes, ran: Ran) -> None:
    """The session went on from what was there, told the truth about every call, and did nothing twice."""
    assert ran.code == 0, ran
    if ran.said[-1:] == ("nothing",):
        assert not crashed.keys, "there is a record, and nothing was resumed"
        assert not (stage.world / "bumps").exists()
        return
    assert ran.said[-1] == "end idle", ran
    log = stage.bytes()
    assert log.startswith(intact(before)), "the record of before was changed"
    after = Facts(log)
    assert ran.acks <= after.keys
    for call_id in crashed.arrived:
        _check_call(call_id, crashed, after)
    check_finished(stage, after)


def check_finished(stage: Stage, facts: Facts) -> None:
    """The plan is done: each item has its result, and the world is as the results say."""
    ledger = Ledger(facts.events)
    assert not ledger.running
    history = list(ledger.history())
    assert faults(history) == []
    assert history == list(ledger.messages), "the history had to be repaired to be sent"
    told = answered(history)
    bumped, stamped = _world(stage)
    for name, item in (call for prompt in plan_of(stage.plan) for step in prompt for call in step):
        text = told[item]
        assert not not_run(text), (item, text)
        if name == "bump":
            assert bumped[item] == 1 or (bumped[item] == 0 and text.startswith("Outcome unknown")), (item, text)
        elif name == "stamp":
            assert stamped[item] == 1, (item, text)
            assert text == f"stamped {item}"
        elif name == "look":
            assert text == f"saw {item}" or text.startswith("Outcome unknown")
        else:
            there = (stage.world / "places" / item).exists()
            assert there or text.startswith(("Nothing was changed", "Outcome unknown")), (item, text)


def _check_call(call_id: str, crashed: Facts, after: Facts) -> None:
    result = after.settled[call_id]
    arrived = crashed.arrived[call_id]
    runs = after.started[call_id]
    was = crashed.started[call_id]
    said = f"{call_id}: {result.code}, started {was} times before and {runs} in all"
    if call_id in crashed.settled:
        assert result == crashed.settled[call_id], said
        assert runs == was, said
    elif was and (EFFECTS[arrived.name] == "mutating" or result.code != "ok"):
        assert result.code == "outcome_unknown", said
        assert result.text.startswith("Outcome unknown"), said
        assert runs == was, said
    elif was:
        assert runs > was, said
    elif arrived.message_id in crashed.messages:
        assert (result.code, runs) == ("ok", 1), said
    else:
        assert (result.code, runs) == ("never_started", 0), said
        assert result.text.startswith("Never started"), said


def _world(stage: Stage) -> tuple[Counter[str], Counter[str]]:
    """How often each item was bumped and stamped. Fails when a key was used twice."""
    path = stage.world / "bumps"
    lines = path.read_text().splitlines() if path.exists() else []
    keys = Counter(line.split()[0] for line in lines)
    assert not [key for key, times in keys.items() if times > 1], "a call with effects ran twice"
    stamps = [file.name.partition("=")[2] for file in (stage.world / "stamps").iterdir()]
    return Counter(line.split()[1] for line in lines), Counter(stamps)
