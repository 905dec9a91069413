"""Answering a question of a session, whoever has it open."""

import asyncio
import os
import stat
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from callgate.transcript.answer_files import (
    LARGEST,
    AnswerRefused,
    answers_folder,
    tidy_answers,
    waiting_answers,
)
from callgate.transcript.lock import lock_path
from callgate.transcript.question_answers import questions_in
from callgate.words.decisions import ApprovalPolicy, AskedField, Confirmation, FieldAnswer
from callgate.words.errors import CallgateError, JournalError, UsageError
from tests.transcript.asking import (
    AT,
    Program,
    arrived,
    beginning,
    files,
    keep,
    on_record,
    question,
    waiting_on,
)
from tests.transcript.kit import verified

pytestmark = pytest.mark.spec("GATE-5")

SECRET = "sk-ant-api03-" + "aB3dE6gH9" * 10
YES = question().yes()


@pytest.fixture
def other() -> Iterator[Program]:
    with Program() as program:
        yield program


def the_file(log: Path) -> Path:
    (path,) = answers_folder(log).glob("*.json")
    return path


# ---- which are open -------------------------------------------------------------------------------------------------


def test_open_questions_are_read_whoever_has_the_session(tmp_path: Path, other: Program) -> None:
    asked = (question(), question("c2", "b.py"))
    store, log = keep(tmp_path, waiting_on(*asked))
    assert store.questions() == asked
    other.ask(do="hold", log=str(log))
    before = log.read_bytes()
    assert store.questions(log.stem[:12]) == store.questions(log) == asked
    assert log.read_bytes() == before


def test_a_question_whose_message_is_still_arriving_is_open_while_somebody_runs_it(
    tmp_path: Path, other: Program
) -> None:
    store, log = keep(tmp_path, [*beginning(), *arrived(question())])
    assert store.questions() == ()
    with pytest.raises(AnswerRefused, match=r"the message with call c1 was never completed: the call will not run"):
        store.answer(log, YES)
    assert files(log) == []
    assert not lock_path(log).exists()
    other.ask(do="hold", log=str(log))
    assert store.questions() == (question(),)
    assert store.answer(log, YES).how == "left"


def test_a_question_shows_what_was_left_for_it_and_whether_it_is_exact(tmp_path: Path, other: Program) -> None:
    store, log = keep(tmp_path)
    other.ask(do="hold", log=str(log))
    assert [(each.answer, each.exact) for each in questions_in(log).open] == [(None, True)]
    taken = store.answer(log, question().no("not now", by="me"))
    assert [each.answer for each in questions_in(log).open] == [taken.confirmation]
    masked = replace(question(), arguments={"path": "[masked:anthropic]"})
    _, log = keep(tmp_path / "other", waiting_on(masked))
    assert [each.exact for each in questions_in(log).open] == [False]


# ---- no process has it open ------------------------------------------------------------------------------------------


def test_with_no_writer_alive_the_answer_is_put_on_record(tmp_path: Path) -> None:
    store, log = keep(tmp_path, waiting_on(question(), question("c2")))
    taken = store.answer("latest", question().no("use the other file", by="me", door="here"))
    assert (taken.how, taken.session, taken.question, taken.holder) == ("recorded", log.stem, question(), None)
    assert on_record(log) == [taken.confirmation]
    assert taken.confirmation.at > AT
    assert store.questions() == (question("c2"),)
    assert files(log) == []
    assert not lock_path(log).exists()
    assert verified(log, session=log.stem).sound


def test_a_torn_end_is_mended_before_the_answer_is_put_behind_it(tmp_path: Path) -> None:
    store, log = keep(tmp_path)
    with open(log, "ab") as file:
        file.write(b'{"v":1,"n":99,"ty')
    assert store.answer(log, YES).how == "recorded"
    assert len(on_record(log)) == 1
    assert [each.what for each in verified(log).faults] == []
    assert (log.parent / f"{log.name}.broken").exists()


