"""``callgate answer``: the questions of a session, from outside the program that runs it."""

import re
from argparse import Namespace
from collections.abc import Iterator, Sequence
from dataclasses import replace
from difflib import get_close_matches

from callgate.admin.answers import AnswerRefused, AnswerTaken, Asking, OpenQuestion, give_answer, read_questions
from callgate.cli.answering import ANSWERS
from callgate.cli.editing import edited
from callgate.cli.parsing import USAGE
from callgate.cli.questions import ALL, LINES, QuestionPage, sign_of
from callgate.cli.session.output import columns, out, put, put_json, say
from callgate.cli.terminal import Line, paragraph, signs_for
from callgate.formats.display import counted
from callgate.formats.jsonable import to_json
from callgate.words.decisions import Confirmation, FieldAnswer, Question

_DOOR = "callgate answer"
_WIDE = 100
_NUMBERS = re.compile(r"[0-9]{1,3}(,[0-9]{1,3})*")
_SHORTEST = 4  # signs of a beginning that can be meant


def answer(options: Namespace) -> int:
    asking = read_questions(options.which)
    if options.answer is None:
        return _show(asking, options)
    question = _meant(asking, options.call)
    if isinstance(question, int):
        return question
    taken = give_answer(asking, _confirmation(question, options))
    stream = out()
    if options.json:
        put_json(_taken_as_json(taken), stream)
    else:
        put(paragraph(_told(taken), min(columns(stream), _WIDE)), stream)
    return 0


# ---- shown --------------------------------------------------------------------------------------------------------


def _show(asking: Asking, options: Namespace) -> int:
    shown: Sequence[OpenQuestion] = asking.questions
    if options.call is not None:
        meant = _meant(asking, options.call)
        if isinstance(meant, int):
            return meant
        shown = [each for each in shown if each.question == meant]
    stream = out()
    if options.json:
        for each in shown:
            put_json(_as_json(asking, each), stream)
        return 0
    room = min(columns(stream), _WIDE)
    put(_header(asking, room), stream)
    page = QuestionPage(room, signs_for(stream), asking.named, LINES if options.call is None else ALL)
    for each in shown:
        put(page.lines(each), stream)
    return 0


def _header(asking: Asking, room: int) -> Iterator[Line]:
    many = len(asking.questions)
    if not many:
        yield from paragraph(f"No question waits in session {asking.session}.", room)
        return
    waits = "waits" if many == 1 else "wait"
    whose = "nobody has it open" if asking.holder is None else f"it is open in {asking.holder}"
    text = f"{counted(many, 'question')} {waits} in session {asking.session}; {whose}"
    yield from paragraph(text, room, "bold")


def _as_json(asking: Asking, found: OpenQuestion) -> dict[str, object]:
    return {
        "session": asking.session,
        "sign": sign_of(found.question),
        "question": to_json(found.question),
        "answer": None if found.answer is None else to_json(found.answer),
        "exact": found.exact,
    }


# ---- answered -----------------------------------------------------------------------------------------------------


def _meant(asking: Asking, call: str | None) -> Question | int:
    """The question, or the exit code for a word that is rather a misspelt answer."""
    questions = [each.question for each in asking.questions]
    if call is None:
        waiting = [each.question for each in asking.questions if each.answer is None] or questions
        if len(waiting) == 1:
            return waiting[0]
        if not waiting:
            raise AnswerRefused(f"no question waits in session {asking.session}")
        raise AnswerRefused(f"{len(waiting)} questions wait in session {asking.session}, say which: {_names(waiting)}")
    found = [each for each in questions if each.call_id == call]
    if not found and len(call) >= _SHORTEST:
        found = [each for each in questions if each.arguments_hash.startswith(call) or each.call_id.startswith(call)]
    if len(found) == 1:
        return found[0]
    if found:
        raise AnswerRefused(f"several questions could be meant by {call!r}: {_names(found)}")
    if get_close_matches(call, ANSWERS, n=1) and not get_close_matches(call, [each.call_id for each in questions], n=1):
        say(f"there is no answer {call!r}, did you mean {get_close_matches(call, ANSWERS, n=1)[0]}?")
        return USAGE
    raise _unknown(asking, questions, call)


def _unknown(asking: Asking, questions: Sequence[Question], call: str) -> AnswerRefused:
    before = [each for each in asking.answered if each.call_id == call]
    if before:
        first = before[-1]
        by = f"{first.by} at {first.door}" if first.door else first.by
        return AnswerRefused(f"call {call} was answered already: {first.outcome.replace('_', ' ')}, by {by}", first)
    close = get_close_matches(call, [name for each in questions for name in (each.call_id, sign_of(each))], n=1)
    hint = f", did you mean {close[0]}?" if close else f"; open are {_names(questions)}" if questions else ""
    return AnswerRefused(f"no question {call!r} is open in session {asking.session}{hint}")


def _names(questions: Sequence[Question], most: int = 5) -> str:
    shown = ", ".join(f"{sign_of(each)} ({each.tool}, {each.call_id})" for each in questions[:most])
    return shown + (f" and {len(questions) - most} more" if len(questions) > most else "")


def _confirmation(question: Question, options: Namespace) -> Confirmation:
    if options.answer == "no":
        return question.no(options.note, stop=options.stop, door=_DOOR)
    if options.answer == "yes":
        arguments = options.arguments if options.edit is None else edited(question, options.edit)
        answers = _picked(question, options.pick or ())
        return replace(question.answered(*answers, arguments=arguments, door=_DOOR), note=options.note)
    if not question.choices:
        raise AnswerRefused(f"{question.tool} is asked about every time, so always is no answer here: say yes or no")
    number = options.choice or 1
    if number > len(question.choices):
        raise AnswerRefused(f"there is no choice {number}; there are {len(question.choices)}")
    always = question.always(question.choices[number - 1], scope=options.scope or "session", door=_DOOR)
    return replace(always, note=options.note)


def _picked(question: Question, picks: Sequence[str]) -> Iterator[FieldAnswer]:
    """Numbers are options, where there are some; anything else is own words."""
    for at, pick in enumerate(picks):
        labels = [option.label for option in question.asks[at].options] if at < len(question.asks) else []
        numeric = at < len(question.asks) and question.asks[at].kind in ("number", "integer") and not labels
        if pick.startswith("=") or numeric or not _NUMBERS.fullmatch(pick):
            yield FieldAnswer(text=pick.removeprefix("="))
            continue
        numbers = [int(number) for number in pick.split(",")]
        wrong = [number for number in numbers if not 0 < number <= len(labels)]
        if wrong:
            raise AnswerRefused(f"question {at + 1} has no option {wrong[0]}; write ={pick} if that is the answer")
        yield FieldAnswer(tuple(labels[number - 1] for number in numbers))


def _told(taken: AnswerTaken) -> str:
    outcome = {"yes": "yes", "no": "no", "yes_always": "always"}[taken.confirmation.outcome]
    then = "it will be acted on when the session is resumed"
    if taken.holder is not None:
        then = f"the running session will act on it ({taken.holder})"
    checked = "; the changed arguments are checked then" if taken.confirmation.arguments is not None else ""
    question = taken.question
    return f"{outcome} to {question.tool} (call {question.call_id}) of session {taken.session}: {then}{checked}"


def _taken_as_json(taken: AnswerTaken) -> dict[str, object]:
    return {
        "session": taken.session,
        "call_id": taken.question.call_id,
        "tool": taken.question.tool,
        "arguments_hash": taken.question.arguments_hash,
        "outcome": taken.confirmation.outcome,
        "how": taken.how,
        "holder": None if taken.holder is None else taken.holder.pid,
    }
