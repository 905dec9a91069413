"""Cleaning up takes what is left over and what is old, and nothing that anybody uses or that is not ours."""

import os
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from callgate.transcript.lock import lock_path, open_log, take_lock
from callgate.transcript.log_cleanup import FRESH, Cleaned, collect, remove_unused
from callgate.transcript.store import Store
from callgate.words.errors import SessionLocked
from callgate.words.events import MessageAdded, SessionOpened
from callgate.words.messages import Message, Text
from tests.transcript.kit import AT, store_in

pytestmark = pytest.mark.spec("TRS-12", "TRS-6")

NOW = AT + 1000 * 86400
DAY = 86400.0
GONE = "20250101-000000-00000000"


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return store_in(tmp_path)


def aged(path: Path, days: float) -> Path:
    os.utime(path, (NOW - days * DAY, NOW - days * DAY), follow_symlinks=False)
    return path


def session(store: Store, days: float) -> Path:
    """A session with all that can belong to one, last used so many days ago."""
    said = MessageAdded(AT, Message("u1", "user", (Text("hello"),)))
    log = store.folder / f"{store.write([SessionOpened(AT, '1', '/w'), said])}.jsonl"
    artifacts = log.with_suffix("") / "artifacts"
    artifacts.mkdir(parents=True)
    (artifacts / "big.txt").write_text("x" * 1000)
    log.with_name(f"{log.name}.broken").write_text("junk")
    return aged(log, days)


def clean(store: Store, days: float | None = None, *, dry_run: bool = False) -> Cleaned:
    return collect(store.data, now=NOW, older_than=None if days is None else days * DAY, dry_run=dry_run)


def names(cleaned: Cleaned) -> list[str]:
    return sorted(Path(each.path).name for each in cleaned.removed)


@contextmanager
def held(log: Path) -> Generator[None]:
    fd = open_log(log, os.O_RDWR)
    try:
        take_lock(fd, log, NOW)
        yield
    finally:
        os.close(fd)


