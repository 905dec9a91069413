"""Changes on disk: what is kept is what was applied, also after a crash in the middle of a line."""

import errno
import hashlib
import os
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callgate.changes.history import LARGE, ChangeHistory
from callgate.words.changes import ChangeSet, FileChange, Stored
from callgate.words.errors import JournalError
from tests.profiles import fewer


@pytest.fixture
def history(tmp_path: Path) -> ChangeHistory:
    return ChangeHistory(tmp_path / "changes")


def change(label: str = "edit", *files: FileChange, **more: object) -> ChangeSet:
    made = ChangeSet(label=label, files=files or (FileChange("a", b"1", b"2"),), tool="Edit", id="a3/call_1", count=3)
    return replace(made, **more)  # type: ignore[arg-type]


contents = st.none() | st.binary(max_size=40)
paths = st.text(st.characters(exclude_characters="\0/", codec="utf-8"), min_size=1, max_size=8) | st.just("b\udcff")


@given(st.lists(st.builds(FileChange, paths, contents, contents, st.none() | paths, st.none() | st.integers(0, 0o777))))
@fewer(20)
def test_what_is_kept_comes_back_as_it_was(tmp_path_factory: pytest.TempPathFactory, files: list[FileChange]) -> None:
    history = ChangeHistory(tmp_path_factory.mktemp("any"))
    made = change("any", *files) if files else change()
    kept = history.save(made, "s1", now=5.0)
    (found,) = history.all("s1")
    assert found == kept
    assert history.load(found) == made


def test_states_follow_each_other_and_modes_are_taken_over(history: ChangeHistory) -> None:
    kept = history.save(change(), "s1", now=1.0)
    assert (kept.state, kept.turn, kept.number, kept.name) == ("staged", "a3", 1, "s1/1")
    applied = change("edit", FileChange("a", b"1", b"2", mode_before=0o755))
    marked = history.mark(kept, "applied", now=2.0, applied=applied)
    assert history.all("s1") == [marked]
    assert history.load(marked).files[0].mode_before == 0o755
    assert history.mark(marked, "reverted", now=3.0).state == history.all("s1")[0].state == "reverted"


@pytest.mark.spec("CHG-3")
def test_changes_are_ordered_by_their_number_whatever_the_clock_says(history: ChangeHistory) -> None:
    for number, now in enumerate((5.0, 9.0, 2.0)):
        history.save(change(f"change {number}"), "s1", now=now)
    assert [kept.label for kept in history.all("s1")] == ["change 2", "change 1", "change 0"]
    assert history.all("none") == []


def test_a_staged_change_counts_from_when_it_is_applied(history: ChangeHistory) -> None:
    staged = [history.save(change(f"staged {number}"), "s1", now=9.0) for number in range(2)]
    history.save(change("direct"), "s1", now=5.0, state="applying")
    history.mark_applying(staged[1], now=1.0, id="a2/c1")
    history.mark_applying(staged[0], now=0.0, id="a2/c2")
    history.save(change("last"), "s1", now=0.0, state="applying")
    assert [kept.label for kept in history.all("s1")] == ["last", "staged 0", "staged 1", "direct"]


@pytest.mark.spec("CHG-3")
def test_one_mark_reverts_all_that_an_undo_names_and_an_undo_of_it_brings_them_back(history: ChangeHistory) -> None:
    for label in ("one", "two"):
        history.mark(history.save(change(label), "s1", now=0.0), "applied", now=0.0)
    undo = history.save(change("undo"), "s1", now=0.0, state="applying", reverts=(1, 2))
    assert [kept.state for kept in history.all("s1")] == ["applying", "applied", "applied"]
    history.mark(undo, "applied", now=0.0)
    assert [kept.state for kept in history.all("s1")] == ["applied", "reverted", "reverted"]
    redo = history.save(change("redo"), "s1", now=0.0, state="applying", reverts=(3,))
    history.mark(redo, "applied", now=0.0)
    assert [kept.state for kept in history.all("s1")] == ["applied", "reverted", "applied", "applied"]


@pytest.mark.spec("CHG-3")
def test_a_mark_that_the_disk_cut_off_is_repaired_by_the_next_one(history: ChangeHistory) -> None:
    """For every length of the torn line: the change can be read, and marked again."""
    kept = history.save(change("a"), "s1", now=0.0, state="applying")
    whole = history.file("s1", 1).read_bytes()
    history.mark(kept, "applied", now=1.0)
    line = history.file("s1", 1).read_bytes()[len(whole) :]
    for length in range(len(line)):
        history.file("s1", 1).write_bytes(whole + line[:length])
        assert (history.all("s1"), history.read("s1")[1]) == ([kept], []), line[:length]
        history.mark(kept, "applied", now=1.0)
        assert history.file("s1", 1).read_bytes() == whole + line, line[:length]


