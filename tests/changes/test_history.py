"""Changes on disk: what is kept is what was applied, also after a crash in the middle of a line."""

import hashlib
import os
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callgate.changes.history import LARGE, History
from callgate.words.changes import ChangeSet, FileChange, Stored
from callgate.words.errors import JournalError


@pytest.fixture
def history(tmp_path: Path) -> History:
    return History(tmp_path / "changes")


def change(label: str = "edit", *files: FileChange, **more: object) -> ChangeSet:
    made = ChangeSet(label, files or (FileChange("a", b"1", b"2"),), "Edit", "a3/call_1", 3)
    return replace(made, **more)  # type: ignore[arg-type]


contents = st.none() | st.binary(max_size=40)
paths = st.text(st.characters(exclude_characters="\0/", codec="utf-8"), min_size=1, max_size=8) | st.just("b\udcff")


@given(st.lists(st.builds(FileChange, paths, contents, contents, st.none() | paths, st.none() | st.integers(0, 0o777))))
def test_what_is_kept_comes_back_as_it_was(tmp_path_factory: pytest.TempPathFactory, files: list[FileChange]) -> None:
    history = History(tmp_path_factory.mktemp("any"))
    made = change("any", *files) if files else change()
    kept = history.save(made, "s1", now=5.0)
    (found,) = history.all()
    assert found == kept
    assert history.load(found) == made


def test_states_follow_each_other_and_modes_are_taken_over(history: History) -> None:
    kept = history.save(change(), "s1", now=1.0)
    assert (kept.state, kept.turn, kept.number, kept.name) == ("staged", "a3", 1, "s1/1")
    applied = change("edit", FileChange("a", b"1", b"2", mode_before=0o755))
    marked = history.mark(kept, "applied", now=2.0, applied=applied)
    assert history.all() == [marked]
    assert history.load(marked).files[0].mode_before == 0o755
    assert history.mark(marked, "reverted", now=3.0).state == history.all("s1")[0].state == "reverted"


def test_the_newest_comes_first_whatever_the_session(history: History) -> None:
    for number, session in enumerate(("b", "a", "b")):
        history.save(change(f"change {number}", id=f"c{number % 2}"), session, now=float(number))
    assert [kept.label for kept in history.all()] == ["change 2", "change 1", "change 0"]
    assert [kept.name for kept in history.all("b")] == ["b/2", "b/1"]
    found = history.find("b", "c0")
    assert found is not None
    assert found.label == "change 2"
    assert history.find("b", "c1") is None
    assert history.all("none") == []


def test_a_content_that_stands_in_many_files_is_kept_once(history: History) -> None:
    files = [FileChange(str(number), b"old" * 100, b"new" * 100) for number in range(50)]
    history.save(change("many", *files), "s1", now=0.0)
    assert (history.of("s1") / "0001.pack").stat().st_size == 600


def test_a_large_content_is_kept_by_itself(history: History, tmp_path: Path) -> None:
    large = os.urandom(LARGE + 1)
    source = tmp_path / "large"
    source.write_bytes(large)
    named = Stored(hashlib.sha256(large).hexdigest(), len(large), str(source))
    kept = history.save(change("large", FileChange("a", large, None), FileChange("b", None, named)), "s1", now=0.0)
    assert (history.of("s1") / "0001.pack").stat().st_size == 0
    first, second = history.load(kept).files
    assert first.before == second.after
    assert isinstance(first.before, Stored)
    assert Path(first.before.path).read_bytes() == large
    assert [file.name for file in (history.of("s1") / "blobs").iterdir()] == [named.sha256]


def test_a_line_that_was_cut_off_does_not_count(history: History) -> None:
    kept = history.save(change(), "s1", now=0.0)
    with (history.of("s1") / "0001.jsonl").open("ab") as file:
        file.write(b'{"state": "appl')
    assert history.all() == [kept]


@pytest.mark.parametrize("text", [b"", b"[]\n", b"{}\n", b'{"version": 9}\n', b"\xff\n", b'{"version": 1}\n'])
def test_what_cannot_be_read_is_named_and_the_others_are_there(history: History, text: bytes) -> None:
    kept = history.save(change(), "s1", now=0.0)
    (history.of("s1") / "0002.jsonl").write_bytes(text)
    assert history.all() == [kept]
    (fault,) = history.faults()
    assert "0002.jsonl" in fault
    assert history.save(change(), "s1", now=1.0).number == 3


def test_contents_that_are_damaged_or_gone_are_an_error(history: History) -> None:
    kept = history.save(change(), "s1", now=0.0)
    pack = history.of("s1") / "0001.pack"
    pack.write_bytes(b"xx")
    with pytest.raises(JournalError, match="the contents of change s1/1 are damaged"):
        history.load(kept)
    pack.unlink()
    with pytest.raises(JournalError, match="the contents of change s1/1 cannot be read"):
        history.load(kept)


def test_a_folder_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(JournalError, match="the change cannot be kept in"):
        History(tmp_path / "file").save(change(), "s1", now=0.0)
    history = History(tmp_path / "there")
    kept = history.save(change(), "s1", now=0.0)
    (history.of("s1") / "0001.jsonl").unlink()
    with pytest.raises(JournalError, match="the change s1/1 cannot be marked"):
        history.mark(kept, "applied", now=1.0)


def test_all_of_it_is_private(history: History) -> None:
    history.save(change("x", FileChange("a", os.urandom(LARGE + 1), b"1")), "s1", now=0.0)
    for path in history.folder.rglob("*"):
        assert path.stat().st_mode & 0o077 == 0, path
