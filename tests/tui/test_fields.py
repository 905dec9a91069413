"""Answers to questions with options, before they are sent."""

import pytest

from callgate.tui.panels.card_forms import FieldsForm
from callgate.tui.panels.panel_page import PanelPage
from callgate.tui.theme import Theme
from callgate.words.decisions import AskedField, AskedOption, FieldAnswer, Question

COLOUR = AskedField("Colour", "Which colour?", (AskedOption("red", "like fire", "**red**"), AskedOption("blue")))
SIZES = AskedField("Size", "Which sizes?", (AskedOption("S"), AskedOption("L")), several=True)
NOTE = AskedField("Note", "Anything else?", required=False)


def _form(*fields: AskedField) -> FieldsForm:
    question = Question("c1", "AskUserQuestion", {}, "", by="tool", reason="", asked_at=0.0, asks=fields)
    return FieldsForm(question)


def _shown(form: FieldsForm) -> str:
    page = PanelPage(Theme("mono", colours=False, unicode=False), 60)
    form.write(page)
    page.keys(form.keys(page))
    assert all(len(line) < 60 for line in page.lines)
    return "\n".join(page.lines)


@pytest.mark.spec("TUI-4")
def test_one_question_is_answered_with_arrows_and_enter() -> None:
    form = _form(COLOUR)
    assert "| **red**" in _shown(form)
    form.move(1)
    form.enter()
    assert form.ready
    assert form.answers == (FieldAnswer(("blue",)),)


def test_a_number_moves_to_an_option_and_does_not_send_it() -> None:
    form = _form(COLOUR)
    form.typed("2")
    assert not form.ready
    assert "> 2. blue" in _shown(form)
    assert not form.marks("9")  # there is no such option
    form.typed("9")
    assert form.answers == (FieldAnswer(),)


def test_own_words_are_a_row_of_the_list_in_which_blanks_and_digits_are_text() -> None:
    form = _form(COLOUR)
    assert not form.takes_text
    form.move(-1)
    assert form.takes_text
    for sign in "as 2 is":
        form.typed(sign)
    form.erase()
    assert "own words: as 2 i_" in _shown(form)
    form.enter()
    assert form.answers == (FieldAnswer((), "as 2 i"),)


@pytest.mark.spec("TUI-4")
def test_the_first_text_field_takes_text_after_enter_and_the_next_one_at_once() -> None:
    form = _form(NOTE, AskedField("Name", "Which name?"))
    assert not form.takes_text
    assert "Enter write" in _shown(form)
    assert not form.marks("1")
    form.enter()
    assert form.takes_text
    assert "Enter next" in _shown(form)
    form.enter()
    assert form.takes_text
    assert "Which name?" in _shown(form)


@pytest.mark.spec("TUI-4")
def test_a_snapshot_restores_the_cursor_and_the_marks() -> None:
    form = _form(SIZES)
    restore = form.snapshot()
    form.typed("2")
    form.typed(" ")
    form.typed("1")
    restore()
    assert form.answers == (FieldAnswer(),)
    assert "> 1. [ ] S" in _shown(form)


@pytest.mark.spec("TUI-4")
def test_several_questions_are_reviewed_before_they_are_sent() -> None:
    form = _form(COLOUR, SIZES, NOTE)
    form.enter()
    form.typed(" ")
    form.typed("2")
    assert "[x] L" in _shown(form)
    form.enter()
    form.on()
    assert form.reviewing
    assert not form.ready
    assert "Size: S, L" in _shown(form)
    assert "Note: no answer" in _shown(form)
    assert form.back()
    assert form.back()
    form.typed("1")
    form.enter()
    form.on()
    form.enter()
    assert form.ready
    assert form.answers == (FieldAnswer(("red",)), FieldAnswer(("L",)), FieldAnswer())


def test_a_required_question_without_an_answer_says_so() -> None:
    form = _form(SIZES)
    form.on()
    assert not form.ready
    assert "Size: choose an option" in _shown(form)
    assert not form.back()


def test_an_answer_of_another_kind_is_refused_at_its_field() -> None:
    form = _form(AskedField("Nights", "How many?", kind="integer"), NOTE)
    form.enter()
    for sign in "three":
        form.typed(sign)
    form.enter()
    assert "Nights: expected a whole number, not 'three'" in _shown(form)
    assert "> answer: three_" in _shown(form)
    for _ in "three":
        form.erase()
    form.enter()
    assert "Nights: expected a whole number" in _shown(form)
    form.typed("3")
    form.enter()
    assert "Note: Anything else?" in _shown(form)


def test_a_field_that_takes_options_alone_has_no_row_for_own_words() -> None:
    form = _form(AskedField("Size", "Which size?", (AskedOption("S"), AskedOption("L")), kind="option"))
    form.typed("x")
    form.move(-1)
    assert not form.takes_text
    assert "> 2. L" in _shown(form)
    assert "own words" not in _shown(form)
    form.enter()
    assert form.answers == (FieldAnswer(("L",)),)


@pytest.mark.spec("TUI-4")
def test_an_answer_that_does_not_fit_can_be_left_out_and_the_review_shows_what_counts_instead() -> None:
    form = _form(AskedField("nights", "How many?", required=False, kind="integer", default="3"), NOTE)
    form.enter()
    form.typed("nn")
    form.enter()
    assert "expected a whole number" in _shown(form)
    form.skip()
    form.skip()
    assert form.reviewing
    assert "nights: no answer; default: 3" in _shown(form)
    assert "Note: no answer\n" in _shown(form)
