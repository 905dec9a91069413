"""Which questions of a session are open, as its record has it."""

import pytest

from callgate.transcript.question_fold import QuestionFold
from callgate.words.decisions import Allow, Ask
from callgate.words.events import CallDecided, Durable, Forked, QuestionAnswered, QuestionAsked, TurnStarted
from tests.transcript.asking import (
    AT,
    arrived,
    message,
    question,
    settled,
    waiting_on,
)

pytestmark = pytest.mark.spec("GATE-5")

YES = question().yes()


def allowed(call_id: str = "c1") -> CallDecided:
    return CallDecided(AT, call_id, Allow("policy"), question(call_id).arguments_hash)


def decided_again(path: str = "a.py") -> CallDecided:
    return CallDecided(AT, "c1", Ask("default"), question(path=path).arguments_hash)


CLOSING: list[tuple[str, list[Durable]]] = [
    ("answered", [QuestionAnswered(AT, YES)]),
    ("settled", [settled("c1")]),
    ("allowed by a policy", [allowed()]),
    ("decided about other arguments", [decided_again("b.py")]),
    ("another turn", [TurnStarted(AT, 2, "a2")]),
    ("forked", [Forked(AT, "other")]),
]


@pytest.mark.parametrize("after", [each for _, each in CLOSING], ids=[name for name, _ in CLOSING])
def test_a_question_is_closed_by_whatever_ends_it(after: list[Durable]) -> None:
    assert list(QuestionFold(waiting_on(question())).open) == [((), "c1")]
    assert not QuestionFold([*waiting_on(question()), *after]).open


@pytest.mark.parametrize(
    "after",
    [[], [allowed("c2")], [settled("c2")], [QuestionAnswered(AT, question("c2").yes())], [decided_again()]],
    ids=["nothing", "another allowed", "another settled", "another answered", "decided again"],
)
def test_a_question_stays_open_through_what_is_not_about_it(after: list[Durable]) -> None:
    assert list(QuestionFold([*waiting_on(question()), *after]).open) == [((), "c1")]


def test_a_question_that_is_asked_again_unanswered_is_the_same_one() -> None:
    first = QuestionFold(waiting_on(question())).open[(), "c1"]
    again = QuestionFold([*waiting_on(question()), decided_again(), QuestionAsked(AT + 9, question(at=AT + 9))])
    assert again.open[(), "c1"].key == first.key
    assert again.open[(), "c1"].question.asked_at == AT + 9


@pytest.mark.parametrize(
    "after",
    [
        [QuestionAnswered(AT, YES), QuestionAsked(AT, question())],
        [QuestionAsked(AT, question(path="b.py"))],
        [allowed(), QuestionAsked(AT + 1, question(at=AT + 1))],
    ],
    ids=["answered before", "other arguments", "closed before"],
)
def test_another_question_about_the_same_call_has_another_key(after: list[Durable]) -> None:
    first = QuestionFold(waiting_on(question())).open[(), "c1"]
    assert QuestionFold([*waiting_on(question()), *after]).open[(), "c1"].key != first.key


def test_the_fold_does_not_depend_on_where_it_begins() -> None:
    turns = [*waiting_on(question("c0")), settled("c0"), TurnStarted(AT, 2, "a2")]
    events = [*turns, *arrived(question(), message_id="a2"), message([question()], "a2")]
    whole, grown = QuestionFold(events), QuestionFold()
    for event in events:
        grown.fold(event)
    assert whole.open == grown.open
    assert whole.will_run(whole.open[(), "c1"])