def test_a_mark_for_which_there_is_no_space_leaves_whole_lines(
    history: ChangeHistory, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = history.save(change("a"), "s1", now=0.0, state="applying")
    whole = history.file("s1", 1).read_bytes()
    real, written = os.write, list[int]()

    def write(descriptor: int, data: bytes) -> int:
        if written:
            raise OSError(errno.ENOSPC, "No space left on device")
        written.append(real(descriptor, data[:7]))
        return written[0]

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", write)
        with pytest.raises(JournalError, match="No space left"):
            history.mark(kept, "applied", now=1.0)
    assert history.file("s1", 1).read_bytes() == whole


def test_a_damaged_line_costs_only_what_it_said_and_is_named(history: ChangeHistory) -> None:
    kept = history.save(change("a"), "s1", now=0.0, state="applying")
    with history.file("s1", 1).open("ab") as file:
        file.write(b'{"state": "app\x00\n')
    history.mark(kept, "applied", now=1.0)
    assert [each.state for each in history.all("s1")] == ["applied"]
    (fault,) = history.read("s1")[1]
    assert "line 2 is damaged and ignored" in fault


def test_a_content_that_stands_in_many_files_is_kept_once(history: ChangeHistory) -> None:
    files = [FileChange(str(number), b"old" * 100, b"new" * 100) for number in range(50)]
    history.save(change("many", *files), "s1", now=0.0)
    assert (history.folder_of("s1") / "0001.pack").stat().st_size == 600


def test_a_large_content_is_kept_by_itself(history: ChangeHistory, tmp_path: Path) -> None:
    large = os.urandom(LARGE + 1)
    source = tmp_path / "large"
    source.write_bytes(large)
    named = Stored(hashlib.sha256(large).hexdigest(), len(large), str(source))
    kept = history.save(change("large", FileChange("a", large, None), FileChange("b", None, named)), "s1", now=0.0)
    assert (history.folder_of("s1") / "0001.pack").stat().st_size == 0
    first, second = history.load(kept).files
    assert first.before == second.after
    assert isinstance(first.before, Stored)
    assert Path(first.before.path).read_bytes() == large
    assert [file.name for file in (history.folder_of("s1") / "blobs").iterdir()] == [named.sha256]


def test_a_line_that_was_cut_off_does_not_count(history: ChangeHistory) -> None:
    kept = history.save(change(), "s1", now=0.0)
    with (history.folder_of("s1") / "0001.jsonl").open("ab") as file:
        file.write(b'{"state": "appl')
    assert history.all("s1") == [kept]
    for text in (b"", b'{"version": 1, "sess'):  # the keeping of another one was cut off: nothing of it was done
        (history.folder_of("s1") / "0002.jsonl").write_bytes(text)
        assert history.read("s1") == ([kept], [])


@pytest.mark.parametrize("text", [b"[]\n", b"{}\n", b'{"version": 9}\n', b"\xff\n", b'{"version": 1}\n'])
def test_what_cannot_be_read_is_named_and_the_others_are_there(history: ChangeHistory, text: bytes) -> None:
    kept = history.save(change(), "s1", now=0.0)
    (history.folder_of("s1") / "0002.jsonl").write_bytes(text)
    assert history.all("s1") == [kept]
    (fault,) = history.read("s1")[1]
    assert "0002.jsonl" in fault
    assert history.save(change(), "s1", now=1.0).number == 3


def test_contents_that_are_damaged_or_gone_are_an_error(history: ChangeHistory) -> None:
    kept = history.save(change(), "s1", now=0.0)
    pack = history.folder_of("s1") / "0001.pack"
    pack.write_bytes(b"xx")
    with pytest.raises(JournalError, match="the contents of change s1/1 are damaged"):
        history.load(kept)
    pack.unlink()
    with pytest.raises(JournalError, match="the contents of change s1/1 cannot be read"):
        history.load(kept)


def test_a_folder_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(JournalError, match="the change cannot be stored in"):
        ChangeHistory(tmp_path / "file").save(change(), "s1", now=0.0)
    history = ChangeHistory(tmp_path / "there")
    kept = history.save(change(), "s1", now=0.0)
    (history.folder_of("s1") / "0001.jsonl").unlink()
    with pytest.raises(JournalError, match="the new state of change s1/1 cannot be stored"):
        history.mark(kept, "applied", now=1.0)


def test_all_of_it_is_private(history: ChangeHistory) -> None:
    history.save(change("x", FileChange("a", os.urandom(LARGE + 1), b"1")), "s1", now=0.0)
    for path in history.folder.rglob("*"):
        assert path.stat().st_mode & 0o077 == 0, path
