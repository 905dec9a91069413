"""Whatever was done to a log is found, and said by line, number and offset; what was not is called sound."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callgate.transcript.codec import START
from callgate.transcript.lock import opened_log
from callgate.transcript.reader import all_entries
from callgate.transcript.verify import MOST_FAULTS, Verified
from tests.transcript.kit import (
    RECORDED,
    SESSION,
    Written,
    open_and_say,
    put_log,
    recorded,
    resealed,
    run,
    sealed,
    store_in,
    verified,
)

pytestmark = pytest.mark.spec("TRS-12", "GATE-11")


def ten_lines() -> tuple[bytes, ...]:
    log = Written().add("session_opened", data={"version": "1", "workspace": "/w"})
    for n in (1, 2, 3):
        log.says(f"u{n}", f"a{n - 1}" if n > 1 else None, f"prompt {n}").says(f"a{n}", f"u{n}", "answer", "assistant")
        log.add("run_ended", None, f"a{n}", {"reason": "done"})
    return tuple(log.lines)


LINES = ten_lines()
AROUND = "a line is not separated by a line ending"


def checked(folder: Path, *lines: bytes, session: str | None = SESSION, head: str | None = None) -> Verified:
    path = folder / "some.jsonl"
    path.write_bytes(b"".join(lines))
    return verified(path, session=session, head=head)


def only(found: Verified) -> tuple[int, int | None, str]:
    """Line, number and first word of the one fault there is."""
    (fault,) = found.faults
    return fault.line, fault.n, fault.what.split(":")[0].split(" ")[0]


def sum_in(line: bytes) -> str:
    return line[-35:-3].decode()


# ---- sound --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", RECORDED)
def test_what_a_session_wrote_is_sound(name: str, tmp_path: Path) -> None:
    image = recorded(name, tmp_path / "made")
    log = put_log(store_in(tmp_path), image)
    found = verified(log)
    assert (found.sound, found.faults, found.size) == (True, (), len(image))
    assert found.lines == image.count(b"\n")
    assert found.head == sum_in(image.splitlines(keepends=True)[-1])


def test_an_empty_file_has_no_lines_and_is_no_log(tmp_path: Path) -> None:
    found = checked(tmp_path)
    assert (found.sound, found.faults, found.lines, found.head) == (False, (), 0, START)


# ---- every line, every harm ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("at", range(len(LINES)))
def test_a_changed_line_is_named(at: int, tmp_path: Path) -> None:
    line = LINES[at]
    changed = line.replace(b'"data":{', b'"data":{ ', 1)
    found = checked(tmp_path, *LINES[:at], changed, *LINES[at + 1 :])
    assert only(found) == (at + 1, at + 1, "changed")
    assert found.faults[0].offset == len(b"".join(LINES[:at]))
    assert found.lines == len(LINES) - 1


@pytest.mark.parametrize("at", range(len(LINES) - 1))
def test_a_line_changed_together_with_its_sum_is_named(at: int, tmp_path: Path) -> None:
    forged = resealed(LINES[at], b'"data":{', b'"data":{ ')
    found = checked(tmp_path, *LINES[:at], forged, *LINES[at + 1 :])
    assert only(found) == (at + 1, at + 1, "changed")
    assert "together with its checksum" in found.faults[0].what


def test_a_last_line_changed_together_with_its_sum_is_found_by_the_head_alone(tmp_path: Path) -> None:
    forged = resealed(LINES[-1], b'"data":{', b'"data":{ ')
    found = checked(tmp_path, *LINES[:-1], forged, head=sum_in(LINES[-1]))
    assert (found.sound, found.noted_at) == (True, None)


@pytest.mark.parametrize("at", range(len(LINES) - 1))
def test_a_removed_line_is_named_by_its_number(at: int, tmp_path: Path) -> None:
    found = checked(tmp_path, *LINES[:at], *LINES[at + 1 :])
    assert only(found) == (at + 1, at + 1, "removed")


def test_several_removed_lines_are_one_fault(tmp_path: Path) -> None:
    found = checked(tmp_path, *LINES[:3], *LINES[6:])
    assert [fault.what for fault in found.faults] == ["removed: n 4 to 6 should stand before line 4"]


@pytest.mark.parametrize("at", range(len(LINES) - 1))
def test_a_line_that_was_moved_is_named_and_nothing_is_missing(at: int, tmp_path: Path) -> None:
    found = checked(tmp_path, *LINES[:at], LINES[at + 1], LINES[at], *LINES[at + 2 :])
    assert only(found) == (at + 2, at + 1, "moved")


def test_a_block_that_was_moved_is_told_line_by_line(tmp_path: Path) -> None:
    found = checked(tmp_path, *LINES[:2], *LINES[5:], *LINES[2:5])
    told = [(fault.line, fault.n, fault.what) for fault in found.faults]
    assert told == [(line, n, "moved: the line belongs before line 3") for line, n in ((8, 3), (9, 4), (10, 5))]


def test_what_is_missing_of_a_moved_block_is_still_missing(tmp_path: Path) -> None:
    found = checked(tmp_path, *LINES[:2], *LINES[6:], LINES[3])
    assert [fault.what for fault in found.faults] == [
        "removed: n 3 should stand before line 3",
        "removed: n 5 to 6 should stand before line 3",
        "moved: the line belongs before line 3",
    ]


@pytest.mark.parametrize("at", range(len(LINES)))
@pytest.mark.parametrize("later", [0, 3])
def test_a_repeated_line_is_named(at: int, later: int, tmp_path: Path) -> None:
    place = min(at + 1 + later, len(LINES))
    found = checked(tmp_path, *LINES[:place], LINES[at], *LINES[place:])
    assert only(found) == (place + 1, at + 1, "repeated")
    if place == at + 1:
        assert found.faults[0].what == f"repeated: the line is a copy of line {at + 1}"


def test_a_line_put_in_between_is_named(tmp_path: Path) -> None:
    forged = resealed(LINES[4], b'"data":{', b'"data":{ ')
    assert only(checked(tmp_path, *LINES[:5], forged, *LINES[5:])) == (6, 5, "repeated")


def test_a_line_of_another_session_is_foreign(tmp_path: Path) -> None:
    foreign = resealed(LINES[4], SESSION.encode(), b"another")
    assert only(checked(tmp_path, *LINES[:5], foreign, *LINES[5:])) == (6, 5, "foreign")


def test_a_log_under_the_name_of_another_session_is_one_fault(tmp_path: Path) -> None:
    found = checked(tmp_path, *LINES, session="another")
    assert only(found) == (1, 1, "the")
    assert checked(tmp_path, *LINES, session=None).sound


@pytest.mark.parametrize("kept", [1, 20, -1])
def test_a_torn_end_is_found(kept: int, tmp_path: Path) -> None:
    found = checked(tmp_path, *LINES[:-1], LINES[-1][:kept])
    fault = found.faults[0]
    assert (len(found.faults), fault.line, fault.what[:4]) == (1, len(LINES), "torn")
    assert found.lines == len(LINES) - (kept != -1)


def test_a_line_glued_to_a_torn_one_still_counts(tmp_path: Path) -> None:
    found = checked(tmp_path, *LINES[:4], LINES[4][:30], *LINES[5:])
    assert only(found) == (5, 5, "changed")
    assert (found.faults[0].length, found.lines) == (30, len(LINES) - 1)


ZEROS = bytes(len(b"".join(LINES[3:6])) - 1)


@pytest.mark.parametrize("end", [b"\n", b""])
def test_zeros_in_place_of_lines_are_one_fault_that_names_the_lines(tmp_path: Path, end: bytes) -> None:
    found = checked(tmp_path, *LINES[:3], ZEROS, end, *LINES[6:])
    assert [fault.what for fault in found.faults] == ["overwritten: zeros instead of text; n 4 to 6 are lost"]


def test_a_gap_of_a_power_loss_is_one_fault_after_the_repair(tmp_path: Path) -> None:
    store = store_in(tmp_path)
    log = put_log(store, b"".join((*LINES[:3], ZEROS, *LINES[6:])))
    run(open_and_say(store, "go on"))
    (fault,) = verified(log).faults
    assert fault.on_record is not None


def test_lines_removed_beside_zeros_are_found(tmp_path: Path) -> None:
    found = checked(tmp_path, *LINES[:2], ZEROS[:300], b"\n", *LINES[8:])
    assert [fault.what.split(":")[0] for fault in found.faults] == ["overwritten", "removed"]


def test_lines_removed_beside_a_damaged_one_are_found_too(tmp_path: Path) -> None:
    changed = LINES[4].replace(b'"data":{', b'"data":{ ', 1)
    found = checked(tmp_path, *LINES[:4], changed, *LINES[7:])
    assert [fault.what.split(":")[0] for fault in found.faults] == ["changed or torn", "removed"]
    assert "n 5 to 7" in found.faults[1].what


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ((b"\xef\xbb\xbf", *LINES), "a byte order mark before the first line"),
        ((*LINES[:3], b"\n", *LINES[3:]), "an empty line, which is not allowed in a log"),
        ((*LINES[:3], LINES[3][:-1] + b"\r\n", *LINES[4:]), "its line ending is not a single newline"),
        ((*LINES[:3], b" ", *LINES[3:]), AROUND),
        ((*LINES[:3], LINES[3][:-1], *LINES[4:]), AROUND),
        ((*LINES[:3], b"hello\n", *LINES[3:]), "changed or torn: its end is invalid"),
    ],
    ids=["mark", "empty", "carriage-return", "blank", "no-line-end", "text"],
)
def test_what_does_not_belong_there_is_found_and_breaks_nothing(
    lines: tuple[bytes, ...], said: str, tmp_path: Path
) -> None:
    found = checked(tmp_path, *lines)
    assert [fault.what for fault in found.faults] == [said]
    assert found.lines == len(LINES)


@pytest.mark.parametrize("body", [b'{"v":1,"n":5', b'{"v":1,"n":"5","type":"x"', b"[1", b'{"v":1,"n":5,"at":NaN'])
def test_a_sum_alone_makes_no_line(body: bytes, tmp_path: Path) -> None:
    found = checked(tmp_path, *LINES[:4], sealed(body), *LINES[5:])
    (fault,) = found.faults
    assert fault.what.startswith("changed: its checksum matches, but")


def test_a_line_with_another_number_is_found(tmp_path: Path) -> None:
    log = Written().add("session_opened").says("u1", None)
    jumped = resealed(Written.says(log, "u2", "u1").lines.pop(), b'"n":3', b'"n":7')
    assert only(checked(tmp_path, *log.lines, jumped)) == (3, 7, "renumbered")


# ---- the end ------------------------------------------------------------------------------------------------------


def test_an_end_that_was_cut_off_is_found_by_the_head_noted_before(tmp_path: Path) -> None:
    head = checked(tmp_path, *LINES).head
    cut = checked(tmp_path, *LINES[:-2], head=head)
    assert (cut.sound, cut.noted_at) == (True, None)


def test_a_log_that_grew_still_has_the_head_noted_before(tmp_path: Path) -> None:
    head = checked(tmp_path, *LINES[:6]).head
    assert checked(tmp_path, *LINES[:6], head=head).noted_at == 6
    assert checked(tmp_path, *LINES, head=head).noted_at == 6


# ---- damage on record ---------------------------------------------------------------------------------------------


def test_damage_that_the_log_itself_knows_of_is_told_apart(tmp_path: Path) -> None:
    store = store_in(tmp_path)
    changed = LINES[4].replace(b"prompt", b"PROMPT").replace(b"answer", b"ANSWER").replace(b"done", b"gone")
    log = put_log(store, b"".join((*LINES[:4], changed, *LINES[5:])))
    assert [fault.on_record for fault in verified(log).faults] == [None]
    journal, _ = run(open_and_say(store))
    (fault,) = verified(log, session=journal.session).faults
    assert fault.on_record is not None
    assert (fault.line, fault.n) == (5, 5)


def test_a_torn_end_that_was_cut_off_is_on_record_and_the_log_is_sound_again(tmp_path: Path) -> None:
    store = store_in(tmp_path)
    log = put_log(store, b"".join(LINES) + LINES[-1][:40])
    assert not verified(log).sound
    run(open_and_say(store))
    found = verified(log)
    assert (found.sound, found.cut) == (True, 40)


def test_a_log_that_was_written_on_after_harm_shows_that_harm_and_no_other(tmp_path: Path) -> None:
    store = store_in(tmp_path)
    foreign = resealed(resealed(LINES[6], SESSION.encode(), b"another"), b'"n":7', b'"n":500')
    moved = (*LINES[:6], *LINES[7:], LINES[6])
    for lines in ((*LINES, foreign), moved):
        log = put_log(store, b"".join(lines))
        before = verified(log).faults
        assert [fault.what[:5] for fault in before] in (["forei"], ["moved"])
        run(open_and_say(store))
        assert verified(log).faults == before
        assert verified(log).lines == len(lines) + 1


# ---- any harm -----------------------------------------------------------------------------------------------------


@given(data=st.data())
def test_any_single_change_is_found(data: st.DataObject, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.getbasetemp() / "harmed.jsonl"
    lines = list(LINES)
    kind = data.draw(st.sampled_from(["flip", "drop", "insert", "remove", "repeat", "swap"]))
    if kind in ("flip", "drop", "insert"):
        image = bytearray(b"".join(lines))
        at = data.draw(st.integers(0, len(image) - 1))
        if kind == "flip":
            image[at] ^= data.draw(st.integers(1, 255))
        elif kind == "drop":
            del image[at]
        else:
            image.insert(at, data.draw(st.integers(0, 255)))
        if image == b"".join(lines):
            return
        path.write_bytes(image)
    else:
        at = data.draw(st.integers(0, len(lines) - 2))
        if kind == "remove":
            del lines[at]
        elif kind == "repeat":
            lines.insert(data.draw(st.integers(at, len(lines))), lines[at])
        else:
            other = data.draw(st.integers(at + 1, len(lines) - 1))
            lines[at], lines[other] = lines[other], lines[at]
        path.write_bytes(b"".join(lines))
    found = verified(path, session=SESSION, head=sum_in(LINES[-1]))
    assert not found.sound
    size = path.stat().st_size
    assert all(0 <= fault.offset < max(size, 1) and fault.line >= 1 for fault in found.faults)


@given(junk=st.binary(max_size=300), at=st.integers(0, 10))
def test_no_bytes_stop_it(junk: bytes, at: int, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.getbasetemp() / "junk.jsonl"
    path.write_bytes(b"".join(LINES[:at]) + junk + b"".join(LINES[at:]))
    assert verified(path, session=SESSION).sound == (junk == b"")


def test_of_very_many_faults_only_some_are_kept(tmp_path: Path) -> None:
    found = checked(tmp_path, *LINES, *([b"junk\n"] * (MOST_FAULTS + 50)))
    assert (len(found.faults), found.more, found.sound) == (MOST_FAULTS, 50, False)


# ---- all entries --------------------------------------------------------------------------------------------------


def test_all_entries_are_read_in_the_order_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "some.jsonl"
    path.write_bytes(b"".join((*LINES[:4], b"junk\n", LINES[3], LINES[3], *LINES[4:])))
    with opened_log(path) as fd:
        assert [entry.n for entry in all_entries(fd)] == [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]


def missing(path: Path, *lines: bytes) -> bool:
    path.write_bytes(b"".join(lines))
    return verified(path).missing


@pytest.mark.parametrize("at", [0, 1, 5, 8])
def test_a_line_that_is_gone_is_missed(at: int, tmp_path: Path) -> None:
    assert missing(tmp_path / "some.jsonl", *LINES[:at], *LINES[at + 1 :])


def test_what_is_damaged_repeated_or_elsewhere_is_not_missing(tmp_path: Path) -> None:
    path = tmp_path / "some.jsonl"
    harmed = LINES[4].replace(b'"data":{', b'"data":{ ')
    assert not missing(path)
    assert not missing(path, *LINES)
    assert not missing(path, *LINES[:4], harmed, *LINES[5:])
    assert not missing(path, *LINES[:4], b"junk\n", *LINES[4:])
    assert not missing(path, *LINES[:4], LINES[3], LINES[1], *LINES[4:])
    assert not missing(path, *LINES[:4], *LINES[5:], LINES[4])
    assert missing(path, *LINES[:4], harmed, *LINES[5:7], *LINES[8:])
