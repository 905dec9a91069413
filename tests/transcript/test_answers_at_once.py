"""Several programs answer one question at the same moment, with and without a writer: one of them is first, and all the
others are told."""

import os
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from time import time
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callgate.transcript.answer_files import AnswerRefused, forget_answers, tidy_answers, waiting_answers
from callgate.transcript.disk_journal import append_to_log
from callgate.transcript.loader import load
from callgate.transcript.lock import drop_name, open_log, take_lock
from callgate.transcript.masking import Masker
from callgate.transcript.question_answers import AnswerTaken, answer_question
from callgate.transcript.question_fold import QuestionFold
from callgate.words.errors import SessionLocked
from callgate.words.events import Durable, QuestionAnswered, QuestionAsked
from tests.profiles import fewer
from tests.transcript.asking import AT, Program, keep, on_record, question, settled, waiting_on
from tests.transcript.kit import verified
from tests.transcript.stepwise import Killed, play, stepwise

pytestmark = pytest.mark.spec("GATE-5")

NOBODY = Masker({})

# ---- real programs ------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def programs() -> Iterator[list[Program]]:
    with Program() as one, Program() as two, Program() as three:
        yield [one, two, three]


@pytest.mark.parametrize("held", [False, True], ids=["no process has it open", "somebody has it open"])
def test_of_three_programs_that_answer_at_once_one_is_first(
    tmp_path: Path, programs: list[Program], held: bool
) -> None:
    winners: Counter[int] = Counter()
    for seed in range(30):
        _, log = keep(tmp_path / str(seed))
        holder = open_log(log, os.O_RDWR)
        if held:
            take_lock(holder, log, time())
        order = Random(seed).sample(range(3), 3)
        for each in order:
            told = {"log": str(log), "call_id": "c1", "hashed": question().arguments_hash, "by": f"P{each}"}
            programs[each].tell(do="answer", **told)
        said = [program.hear() for program in programs]
        os.close(holder)
        (first,) = [each for each in range(3) if said[each]["how"] != "refused"]
        assert said[first]["how"] == ("left" if held else "recorded")
        assert {each["first"] for each in said if each["how"] == "refused"} <= {f"P{first}", None}
        assert all("call c1 was already answered" in each["why"] for each in said if each["how"] == "refused")
        found = list(waiting_answers(log).answers.values()) if held else on_record(log)
        assert [each.by for each in found] == [f"P{first}"]
        winners[first] += 1
    assert sum(winners.values()) == 30


def test_programs_that_answer_different_questions_at_once_are_all_taken(
    tmp_path: Path, programs: list[Program]
) -> None:
    for seed in range(20):
        asked = [question(f"c{each}") for each in range(3)]
        store, log = keep(tmp_path / str(seed), waiting_on(*asked))
        for each in Random(seed).sample(range(3), 3):
            told = {"log": str(log), "call_id": f"c{each}", "hashed": question().arguments_hash, "by": "P"}
            programs[each].tell(do="answer", **told)
        assert {program.hear()["how"] for program in programs} <= {"recorded", "left"}
        recorded = {each.call_id for each in on_record(log)}
        waiting = {each.call_id for each in waiting_answers(log).answers.values()}
        assert recorded | waiting == {"c0", "c1", "c2"}
        assert not recorded & waiting
        assert {each.call_id for each in store.questions()} == waiting


# ---- every order --------------------------------------------------------------------------------------------------

Writing = Literal["takes what was left", "answers itself", "asks again", "settles", "only opens"]


def answerer(log: Path, by: str) -> Callable[[], AnswerTaken]:
    return lambda: answer_question(log, NOBODY, question().yes(by=by))


def writer(log: Path, does: Writing) -> Callable[[], str]:
    """A program that has the session open for one deed: what was left is taken as ``DiskJournal.answers`` gives it."""

    def work() -> str:
        fd = open_log(log, os.O_RDWR)
        try:
            take_lock(fd, log, time())
        except SessionLocked:
            os.close(fd)
            return "locked out"
        loaded = load(fd, log)
        keys = {asked.key for asked in QuestionFold(loaded.events).open.values()}
        tidy_answers(log, keys)
        deeds: list[Durable] = []
        left = {key: each for key, each in waiting_answers(log).answers.items() if key in keys}
        if keys and does == "takes what was left":
            deeds = [QuestionAnswered(time(), each) for each in left.values()]
        elif keys and does == "answers itself":
            deeds = [QuestionAnswered(time(), question().no(by="writer"))]
        elif keys and does == "asks again":
            deeds = [QuestionAsked(AT + 7, question(at=AT + 7))]
        elif keys and does == "settles":
            deeds = [settled("c1")]
        if deeds:
            append_to_log(log, NOBODY, loaded, fd, deeds)
            if does != "asks again":
                forget_answers(log, left)
        else:
            drop_name(log)
            os.close(fd)
        return does

    return work


WRITING = st.sampled_from(Writing.__args__)  # type: ignore[attr-defined]
ORDER = st.lists(st.integers(0, 4), max_size=80)


@given(
    answerers=st.integers(1, 3),
    writing=st.lists(WRITING, max_size=2),
    order=ORDER,
    kills=st.lists(st.tuples(st.integers(0, 4), st.integers(0, 40)), max_size=2),
)
@fewer(25)
def test_whatever_the_order_and_whoever_dies_one_answer_is_accepted(
    tmp_path_factory: pytest.TempPathFactory,
    answerers: int,
    writing: list[Writing],
    order: list[int],
    kills: list[tuple[int, int]],
) -> None:
    _, log = keep(tmp_path_factory.mktemp("answers"))
    names = [f"P{each}" for each in range(answerers)]
    works: list[Callable[[], Any]] = [answerer(log, by) for by in names]
    works += [writer(log, does) for does in writing]
    with stepwise():
        results = play(works, order, kills)
    fates = dict(zip(names, results, strict=False))
    for result in results:
        assert isinstance(result, AnswerTaken | AnswerRefused | Killed | str), result
    accepted = {by for by, fate in fates.items() if isinstance(fate, AnswerTaken)}
    recorded = [each.by for each in on_record(log)]
    waiting = [each.by for each in waiting_answers(log).answers.values()]
    dead = {by for by, fate in fates.items() if isinstance(fate, Killed)}
    closed_by_writer = "settles" in writing or recorded == ["writer"]

    assert len(recorded) <= 1
    assert len(waiting) <= 1
    for by, fate in fates.items():
        if isinstance(fate, AnswerTaken) and fate.how == "recorded":
            assert recorded == [by]
        elif isinstance(fate, AnswerTaken):
            assert recorded == [by] or (not recorded and waiting == [by]) or closed_by_writer
        elif isinstance(fate, AnswerRefused):
            assert by not in (*recorded, *waiting)
            assert fate.first is None or fate.first.by != by
    assert len(accepted) <= 1 or closed_by_writer
    assert accepted or dead or closed_by_writer
    if not dead:
        assert verified(log).sound

    play([writer(log, "takes what was left")], (), ())  # and when it is resumed
    in_the_end = [each.by for each in on_record(log)]
    assert len(in_the_end) <= 1
    if accepted and not closed_by_writer:
        assert set(in_the_end) == accepted
