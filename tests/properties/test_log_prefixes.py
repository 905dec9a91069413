"""Every prefix of a recorded log, cut at any byte, loads, is repaired, is written on, and resumes."""

import random
from collections.abc import Iterable
from pathlib import Path

import pytest

from callgate.conversation.ledger import Ledger
from callgate.transcript.codec import read_line
from callgate.words.events import Durable, LinesQuarantined
from tests.transcript.kit import (
    RECORDED,
    SESSION,
    broken,
    check_chain,
    check_resumes,
    drop_index,
    known,
    live_by_text,
    open_and_say,
    put_log,
    recorded,
    run,
    said,
    store_in,
)

SEED = 20_250_101
LAST_LINES = 2
ELSEWHERE = 300

_logs: dict[str, bytes] = {}


@pytest.fixture(params=sorted(RECORDED))
def image(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> bytes:
    name = request.param
    if name not in _logs:
        _logs[name] = recorded(name, tmp_path_factory.mktemp(name))
    return _logs[name]


def line_ends(image: bytes) -> list[int]:
    return [at + 1 for at, byte in enumerate(image) if byte == ord("\n")]


def all_cuts(image: bytes) -> list[int]:
    """Every byte of the last lines, every line end and the bytes around it, and some bytes elsewhere."""
    ends = line_ends(image)
    cuts = {0, *ends, *(end - 1 for end in ends), *(min(end + 1, len(image)) for end in ends)}
    cuts.update(range(ends[-LAST_LINES - 1], len(image) + 1))
    cuts.update(random.Random(SEED).sample(range(len(image)), min(ELSEWHERE, len(image))))
    return sorted(cuts)


def sample(cuts: Iterable[int], count: int) -> list[int]:
    return sorted(random.Random(SEED).sample(list(cuts), count))


def live_events(lines: list[bytes]) -> list[Durable]:
    live = live_by_text([known(line) for line in lines])
    events = [read_line(lines[at].rstrip(b"\n")).event for at in live]
    return [event for event in events if event is not None]


def check_loads(folder: Path, image: bytes, cut: int) -> None:
    """It opens; at most the torn line is missing, and named; the next line is readable."""
    store = store_in(folder)
    log = put_log(store, image[:cut])
    lines = image[:cut].split(b"\n")
    torn = lines.pop()
    begin = cut - len(torn)
    if torn and image[cut : cut + 1] == b"\n":  # only its line end is missing
        lines.append(torn)
        torn = b""
    journal, before = run(open_and_say(store))
    found = [(damage.offset, damage.length) for damage in journal.damages]
    assert found == ([(begin, len(torn))] if torn else [])
    assert [event for event in before if not isinstance(event, LinesQuarantined)] == live_events(lines)
    assert broken(log).exists() == bool(torn)
    if torn:
        assert broken(log).read_bytes().endswith(b"\n" + torn)
        assert broken(log).stat().st_mode & 0o777 == 0o600
    after = log.read_bytes()
    assert after.startswith(b"".join(line + b"\n" for line in lines)), "what was intact stays as it was"
    assert after.endswith(b"\n")
    check_chain(after)
    by_index, again = run(open_and_say(store, "once more"))
    assert by_index.damages == ()
    assert said(again) == [*said(before), "new-and now?"]
    drop_index(log)
    loaded = store.read(SESSION)
    assert loaded.damages == []
    assert said(loaded.events) == [*said(again), "new-once more"]
    Ledger(loaded.events)


@pytest.mark.spec("TRS-5", "TRS-8")
def test_a_log_cut_at_sampled_bytes_loads(tmp_path: Path, image: bytes) -> None:
    for cut in sample(all_cuts(image), 20):
        check_loads(tmp_path, image, cut)


@pytest.mark.spec("TRS-7", "TRS-8")
def test_a_log_cut_at_sampled_bytes_resumes(tmp_path: Path, image: bytes) -> None:
    for cut in sample(all_cuts(image), 15):
        store = store_in(tmp_path)
        put_log(store, image[:cut])
        run(check_resumes(store))


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.spec("TRS-5", "TRS-8")
def test_a_log_cut_anywhere_loads(tmp_path: Path, image: bytes) -> None:
    for cut in all_cuts(image):
        check_loads(tmp_path, image, cut)


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.spec("TRS-7", "TRS-8")
def test_a_log_cut_anywhere_resumes_and_resumes_again(tmp_path: Path, image: bytes) -> None:
    for cut in all_cuts(image):
        store = store_in(tmp_path)
        put_log(store, image[:cut])
        first = said(run(check_resumes(store)))
        again = said(run(check_resumes(store)))
        assert again[: len(first)] == first
