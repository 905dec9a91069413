"""What a power cut, an editor or a bad copy may leave of a log: the intact lines load, every other byte is named."""

import os
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callgate.conversation.ledger import Ledger
from callgate.transcript.codec import read_line
from callgate.transcript.disk_journal import DiskJournal
from callgate.transcript.reader import Damage, LogReader, Raw
from callgate.words.events import Durable, LinesQuarantined
from tests.history import faults
from tests.profiles import fewer
from tests.transcript.kit import (
    SESSION,
    broken,
    drop_index,
    known,
    live_by_text,
    open_and_say,
    put_log,
    run,
    said,
    store_in,
    talk,
)

BLANK = b" \t\r\n\x0b\x0c"


def base() -> list[bytes]:
    log = talk(3).says("long", "a3", "é\u2028 " * 900)
    return log.says("a4", "long", "short", "assistant").lines


LINES = base()
INTACT = {line.rstrip(b"\n") for line in LINES}
offsets = st.integers(0, sum(map(len, LINES)))
places = st.integers(0, len(LINES) - 1)


def _starts() -> list[int]:
    found = [0]
    for line in LINES:
        found.append(found[-1] + len(line))
    return found


STARTS = _starts()


@st.composite
def torn(draw: st.DrawFn) -> bytes:
    return b"".join(LINES)[: draw(offsets)]


@st.composite
def blocks_that_never_came(draw: st.DrawFn) -> bytes:
    """Behind what was synced, blocks of the disk arrived or did not, in any order; the size may be short as well."""
    synced, size = STARTS[draw(places)], draw(st.sampled_from((512, 4096)))
    image = bytearray(b"".join(LINES)[: draw(st.integers(synced, STARTS[-1]))])
    numbers = range(synced // size, len(image) // size + 1)
    for block in draw(st.sets(st.sampled_from(numbers))):
        begin, end = max(synced, block * size), min(len(image), (block + 1) * size)
        image[begin:end] = bytes(max(0, end - begin))
    return bytes(image)


@st.composite
def edited(draw: st.DrawFn) -> bytes:
    """One accident after the other, on lines: lost, doubled, glued, torn, changed, something else between them."""
    lines = list(LINES)
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, len(lines) - 1))
        line = lines[at]
        match draw(st.sampled_from(("lost", "doubled", "glued", "torn", "flipped", "between", "swapped", "cr"))):
            case "lost":
                lines[at] = b""
            case "doubled":
                lines[at] = line + line
            case "glued":
                lines[at] = line[:-1]
            case "torn":
                lines[at] = line[: draw(st.integers(0, len(line)))]
            case "flipped" if line:
                byte = draw(st.integers(0, len(line) - 1))
                lines[at] = line[:byte] + bytes([line[byte] ^ draw(st.integers(1, 255))]) + line[byte + 1 :]
            case "between":
                lines[at] = line + draw(st.binary(max_size=40))
            case "swapped":
                other = draw(st.integers(0, len(lines) - 1))
                lines[at], lines[other] = lines[other], line
            case _:
                lines[at] = line.replace(b"\n", b"\r\n")
    return b"".join(lines)


@st.composite
def wrapped(draw: st.DrawFn) -> bytes:
    image = draw(st.one_of(torn(), edited(), st.just(b"".join(LINES))))
    image = draw(st.sampled_from((b"", b"\xef\xbb\xbf", b"\n", b"\0" * 7))) + image
    if draw(st.booleans()):
        image = image.replace(b"\n", b"\r\n")
    return image + draw(st.sampled_from((b"", b"\n", b"\0" * 200, b"\0" * 700, b"\r", b"\xff\xfe", LINES[-1])))


images = st.one_of(torn(), blocks_that_never_came(), edited(), wrapped())


def read(path: Path) -> tuple[list[Raw], list[Damage]]:
    fd = os.open(path, os.O_RDONLY)
    try:
        reader = LogReader(fd)
        return list(reader.lines([(0, os.fstat(fd).st_size)])), reader.damages
    finally:
        os.close(fd)


def check_covered(image: bytes, parts: list[tuple[int, int]]) -> None:
    """These parts do not overlap, and what is between them is blank."""
    at = 0
    for offset, length in sorted(parts):
        assert at <= offset, "two say something about the same byte"
        assert not image[at:offset].strip(BLANK), f"nobody says anything about {image[at:offset]!r}"
        at = offset + length
    assert at <= len(image)
    assert not image[at:].strip(BLANK)


def once(found: list[Raw]) -> list[Raw]:
    """Without the repeated: the same line right behind itself, a message with an id that was there."""
    kept: list[Raw] = []
    ids: set[str | None] = set()
    for raw in found:
        line = known(raw.data)
        if (kept and kept[-1].data == raw.data) or (line.what == "message" and line.own in ids):
            continue
        ids.add(line.own)
        kept.append(raw)
    return kept


def live_of(found: list[Raw]) -> list[Durable]:
    lines = [raw.data for raw in found]
    events = [read_line(lines[at]).event for at in live_by_text([known(line) for line in lines])]
    return [event for event in events if event is not None]


@pytest.mark.spec("TRS-5")
@given(images)
def test_a_reader_finds_every_intact_line_and_names_every_other_byte(image: bytes) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "log"
        path.write_bytes(image)
        found, damages = read(path)
    assert {raw.data for raw in found} == {line for line in INTACT if line in image}
    for raw in found:
        assert image[raw.start : raw.start + len(raw.data)] == raw.data
    lines = [(raw.start, len(raw.data)) for raw in found]
    check_covered(image, [*lines, *((each.offset, each.length) for each in damages)])


def check_opened(image: bytes, log: Path, journal: DiskJournal, before: list[Durable], found: list[Raw]) -> None:
    """What was lost is named and kept; what was not is there."""
    kept = once(found)
    lost = [(each.offset, each.length) for each in journal.damages]
    check_covered(image, [*((raw.start, len(raw.data)) for raw in kept), *lost])
    assert [event for event in before if not isinstance(event, LinesQuarantined)] == live_of(kept)
    assert bool(said(before)) == any(known(raw.data).what == "message" for raw in kept), "never silently empty"
    assert faults(Ledger(before).history()) == []
    assert broken(log).exists() == bool(lost)
    if lost:
        assert broken(log).stat().st_mode & 0o777 == 0o600
        copy = broken(log).read_bytes()
        for offset, length in lost:
            assert image[offset : offset + length] in copy
        (told,) = [event for event in before if isinstance(event, LinesQuarantined)]
        assert sorted(told.ranges) == sorted(lost)


@pytest.mark.spec("TRS-5", "TRS-8")
@given(images)
@fewer(25)
def test_a_damaged_log_opens_says_what_it_lost_and_is_written_on(image: bytes) -> None:
    with TemporaryDirectory() as folder:
        store = store_in(Path(folder))
        log = put_log(store, image)
        found, _ = read(log)
        journal, before = run(open_and_say(store))
        check_opened(image, log, journal, before, found)
        copy = broken(log).read_bytes() if broken(log).exists() else b""
        drop_index(log)
        _, again = run(open_and_say(store, "once more"))
        assert said(again) == [*said(before), "new-and now?"]
        assert (broken(log).read_bytes() if broken(log).exists() else b"") == copy, "it is told once"
        assert said(store.read(SESSION).events) == [*said(again), "new-once more"]
