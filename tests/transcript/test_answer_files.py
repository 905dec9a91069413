"""Answers that one program leaves for another: one file a question, whole, exclusive, and gone when it has served."""

import asyncio
import fcntl
import os
from collections.abc import Iterator
from json import dumps, loads
from pathlib import Path
from threading import Thread, current_thread, main_thread
from typing import Any

import pytest

from callgate.host.files import make_folders
from callgate.transcript.answer_files import (
    LARGEST,
    AnswerRefused,
    answers_folder,
    forget_answers,
    leave_answer,
    read_answer,
    tidy_answers,
    waiting_answers,
)
from callgate.transcript.disk_journal import DiskJournal
from callgate.transcript.log_cleanup import remove_unused
from callgate.transcript.question_fold import AskedQuestion, QuestionFold
from callgate.words.decisions import Ask
from callgate.words.errors import JournalError
from callgate.words.events import CallDecided, QuestionAnswered, QuestionAsked
from tests.transcript.asking import (
    AT,
    Program,
    asked_in,
    beginning,
    files,
    keep,
    on_record,
    question,
    settled,
    waiting_on,
)

pytestmark = pytest.mark.spec("GATE-5")

YES = question().yes()


@pytest.fixture
def other() -> Iterator[Program]:
    with Program() as program:
        yield program


def the_file(log: Path) -> Path:
    (path,) = answers_folder(log).glob("*.json")
    return path


def decided_again(path: str = "a.py") -> CallDecided:
    return CallDecided(AT, "c1", Ask("default"), question(path=path).arguments_hash)


def _full(*args: object, **kwargs: object) -> None:
    raise OSError(28, "No space left on device")


# ---- files that are none ------------------------------------------------------------------------------------------


def left_in(folder: Path) -> tuple[Path, AskedQuestion]:
    store, log = keep(folder)
    asked = asked_in(store, log)
    leave_answer(log, asked, YES)
    return log, asked


def rewritten(log: Path, **fields: Any) -> None:
    path = the_file(log)
    path.write_text(dumps(loads(path.read_bytes()) | fields))


def _damaged(log: Path) -> None:
    path = the_file(log)
    path.write_bytes(path.read_bytes()[:-9])


def _linked(log: Path) -> None:
    path = the_file(log)
    real = path.rename(log.parent / "elsewhere.json")
    path.symlink_to(real)


def _fifo(log: Path) -> None:
    path = the_file(log)
    path.unlink()
    os.mkfifo(path)


def _folder(log: Path) -> None:
    path = the_file(log)
    path.unlink()
    path.mkdir()


def _long(log: Path) -> None:
    with open(the_file(log), "ab") as file:
        file.truncate(LARGEST + 1)


def _moved(log: Path) -> None:
    path = the_file(log)
    path.rename(path.with_name("0" * 32 + ".json"))


def _foreign(log: Path) -> None:
    try:
        os.chown(the_file(log), 12345, 12345)
    except PermissionError:
        pytest.skip("only root can make a file of another user")


BAD = {
    "cut off": (_damaged, "its content is invalid"),
    "a symbolic link": (_linked, "is a symbolic link"),
    "a pipe": (_fifo, "not a regular file"),
    "a folder": (_folder, "it is a folder"),
    "too long": (_long, "it is too large"),
    "of another question": (_moved, "it answers another question"),
    "of another user": (_foreign, "it belongs to another user"),
    "writable for others": (lambda log: the_file(log).chmod(0o620), "other users may write to it"),
    "of another version": (lambda log: rewritten(log, v=2), "it has version 2 instead of 1"),
    "not a confirmation": (lambda log: rewritten(log, answer={"outcome": "yes"}), "its content is invalid"),
    "of another outcome": (lambda log: rewritten(log, answer=[]), "its content is invalid"),
    "not a number": (lambda log: the_file(log).write_text('{"v": NaN}'), "NaN is not JSON"),
    "a list": (lambda log: the_file(log).write_text("[]"), "its content is invalid"),
    "too deep": (lambda log: the_file(log).write_text("[" * 100_000), "its content is invalid"),
    "no since": (lambda log: rewritten(log, since="now"), "its content is invalid"),
}


@pytest.mark.parametrize("name", BAD)
def test_what_is_no_answer_is_left_out_set_aside_and_told(name: str, tmp_path: Path) -> None:
    spoil, why = BAD[name]
    log, asked = left_in(tmp_path)
    spoil(log)
    found = waiting_answers(log)
    assert found.answers == {}
    assert len(found.faults) == 1
    assert why in found.faults[0]
    assert "is not a valid answer and was ignored" in found.faults[0]
    assert [each.endswith(".json.bad") for each in files(log)] == [True]
    assert waiting_answers(log).faults == ()
    leave_answer(log, asked, YES)
    assert list(waiting_answers(log).answers.values()) == [YES]