def everything(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


# ---- old sessions -------------------------------------------------------------------------------------------------


def test_an_old_session_goes_with_all_that_belongs_to_it(store: Store) -> None:
    old, young = session(store, 31), session(store, 29)
    size = sum(path.stat().st_size for path in store.folder.rglob(f"{old.stem}*") if path.is_file()) + 1000
    cleaned = clean(store, 30)
    assert [(each.session, each.used_at) for each in cleaned.removed] == [(old.stem, NOW - 31 * DAY)]
    assert cleaned.size == size
    assert not [name for name in everything(store.folder) if old.stem in name]
    assert young.exists()
    assert (young.with_suffix("") / "artifacts" / "big.txt").exists()


def test_without_an_age_no_session_goes(store: Store) -> None:
    log = session(store, 9000)
    before = everything(store.folder)
    assert clean(store) == Cleaned((), (), ())
    assert everything(store.folder) == before
    assert log.exists()


def test_an_old_session_that_is_open_stays_and_it_is_said_who_has_it(store: Store) -> None:
    log = session(store, 99)
    with held(log):
        cleaned = clean(store, 30)
        assert cleaned.removed == ()
        assert [each.session for each in cleaned.kept] == [log.stem]
        assert f"process {os.getpid()}" in cleaned.kept[0].why
        assert lock_path(log).exists()
    assert log.exists()


def test_an_old_session_with_an_agent_at_work_stays(store: Store) -> None:
    log = session(store, 99)
    agent = log.with_suffix("") / "agents" / "a1.jsonl"
    agent.parent.mkdir()
    agent.write_bytes(b"{}\n")  # an empty log would be removed by itself
    with held(agent):
        assert [each.session for each in clean(store, 30).kept] == [log.stem]
    assert clean(store, 30).removed == ()
    os.utime(agent, (0.0, 0.0))
    assert [each.session for each in clean(store, 30).removed] == [log.stem]


def test_a_dry_run_says_the_same_and_changes_nothing(store: Store) -> None:
    session(store, 99)
    (store.folder / "lost.index").write_text("x")
    before = everything(store.data)
    planned = clean(store, 30, dry_run=True)
    assert everything(store.data) == before
    assert clean(store, 30) == planned
    assert planned.removed


def test_one_project_alone_can_be_cleaned(tmp_path: Path) -> None:
    here, there = Store(tmp_path / "here", tmp_path / "data"), Store(tmp_path / "there", tmp_path / "data")
    mine, other = session(here, 99), session(there, 99)
    cleaned = collect(here.data, now=NOW, project=here.folder.name, older_than=30 * DAY)
    assert [each.session for each in cleaned.removed if each.session] == [mine.stem]
    assert (mine.exists(), other.exists()) == (False, True)


# ---- one session --------------------------------------------------------------------------------------------------


def test_one_session_goes_with_all_that_belongs_to_it_and_nothing_else(store: Store) -> None:
    other = session(store, 1)
    kept = everything(store.folder)
    log = session(store, 1)
    log.with_suffix(".draft").write_text("12345")
    lock_path(log).write_text("123")
    removed = remove_unused(log, NOW)
    assert everything(store.folder) == kept
    names = [Path(each.path).name for each in removed]
    ends = (".jsonl", ".index", ".draft", ".lock", ".jsonl.broken", "")
    assert names == [f"{log.stem}{end}" for end in ends]
    assert [each.size for each in removed][2:] == [5, 3, 4, 1000]
    assert other.exists()


def test_one_session_that_is_open_or_whose_agent_works_stays(store: Store) -> None:
    log = session(store, 1)
    agent = log.with_suffix("") / "agents" / "a1.jsonl"
    agent.parent.mkdir()
    agent.write_bytes(b"")
    before = everything(store.folder)
    for each in (log, agent):
        with held(each), pytest.raises(SessionLocked, match=f"process {os.getpid()}"):
            remove_unused(log, NOW)
        lock_path(each).unlink()
        assert everything(store.folder) == before


# ---- litter -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [f"{GONE}.index", f"{GONE}.lock", f"{GONE}.draft", f"{GONE}.jsonl.broken"])
def test_what_belongs_to_a_log_that_is_gone_goes(name: str, store: Store) -> None:
    kept = session(store, 1)
    (store.folder / name).write_text("12345")
    cleaned = clean(store)
    assert (names(cleaned), cleaned.size) == ([name], 5)
    assert not (store.folder / name).exists()
    assert kept.exists()


def test_the_folder_of_a_log_that_is_gone_goes(store: Store) -> None:
    session(store, 1)
    folder = store.folder / GONE
    (folder / "artifacts").mkdir(parents=True)
    (folder / "artifacts" / "one.txt").write_text("12345")
    aged(folder, 1)
    cleaned = clean(store)
    assert (names(cleaned), cleaned.size) == ([GONE], 5)
    assert not folder.exists()


def test_half_written_caches_and_empty_logs_go_once_they_are_not_fresh(store: Store) -> None:
    session(store, 1)
    litter = [store.folder / f"{GONE}.jsonl", store.folder / "x.index.123.tmp", store.folder / "y.catalogue.9.tmp"]
    for path in litter:
        path.write_bytes(b"")
        aged(path, (FRESH - 60) / DAY)
    assert names(clean(store)) == []
    for path in litter:
        aged(path, (FRESH + 60) / DAY)
    assert names(clean(store)) == sorted(path.name for path in litter)
    assert not any(path.exists() for path in litter)


def test_an_empty_log_that_somebody_has_open_stays(store: Store) -> None:
    session(store, 1)
    empty = store.folder / f"{GONE}.jsonl"
    empty.write_bytes(b"")
    aged(empty, 1)
    with held(empty):
        assert names(clean(store)) == []
    assert empty.exists()


def test_what_is_not_ours_stays(store: Store, tmp_path: Path) -> None:
    session(store, 1)
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "precious").write_text("x")
    (store.folder / "notes.txt").write_text("mine")
    (store.folder / "my folder").mkdir()
    (store.folder / GONE).symlink_to(outside)
    (store.folder / f"{GONE}.index").symlink_to(outside / "precious")
    (store.data / "projects" / "linked").symlink_to(outside)
    before = everything(store.data)
    assert clean(store, 0).failed == ()
    left = set(before) - set(everything(store.data))
    assert not [name for name in left if GONE in name or "notes" in name or "my folder" in name]
    assert (outside / "precious").read_text() == "x"


def test_what_cannot_be_removed_is_said_and_the_rest_goes_on(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    session(store, 1)
    for name in (f"{GONE}.draft", f"{GONE}.index"):
        (store.folder / name).write_text("12345")
    unlink = Path.unlink

    def refusing(path: Path, missing_ok: bool = False) -> None:
        if path.suffix == ".draft":
            raise PermissionError(13, "Permission denied")
        unlink(path, missing_ok)

    monkeypatch.setattr(Path, "unlink", refusing)
    cleaned = clean(store)
    assert names(cleaned) == [f"{GONE}.index"]
    assert [(Path(each.path).name, each.why) for each in cleaned.failed] == [(f"{GONE}.draft", "Permission denied")]


def test_a_data_folder_that_is_not_there_needs_no_cleaning(tmp_path: Path) -> None:
    assert collect(tmp_path / "nothing", now=NOW) == Cleaned((), (), ())
