"""Bytes to lines: what is intact is found wherever it stands, and every other byte is named."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from callgate.transcript import reader as reading
from callgate.transcript.codec import BadLine, checked, read_head, read_line
from callgate.transcript.reader import Damage, LogReader, Raw, raw_lines
from tests.transcript.kit import Written, talk

pytestmark = pytest.mark.spec("TRS-5")

LINES = talk(2).lines
FIRST, SECOND, THIRD = LINES[:3]


class File:
    def __init__(self, path: Path) -> None:
        self.path = path

    def read(self, image: bytes, *ranges: tuple[int, int]) -> tuple[list[Raw], list[Damage]]:
        self.path.write_bytes(image)
        fd = os.open(self.path, os.O_RDONLY)
        try:
            reader = LogReader(fd)
            return list(reader.lines(ranges or [(0, len(image))])), reader.damages
        finally:
            os.close(fd)


@pytest.fixture
def file(tmp_path: Path) -> File:
    return File(tmp_path / "log.jsonl")


def where(damages: list[Damage]) -> list[tuple[int, int]]:
    return [(each.offset, each.length) for each in damages]


def test_lines_are_split_at_the_byte_newline_alone(file: File) -> None:
    odd = "a\u2028b\u2029c\u0085d"
    log = Written().says("u1", None, odd)
    raw = log.lines[0].replace(b"\\u2028", "\u2028".encode())  # ensure_ascii wrote escapes: the sum does not fit now
    assert len(file.read(raw)[1]) == 1
    found, damages = file.read(log.image)
    assert (len(found), damages) == (1, [])


def test_the_last_line_needs_no_line_end(file: File) -> None:
    found, damages = file.read(FIRST + SECOND.rstrip(b"\n"))
    assert [raw.data for raw in found] == [FIRST.rstrip(b"\n"), SECOND.rstrip(b"\n")]
    assert damages == []
    assert found[-1].end == len(FIRST) + len(SECOND) - 1


@pytest.mark.parametrize("size", [1, 7, 64, 1 << 20], ids=str)
def test_the_size_of_the_chunks_does_not_matter(file: File, monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    monkeypatch.setattr(reading, "_CHUNK", size)
    found, damages = file.read(b"".join(LINES) + b"torn")
    assert [raw.data + b"\n" for raw in found] == LINES
    assert where(damages) == [(sum(map(len, LINES)), 4)]


def test_a_part_of_the_file_is_read_without_the_rest(file: File) -> None:
    found, damages = file.read(FIRST + SECOND + THIRD, (len(FIRST), len(FIRST) + len(SECOND)))
    assert [raw.data + b"\n" for raw in found] == [SECOND]
    assert damages == []


def test_a_file_that_is_shorter_than_thought_is_read_to_its_end(file: File) -> None:
    found, damages = file.read(FIRST, (0, 10_000))
    assert [raw.data + b"\n" for raw in found] == [FIRST]
    assert damages == []


def glued() -> Iterator[tuple[str, bytes, list[bytes], list[tuple[int, int]]]]:
    one, two = FIRST.rstrip(b"\n"), SECOND.rstrip(b"\n")
    yield "two records", one + two + b"\n", [one, two], []
    yield "a torn one before a whole one", one[:50] + two + b"\n", [two], [(0, 50)]
    yield "a torn one after a whole one", one + two[:50], [one], [(len(one), 50)]
    yield "garbage around", b"x" + one + b"y" + two + b"z\n", [one, two], [(0, 1), (len(one) + 1, 1), (_end(), 1)]
    yield "zeros before", b"\0" * 512 + one + b"\n", [one], [(0, 512)]
    yield "blanks between", one + b"  \t" + two + b" \n", [one, two], []
    yield "a record twice", one + one + b"\n", [one, one], []
    yield (
        "a record inside a torn one",
        one[:40] + two + one[40:] + b"\n",
        [two],
        [(0, 40), (40 + len(two), len(one) - 40)],
    )


def _end() -> int:
    return len(FIRST) + len(SECOND)


GLUED = {name: rest for name, *rest in glued()}


@pytest.mark.parametrize(("image", "records", "damaged"), GLUED.values(), ids=GLUED.keys())
def test_whole_records_in_a_broken_line_are_found(
    file: File, image: bytes, records: list[bytes], damaged: list[tuple[int, int]]
) -> None:
    found, damages = file.read(image)
    assert [raw.data for raw in found] == records
    assert [image[raw.start : raw.start + len(raw.data)] for raw in found] == records
    assert where(damages) == damaged


@pytest.mark.parametrize("image", [b"", b"\n", b"\n\n\n", b"\r\n", b"   \n\t\n"], ids=repr)
def test_blank_lines_are_neither_lines_nor_damage(file: File, image: bytes) -> None:
    assert file.read(image) == ([], [])


def test_a_byte_order_mark_is_damage_and_the_line_behind_it_is_not(file: File) -> None:
    found, damages = file.read(b"\xef\xbb\xbf" + FIRST)
    assert [raw.data + b"\n" for raw in found] == [FIRST]
    assert where(damages) == [(0, 3)]
    found, damages = file.read(FIRST + b"\xef\xbb\xbf" + SECOND)
    assert [raw.data + b"\n" for raw in found] == [FIRST, SECOND]
    assert where(damages) == [(len(FIRST), 3)]


def test_carriage_returns_are_line_ends(file: File) -> None:
    found, damages = file.read(b"".join(LINES).replace(b"\n", b"\r\n"))
    assert [raw.data + b"\n" for raw in found] == LINES
    assert damages == []


def test_zeros_are_called_zeros(file: File) -> None:
    _, damages = file.read(FIRST + b"\0" * 300)
    assert damages == [Damage(len(FIRST), 300, "zeros instead of text")]


def test_the_work_for_a_broken_line_is_in_proportion_to_it(file: File, monkeypatch: pytest.MonkeyPatch) -> None:
    """What somebody wrote to waste our time: every end could belong to every beginning."""
    summed: list[int] = []

    def counting(record: bytes) -> str:
        summed.append(len(record))
        return checked(record)

    monkeypatch.setattr(reading, "checked", counting)
    image = b'{"v":' * 2_000 + (b',"sum":"' + b"0" * 32 + b'"}') * 500
    found, damages = file.read(image)
    assert found == []
    assert where(damages) == [(0, len(image))]
    assert sum(summed) <= 300 * len(image)


def test_one_endless_line_is_read_whole(tmp_path: Path) -> None:
    path = tmp_path / "long"
    path.write_bytes(b"x" * (5 << 20))
    fd = os.open(path, os.O_RDONLY)
    try:
        ((start, end, data),) = raw_lines(fd, 0, 5 << 20)
    finally:
        os.close(fd)
    assert (start, end, len(data)) == (0, 5 << 20, 5 << 20)


BAD: dict[str, bytes] = {
    "empty": b"",
    "no sum": b'{"v":1}',
    "another sum": FIRST.rstrip(b"\n")[:-3] + b'x"}',
    "a changed byte": FIRST.rstrip(b"\n").replace(b"session_opened", b"session_opeNed"),
    "more behind it": FIRST.rstrip(b"\n") + b" ",
}


@pytest.mark.parametrize("line", BAD.values(), ids=BAD.keys())
def test_what_does_not_fit_its_sum_is_no_line(line: bytes) -> None:
    for look in (checked, read_line, read_head):
        with pytest.raises(BadLine):
            look(line)


def test_a_glance_at_a_line_tells_the_same_as_reading_it() -> None:
    log = talk(1).add("rewound", data={"message_id": "u1"}).add("compacted", None, "a1", {"summary": "", "kept": "u1"})
    for line in log.says("u\\9", "ü", "…").lines:
        entry, head = read_line(line.rstrip(b"\n")), read_head(line.rstrip(b"\n"))
        assert (head.n, head.sum, head.line) == (entry.n, entry.sum, entry.line)