@pytest.mark.parametrize("name", [name for name in BAD if name != "of another question"])
def test_what_is_no_answer_is_no_refusal_either(name: str, tmp_path: Path) -> None:
    log, asked = left_in(tmp_path)
    BAD[name][0](log)
    assert read_answer(log, asked.key) is None
    leave_answer(log, asked, YES)
    assert read_answer(log, asked.key) == YES


@pytest.mark.parametrize("what", ["a link", "a file", "open to others", "of another user"])
def test_a_folder_that_is_not_ours_is_not_looked_into(what: str, tmp_path: Path, other: Program) -> None:
    log, asked = left_in(tmp_path)
    folder = answers_folder(log)
    match what:
        case "a link":
            folder.symlink_to(folder.rename(tmp_path / "elsewhere"))
        case "a file":
            folder.rename(tmp_path / "elsewhere")
            folder.write_text("")
        case "open to others":
            folder.chmod(0o770)
        case _:
            try:
                os.chown(folder, 12345, 12345)
            except PermissionError:
                pytest.skip("only root can make a folder of another user")
    found = waiting_answers(log)
    assert found.answers == {}
    assert "answers of other programs cannot be read from" in found.faults[0]
    assert read_answer(log, asked.key) is None
    with pytest.raises(JournalError, match="the answer cannot be written to"):
        leave_answer(log, asked, YES)
    tidy_answers(log, ())


def test_other_files_in_the_folder_are_nobodys_business(tmp_path: Path) -> None:
    log, _ = left_in(tmp_path)
    (answers_folder(log) / "notes.txt").write_text("…")
    assert waiting_answers(log).faults == ()
    tidy_answers(log, ())
    assert files(log) == ["notes.txt"]


def test_a_full_disk_leaves_no_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store, log = keep(tmp_path)
    asked = asked_in(store, log)
    monkeypatch.setattr(os, "rename", _full)
    with pytest.raises(JournalError, match=r"the answer cannot be written to .*: No space left on device"):
        leave_answer(log, asked, YES)
    assert files(log) == []


# ---- cleaned up ---------------------------------------------------------------------------------------------------


def test_a_program_that_died_after_naming_its_answer_has_answered(tmp_path: Path, other: Program) -> None:
    store, log = keep(tmp_path)
    other.ask(do="die at", what="rename")
    other.tell(do="answer", log=str(log), call_id="c1", hashed=question().arguments_hash, by="Ann")
    other.wait()
    assert files(log) == [f"{asked_in(store, log).key}.json"]
    with pytest.raises(AnswerRefused, match="yes, by Ann"):
        store.answer(log, YES)


@pytest.mark.parametrize("then", ["opened", "answered"])
def test_what_a_killed_program_left_unfinished_goes_when_the_session_is(
    then: str, tmp_path: Path, other: Program
) -> None:
    store, log = keep(tmp_path)
    make_folders(answers_folder(log), 0o700)
    other.ask(do="die at", what="fsync")
    other.tell(do="answer", log=str(log), call_id="c1", hashed=question().arguments_hash, by="Ann")
    other.wait()
    key = asked_in(store, log).key
    assert files(log) == [f"{key}.tmp"]
    if then == "opened":
        tidy_answers(log, {key})
        assert files(log) == []
    else:
        leave_answer(log, asked_in(store, log), YES)
        assert files(log) == [f"{key}.json"]


def test_what_another_program_is_writing_stays(tmp_path: Path) -> None:
    log, asked = left_in(tmp_path)
    draft = answers_folder(log) / f"{asked.key}.tmp"
    draft.write_text("{")
    folder = os.open(answers_folder(log), os.O_RDONLY)
    fcntl.flock(folder, fcntl.LOCK_EX)
    tidying = Thread(target=tidy_answers, args=(log, {asked.key}))
    tidying.start()
    draft.rename(answers_folder(log) / "finished")
    os.close(folder)
    tidying.join()
    assert files(log) == [f"{asked.key}.json", "finished"]


def test_only_our_own_answer_is_taken_back(tmp_path: Path) -> None:
    store, log = keep(tmp_path)
    asked = asked_in(store, log)
    first = leave_answer(log, asked, YES)
    forget_answers(log, [asked.key])
    second = leave_answer(log, asked, YES)
    first.take_back()
    assert (first.is_there, second.is_there) == (False, True)
    second.take_back()
    second.take_back()
    assert files(log) == []


def test_opening_records_what_waits_and_closing_removes_what_has_served(tmp_path: Path) -> None:
    store, log = keep(tmp_path, waiting_on(question(), question("c2")))
    first, second = QuestionFold(store.read().events).open.values()

    async def opened() -> None:
        journal = await store.open()
        leave_answer(log, first, question().yes())
        leave_answer(log, second, question("c2").yes())
        journal.append(QuestionAnswered(AT, question().yes()))
        await journal.aclose()
        assert files(log) == [f"{second.key}.json"]
        leave_answer(log, first, question().yes())
        journal = await store.open()
        assert files(log) == [f"{second.key}.json"]
        assert await journal.answers() == ()
        await journal.aclose()
        assert files(log) == []
        assert [each.call_id for each in on_record(log)] == ["c1", "c2"]

    asyncio.run(opened())