def test_a_second_answer_is_refused_and_told_whose_the_first_was(tmp_path: Path) -> None:
    store, log = keep(tmp_path)
    store.answer(log, question().always(by="Ann", door="web"))
    with pytest.raises(AnswerRefused, match=r"call c1 was already answered: yes always, by Ann at web") as refused:
        store.answer(log, YES)
    assert refused.value.first is not None
    assert refused.value.first.by == "Ann"
    assert len(on_record(log)) == 1


def test_a_yes_to_what_nobody_can_see_is_refused(tmp_path: Path, other: Program) -> None:
    """Behind a mask may stand anything; no, and other arguments, can be said all the same."""
    masked = replace(question(), arguments={"path": "[masked:private_key]"})
    store, log = keep(tmp_path, waiting_on(masked))
    other.ask(do="hold", log=str(log))
    for answer in (YES, question().always()):
        with pytest.raises(AnswerRefused, match="are masked in the log, so the command cannot be checked here"):
            store.answer(log, answer)
    assert files(log) == []
    assert store.answer(log, question().yes({"path": "b.py"})).how == "left"
    other.kill()
    tidy_answers(log, ())
    assert store.answer(log, question().no()).how == "recorded"


def test_own_words_with_a_secret_are_not_put_on_record(tmp_path: Path) -> None:
    field = AskedField("Key", "Which key?")
    store, log = keep(tmp_path, waiting_on(question(asks=(field,))))
    with pytest.raises(AnswerRefused, match="contains a secret, which must not be written to the log"):
        store.answer(log, question().answered(FieldAnswer(text=f"take {SECRET}")))
    assert on_record(log) == []
    store.answer(log, question().answered(FieldAnswer(text="take the first")))
    assert on_record(log)[0].answers == (FieldAnswer(text="take the first"),)


def test_changed_arguments_with_a_secret_are_not_put_on_record(tmp_path: Path, other: Program) -> None:
    """The record would have something else than what the person meant."""
    store, log = keep(tmp_path)
    yes = question().yes({"path": SECRET})
    with pytest.raises(AnswerRefused, match="contains a secret, which must not be written to the log"):
        store.answer(log, yes)
    assert (on_record(log), files(log), lock_path(log).exists()) == ([], [], False)
    other.ask(do="hold", log=str(log))
    store.answer(log, yes)
    assert [each.arguments for each in waiting_answers(log).answers.values()] == [{"path": SECRET}]


def test_a_log_that_cannot_be_written_refuses_the_answer_in_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, log = keep(tmp_path)
    before = log.read_bytes()
    monkeypatch.setattr(os, "pwrite", _full)
    with pytest.raises(JournalError, match="cannot be written: No space left on device"):
        store.answer(log, YES)
    monkeypatch.undo()
    assert (log.read_bytes(), files(log), lock_path(log).exists()) == (before, [], False)
    assert store.answer(log, YES).how == "recorded"


def _full(*args: object) -> int:
    raise OSError(28, "No space left on device")


# ---- somebody has it open -----------------------------------------------------------------------------------------


def test_an_answer_for_a_running_session_is_a_file_for_its_owner_alone(tmp_path: Path, other: Program) -> None:
    store, log = keep(tmp_path)
    other.ask(do="hold", log=str(log))
    before = log.read_bytes()
    taken = store.answer(log, question().yes({"path": "b.py"}))
    assert (taken.how, taken.holder and taken.holder.pid) == ("left", other.pid)
    assert log.read_bytes() == before
    assert stat.S_IMODE(the_file(log).stat().st_mode) == 0o600
    assert stat.S_IMODE(answers_folder(log).stat().st_mode) == 0o700
    assert list(waiting_answers(log).answers.values()) == [taken.confirmation]
    assert waiting_answers(log).faults == ()


