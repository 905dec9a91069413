"""The logs that the benchmark measures with are what they are said to be."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from benchmarks.measure import FULL, QUICK, Size
from benchmarks.rows.record_history import DEAD, alone, compacted, rewound
from benchmarks.rows.record_logs import ENTRIES_A_TURN, amounts, scratch, turns, write_fast
from callgate.conversation.ledger import Ledger
from callgate.transcript.loader import LoadedLog, load, whole
from callgate.transcript.lock import open_log
from callgate.transcript.masking import Masker
from callgate.words.events import Durable

LIVE = 3
Log = Callable[[int], Iterator[Durable]]


def read(log: Path, how: Callable[[int, Path], LoadedLog] = load) -> LoadedLog:
    fd = open_log(log, os.O_RDONLY)
    try:
        return how(fd, log)
    finally:
        os.close(fd)


@pytest.mark.parametrize("events", [alone, rewound, compacted], ids=lambda events: events.__name__)
def test_a_log_written_fast_is_the_one_a_session_would_have_left(events: Log, tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    size = write_fast(log, events(LIVE), Masker({}))
    by_index, by_line = read(log), read(log, lambda fd, path: whole(fd, path.stem))
    assert by_index.damages == by_line.damages == []
    assert by_index.end == by_line.end == size == log.stat().st_size
    assert by_index.events == by_line.events
    assert by_index.about == by_line.about
    assert by_index.chain.live() == by_line.chain.live()


@pytest.mark.parametrize("events", [rewound, compacted], ids=lambda events: events.__name__)
def test_nine_turns_of_ten_are_dead_and_what_is_live_is_what_stands_alone(events: Log, tmp_path: Path) -> None:
    size = write_fast(tmp_path / "log.jsonl", events(LIVE), Masker({}))
    rest = write_fast(tmp_path / "alone.jsonl", alone(LIVE), Masker({}))
    found, wanted = read(tmp_path / "log.jsonl"), read(tmp_path / "alone.jsonl")
    assert Ledger(found.events).messages == Ledger(wanted.events).messages
    live = sum(end - start for start, end in found.chain.live())
    assert size == pytest.approx(rest * (1 + DEAD), rel=0.05)
    assert live == pytest.approx(rest, rel=0.05)


def test_the_turns_have_the_size_that_the_rows_promise(tmp_path: Path) -> None:
    events = list(turns(1, LIVE))
    assert len(events) == LIVE * ENTRIES_A_TURN
    size = write_fast(tmp_path / "log.jsonl", events, Masker({}))
    assert size / LIVE * amounts(FULL).turns == pytest.approx(100e6, rel=0.1)


def test_only_a_full_run_takes_the_full_amounts() -> None:
    full, quick, least = amounts(FULL), amounts(QUICK), amounts(Size(calls=5))
    assert full.live > quick.live > least.live
    assert full.sessions > quick.sessions > least.sessions


def test_nothing_of_a_run_stays_on_disk() -> None:
    with scratch() as folder:
        (Path(folder) / "log.jsonl").touch()
    assert not Path(folder).exists()