def test_answers_go_with_their_session(tmp_path: Path) -> None:
    log, _ = left_in(tmp_path)
    remove_unused(log, AT)
    assert list(log.parent.glob(f"{log.stem}*")) == []


# ---- the writer ---------------------------------------------------------------------------------------------------


async def _hears(journal: DiskJournal) -> list[tuple[str, str]]:
    return [(each.call_id, each.by) for each in await journal.answers()]


def test_the_writer_hears_answers_to_what_is_open_and_forgets_them(tmp_path: Path, other: Program) -> None:
    store, log = keep(tmp_path, waiting_on(question(), question("c2")))

    async def main() -> None:
        journal = await store.open()
        assert await _hears(journal) == []
        told = {"do": "answer", "log": str(log), "hashed": question().arguments_hash}
        assert other.ask(**told, call_id="c1", by="Ann") == {"how": "left"}
        assert await _hears(journal) == await _hears(journal) == [("c1", "Ann")]
        (answer,) = await journal.answers()
        journal.append(QuestionAnswered(AT, answer))
        assert await _hears(journal) == []
        waiting = journal.forget_answers(["c1", "c2"])
        assert waiting is not None
        await waiting
        assert on_record(log) == [answer]
        assert files(log) == []
        assert journal.forget_answers(["c1"]) is None
        assert other.ask(**told, call_id="c1", by="Bob")["first"] == "Ann"
        assert files(log) == []
        assert other.ask(**told, call_id="c2", by="Bob") == {"how": "left"}
        assert await _hears(journal) == [("c2", "Bob")]
        await journal.aclose()

    asyncio.run(main())


def test_the_writer_hears_an_answer_to_the_question_it_asks_again(tmp_path: Path) -> None:
    store, log = keep(tmp_path)
    asked = asked_in(store, log)

    async def main() -> None:
        journal = await store.open()
        leave_answer(log, asked, question().yes(by="Ann"))
        journal.append(decided_again())
        journal.append(QuestionAsked(AT + 5, question(at=AT + 5)))
        assert await _hears(journal) == [("c1", "Ann")]
        journal.append(settled("c1"))
        assert await _hears(journal) == []
        await journal.aclose()
        assert files(log) == []

    asyncio.run(main())


def test_an_answer_that_the_writer_refused_can_be_given_again(tmp_path: Path, other: Program) -> None:
    store, log = keep(tmp_path)
    told = {"do": "answer", "log": str(log), "call_id": "c1", "hashed": question().arguments_hash}

    async def main() -> None:
        journal = await store.open()
        assert other.ask(**told, by="Ann") == {"how": "left"}
        await journal.answers()
        waiting = journal.forget_answers(["c1"])
        assert waiting is not None
        await waiting
        assert other.ask(**told, by="Bob") == {"how": "left"}
        assert await _hears(journal) == [("c1", "Bob")]
        await journal.aclose()

    asyncio.run(main())


def test_the_writer_is_told_once_what_is_no_answer(tmp_path: Path) -> None:
    log, _ = left_in(tmp_path)
    _damaged(log)
    store, _ = keep(tmp_path / "unused")

    async def main() -> None:
        journal = await type(store)(tmp_path, tmp_path / "data").open()
        assert await _hears(journal) == []
        (fault,) = journal.answer_faults()
        assert "its content is invalid" in fault
        await journal.answers()
        assert journal.answer_faults() == []
        await journal.aclose()
        assert await journal.answers() == ()

    asyncio.run(main())


def test_a_session_without_a_file_or_a_question_has_no_answers(tmp_path: Path) -> None:
    store, _ = keep(tmp_path, beginning())

    async def main() -> None:
        fresh, idle = await store.create(), await store.open()
        assert await fresh.answers() == await idle.answers() == ()
        assert fresh.forget_answers(["c1"]) is None
        await fresh.aclose()
        await idle.aclose()

    asyncio.run(main())


def test_files_are_never_looked_at_on_the_loops_thread(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store, log = keep(tmp_path)

    async def main() -> None:
        journal = await store.open()
        leave_answer(log, asked_in(store, log), YES)
        listdir, unlink = os.listdir, Path.unlink
        seen: list[bool] = []

        def watched(*args: Any) -> Any:
            seen.append(current_thread() is main_thread())
            return listdir(*args)

        def removing(path: Path, *args: Any, **kwargs: Any) -> None:
            seen.append(current_thread() is main_thread())
            unlink(path, *args, **kwargs)

        monkeypatch.setattr(os, "listdir", watched)
        monkeypatch.setattr(Path, "unlink", removing)
        await journal.answers()
        waiting = journal.forget_answers(["c1"])
        assert waiting is not None
        await waiting
        assert seen == [False, False]
        monkeypatch.undo()
        await journal.aclose()

    asyncio.run(main())