def test_the_file_that_is_there_is_the_refusal(tmp_path: Path, other: Program) -> None:
    store, log = keep(tmp_path)
    other.ask(do="hold", log=str(log))
    store.answer(log, question().no(by="Ann"))
    with pytest.raises(AnswerRefused, match="call c1 was already answered: no, by Ann"):
        store.answer(log, YES)
    assert [each.by for each in waiting_answers(log).answers.values()] == ["Ann"]


def test_what_was_left_for_a_writer_that_died_is_still_the_first_answer(tmp_path: Path, other: Program) -> None:
    store, log = keep(tmp_path)
    other.ask(do="hold", log=str(log))
    store.answer(log, question().yes(by="Ann"))
    other.kill()
    with pytest.raises(AnswerRefused, match="yes, by Ann"):
        store.answer(log, question().no())
    assert on_record(log) == []

    async def resumed() -> None:
        journal = await store.open()
        await journal.aclose()
        assert [each.by for each in on_record(log)] == ["Ann"]

    asyncio.run(resumed())


def test_an_answer_is_on_record_when_the_writer_dies_before_it(tmp_path: Path, other: Program) -> None:
    store, log = keep(tmp_path)
    other.ask(do="hold", log=str(log))
    other.kill()
    assert lock_path(log).exists()
    assert store.answer(log, YES).how == "recorded"


def test_another_users_session_is_not_answered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store, log = keep(tmp_path)
    owner = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: owner + 1)
    with pytest.raises(AnswerRefused, match="belongs to another user"):
        store.answer(log, YES)
    assert not answers_folder(log).exists()


# ---- what is no answer --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (question("c11").yes(), "no question about call 'c11' is open in session .*; did you mean 'c1'"),
        (question("elsewhere").yes(), r"no question about call 'elsewhere' is open in session [\w-]+$"),
        (question(path="b.py").yes(), "for arguments that differ from the arguments of call c1"),
        (replace(YES, always=ApprovalPolicy("allow", "rm")), "the policy is for rm, but the question was about write"),
        (replace(YES, path=("helper",)), "no question about call 'c1' is open"),
    ],
    ids=["close", "unknown", "other arguments", "other tool", "other agent"],
)
def test_an_answer_that_fits_no_question_is_refused(tmp_path: Path, answer: Confirmation, why: str) -> None:
    store, log = keep(tmp_path)
    with pytest.raises(AnswerRefused, match=why):
        store.answer(log, answer)
    assert (on_record(log), files(log)) == ([], [])


def changed(**fields: Any) -> Confirmation:
    return replace(YES, **fields)


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (changed(outcome="maybe"), "the outcome of an answer must be yes, yes_always or no, not 'maybe'"),
        (changed(arguments={"n": float("nan")}), "the answer is invalid: Out of range float"),
        (changed(arguments={"n": (1, 2)}), "the changed arguments are not plain JSON"),
        (changed(arguments={"n": object()}), "the answer is invalid: Object of type object"),
        (changed(always=ApprovalPolicy("perhaps", "write")), "the answer is invalid: .*'perhaps' is not one of"),  # type: ignore[arg-type]
        (changed(arguments={"text": "x" * LARGEST}), "is too long: the limit is 4,194,304 bytes"),
    ],
    ids=["outcome", "nan", "tuple", "object", "effect", "too long"],
)
def test_what_is_no_answer_is_not_taken(tmp_path: Path, answer: Confirmation, why: str) -> None:
    store, log = keep(tmp_path)
    with pytest.raises(UsageError, match=why):
        store.answer(log, answer)
    assert (on_record(log), files(log)) == ([], [])


def test_a_session_that_is_not_there_is_an_error_in_words(tmp_path: Path) -> None:
    store, log = keep(tmp_path)
    log.unlink()
    for work in (lambda: store.answer(log, YES), lambda: store.questions(log)):
        with pytest.raises(JournalError, match="cannot be opened: No such file"):
            work()
    with pytest.raises(CallgateError, match="this workspace has no sessions yet"):
        store.answer("latest", YES)
