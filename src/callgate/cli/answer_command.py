"""The command ``callgate answer``: shows and answers the questions of a session from another program."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from json import dumps
from pathlib import Path
from shlex import quote
from typing import Any

from callgate import Store
from callgate.admin.session_changes import changed_files
from callgate.admin.sessions import Archive, moment
from callgate.cli.command_parser import count, json_object
from callgate.cli.command_rows import SESSION_HELP, ArgumentRow, CommandMisuse, CommandRow
from callgate.cli.terminal import Line, Safe, Signs, Span, paragraph, safe, signs_for, width
from callgate.cli.text_output import WIDE, columns, json_fields, out, put, put_json
from callgate.formats.columns import pieces
from callgate.formats.display import counted, excerpt
from callgate.transcript.answer_files import AnswerRefused
from callgate.transcript.lock import LockHolder, holder_of
from callgate.transcript.question_answers import AnswerTaken, OpenQuestion, questions_in
from callgate.tui.external_editor import edited_text
from callgate.words.changes import ChangeSet
from callgate.words.decisions import WANTED, AskedField, Confirmation, FieldAnswer, Question, arguments_hash

ANSWERS = ("yes", "no", "always")
_ONLY_WITH = {
    "note": ANSWERS,
    "stop": ("no",),
    **dict.fromkeys(("arguments", "edit", "pick"), ("yes",)),
    **dict.fromkeys(("choice", "scope"), ("always",)),
}
"""The answers that each option belongs to."""
_DOOR = "callgate answer"
_NUMBERS = re.compile(r"[0-9]{1,3}(,[0-9]{1,3})*")
_SHORTEST = 4  # characters of a beginning that names a question
LINES = 40
"""Lines of one value, or of the change to one file, where several questions are shown."""
ALL = 1_000_000
_SIGN = 8
_COLOURS = {"+": "green", "-": "red", "@": "cyan"}


@dataclass(frozen=True, slots=True)
class SessionQuestions:
    """The open questions of a session, and the answers of its current turn.

    named   the name by which other commands find the session
    holder  the process that has the session open
    """

    log: Path
    named: str
    questions: tuple[OpenQuestion, ...]
    answered: tuple[Confirmation, ...]
    holder: LockHolder | None

    @property
    def session(self) -> str:
        return self.log.stem


def answer(which: str | None, call: str | None, answer: str | None, as_json: bool, **options: Any) -> int:
    """Show the open questions of a session, or answer one of them. If a program has the session open, that program
    acts on the answer; otherwise the answer is recorded and takes effect when the session is resumed. The first
    answer wins.

    exit codes: 0 shown, or the answer was accepted; 1 refused, because the question was answered or is not open; 2
    usage
    """
    if call in ANSWERS and answer is None:
        call, answer = None, call
    if which in ANSWERS and call is answer is None:
        raise CommandMisuse(f"name a session: callgate answer latest {which}")
    _check(answer, options)
    asking = _read(which)
    if answer is None:
        return _show(asking, call, as_json=as_json)
    taken = Store().answer(asking.log, _confirmation(_meant(asking, call), answer, options))
    if as_json:
        about = ("session", "question.call_id", "question.tool", "question.arguments_hash")
        put_json(json_fields(taken, *about, "confirmation.outcome", "how", holder="holder.pid"))
    else:
        put(paragraph(_taken(taken), min(columns(), WIDE)))
    return 0


def _read(which: str | None) -> SessionQuestions:
    log = Archive().find(which)
    found = questions_in(log)
    named = quote(which) if which is not None and Path(which) == log else log.stem
    return SessionQuestions(log, named, found.open, found.answered, holder_of(log) if found.open else None)


def _check(answer: str | None, options: dict[str, Any]) -> None:
    if options["edit"] is not None and options["arguments"] is not None:
        raise CommandMisuse("--edit and --arguments cannot be combined: use one of them")
    for name, wanted in _ONLY_WITH.items():
        if options[name] not in (None, False, []) and answer not in wanted:
            raise CommandMisuse(f"--{name} goes with {' or '.join(wanted)}")


def _show(asking: SessionQuestions, call: str | None, *, as_json: bool) -> int:
    shown = asking.questions
    if call is not None:
        meant = _meant(asking, call)
        shown = tuple(each for each in shown if each.question == meant)
    if as_json:
        for each in shown:
            about = {"session": asking.session, "sign": sign_of(each.question)}
            put_json({**about, **json_fields(each, "question", "answer", "exact")})
        return 0
    room = min(columns(), WIDE)
    text = f"There is no open question in session {asking.session}."
    if shown:
        is_open = "is open" if len(asking.questions) == 1 else "are open"
        whose = "no process has it open" if asking.holder is None else f"it is open in {asking.holder}"
        text = f"{counted(len(asking.questions), 'question')} {is_open} in session {asking.session}; {whose}"
    put(paragraph(text, room, "bold" if shown else ""))
    page = QuestionPage(room, signs_for(out()), asking.named, LINES if call is None else ALL)
    for each in shown:
        put(page.lines(each))
    return 0


def _meant(asking: SessionQuestions, call: str | None) -> Question:
    """Return the question that ``call`` identifies. Raise CommandMisuse if the word is closer to an answer than to a
    question."""
    questions = [each.question for each in asking.questions]
    if call is None:
        waiting = [each.question for each in asking.questions if each.answer is None] or questions
        if len(waiting) == 1:
            return waiting[0]
        if not waiting:
            raise AnswerRefused(f"there is no open question in session {asking.session}")
        raise AnswerRefused(
            f"{len(waiting)} questions are open in session {asking.session}; name one: {_names(waiting)}"
        )
    found = [each for each in questions if each.call_id == call]
    if not found and len(call) >= _SHORTEST:
        found = [each for each in questions if each.arguments_hash.startswith(call) or each.call_id.startswith(call)]
    if len(found) == 1:
        return found[0]
    if found:
        raise AnswerRefused(f"several questions match {call!r}: {_names(found)}")
    meant = get_close_matches(call, ANSWERS, n=1)
    if meant and not get_close_matches(call, [each.call_id for each in questions], n=1):
        raise CommandMisuse(f"unknown answer {call!r}, did you mean {meant[0]}?")
    raise _unknown(asking, questions, call)


def _unknown(asking: SessionQuestions, questions: Sequence[Question], call: str) -> AnswerRefused:
    before = [each for each in asking.answered if each.call_id == call]
    if before:
        return AnswerRefused(f"call {call} was already answered: {_by(before[-1])}", before[-1])
    close = get_close_matches(call, [name for each in questions for name in (each.call_id, sign_of(each))], n=1)
    hint = f", did you mean {close[0]}?" if close else f"; open are {_names(questions)}" if questions else ""
    return AnswerRefused(f"no question {call!r} is open in session {asking.session}{hint}")


def _by(answer: Confirmation) -> str:
    return f"{answer.outcome.replace('_', ' ')}, by {answer.by}" + (f" at {answer.door}" if answer.door else "")


def _names(questions: Sequence[Question], most: int = 5) -> str:
    shown = ", ".join(f"{sign_of(each)} ({each.tool}, {each.call_id})" for each in questions[:most])
    return shown + (f" and {len(questions) - most} more" if len(questions) > most else "")


def _confirmation(question: Question, answer: str, options: Mapping[str, Any]) -> Confirmation:
    if answer == "no":
        return question.no(options["note"], stop=options["stop"], door=_DOOR)
    if answer == "yes":
        edit = options["edit"]
        changed = options["arguments"] if edit is None else _edited(question, edit)
        confirmed = question.answered(*_picked(question, options["pick"]), arguments=changed, door=_DOOR)
    elif not question.choices:
        raise AnswerRefused(
            f"{question.tool} needs an answer every time, so `always` is not possible: answer `yes` or `no`"
        )
    else:
        number = options["choice"] or 1
        if number > len(question.choices):
            raise AnswerRefused(f"there is no choice {number}; there are {len(question.choices)}")
        scope = options["scope"] or "session"
        confirmed = question.always(question.choices[number - 1], scope=scope, door=_DOOR)
    return replace(confirmed, note=options["note"])


def _edited(question: Question, name: str) -> dict[str, Any] | None:
    """Let the user edit one argument. Return all arguments, or None if the user changed nothing. Raise AnswerRefused
    if there is nothing to edit or the editor fails."""
    if arguments_hash(question.through or question.tool, question.arguments) != question.arguments_hash:
        raise AnswerRefused("secrets are masked in these arguments, so they cannot be edited here")
    which = name or _only_text(question)
    before = question.arguments.get(which)
    if not isinstance(before, str):
        raise AnswerRefused(f"{question.tool} has no text {which!r} to edit; it has {_texts(question.arguments)}")
    after = edited_text(before)
    if after is None:
        raise AnswerRefused("the editor failed; the question is still open")
    # Editors end a file with a line feed of their own.
    after = after if before.endswith("\n") else after.removesuffix("\n")
    return None if after == before else {**question.arguments, which: after}


def _only_text(question: Question) -> str:
    found = [name for name, value in question.arguments.items() if isinstance(value, str)]
    if len(found) != 1:
        raise AnswerRefused(f"say which text to edit: {_texts(question.arguments)}")
    return found[0]


def _texts(arguments: Mapping[str, Any]) -> str:
    return ", ".join(name for name, value in arguments.items() if isinstance(value, str)) or "none"


def _picked(question: Question, picks: Sequence[str]) -> Iterator[FieldAnswer]:
    """Return the answer to each field: a number selects an option, and any other text is the answer itself."""
    for at, pick in enumerate(picks):
        labels = [option.label for option in question.asks[at].options] if at < len(question.asks) else []
        numeric = at < len(question.asks) and question.asks[at].kind in ("number", "integer") and not labels
        if pick.startswith("=") or numeric or not _NUMBERS.fullmatch(pick):
            yield FieldAnswer(text=pick.removeprefix("="))
            continue
        numbers = [int(number) for number in pick.split(",")]
        wrong = [number for number in numbers if not 0 < number <= len(labels)]
        if wrong:
            raise AnswerRefused(f"question {at + 1} has no option {wrong[0]}; to answer with this text, write ={pick}")
        yield FieldAnswer(tuple(labels[number - 1] for number in numbers))


def _taken(taken: AnswerTaken) -> str:
    outcome = {"yes": "yes", "no": "no", "yes_always": "always"}[taken.confirmation.outcome]
    then = "the answer applies when the session is resumed"
    if taken.holder is not None:
        then = f"the answer applies now, in the running session ({taken.holder})"
    checked = "; the changed arguments are validated then" if taken.confirmation.arguments is not None else ""
    question = taken.question
    return f"{outcome} to {question.tool} (call {question.call_id}) of session {taken.session}: {then}{checked}"


def sign_of(question: Question) -> str:
    """Return a short hash that identifies the call and its exact arguments."""
    return question.arguments_hash[:_SIGN]


class QuestionPage:
    """Formats questions as lines. ``lines`` is the maximum number of lines for one value."""

    def __init__(self, room: int, signs: Signs, named: str, lines: int) -> None:
        self._room = max(room, 20)
        self._signs = signs
        self._named = named
        self._lines = lines

    def lines(self, found: OpenQuestion) -> Iterator[Line]:
        question = found.question
        yield ()
        head = (f"{self._signs.asks} {question.tool}", f"  {sign_of(question)}", f"  {question.call_id}")
        if sum(width(safe(part)) for part in head) <= self._room:
            yield Span(head[0], "bold yellow"), Span(head[1], "bold"), Span(head[2], "dim")
        else:
            yield from self._block(head[0], 0, "bold yellow")
            yield from self._block(sign_of(question), 2, "bold")
            yield from self._block(question.call_id, 2, "dim")
        yield from self._about(question)
        if not found.exact:
            yield from self._words("Secrets are masked here: only the program with the session accepts a yes.", "red")
        if not question.asks or set(question.arguments) != {"questions"}:  # these are shown as fields
            yield from self._arguments(question.arguments)
        yield from self._fields(question.asks)
        if question.preview is not None:
            yield from self._change(question.preview)
        yield from self._answers(found)

    def _about(self, question: Question) -> Iterator[Line]:
        origin = f" ({question.origin})" if question.origin is not None and str(question.origin) else ""
        yield from self._words(f"asked because of {question.by}{origin}: {question.reason}".rstrip(": "))
        if question.risk:
            yield from self._words(f"risk: {question.risk}", "red")
        if question.path:
            yield from self._words(f"agent: {' > '.join(question.path)}")
        until = "" if question.deadline is None else f", denied without an answer at {moment(question.deadline)}"
        yield from self._words(f"since {moment(question.asked_at)}{until}", "dim")

    def _arguments(self, arguments: Mapping[str, Any]) -> Iterator[Line]:
        if not arguments:
            yield from self._words("no arguments")
        for name, value in arguments.items():
            if isinstance(value, str) and "\n" in value:
                yield from self._block(f"{name}:", 2)
                yield from self._block(value, 4, before="| ")
            else:
                shown = dumps(value, ensure_ascii=False, default=repr)
                yield from self._block(f"{name}: {shown}", 2)

    def _fields(self, fields: Sequence[AskedField]) -> Iterator[Line]:
        for field in fields:
            yield from self._block(f"{field.header}: {field.question}", 2, "bold")
            for number, option in enumerate(field.options, start=1):
                yield from self._block(f"{number}  {option.label}", 4)
                if option.description:
                    yield from self._block(option.description, 7, "dim")
                if option.preview:
                    yield from self._block(option.preview, 7, before="| ")
            of_these = f"{'any' if field.several else 'one'} of these" if field.options else ""
            own = "" if field.kind == "option" else "own words" if field.kind == "text" else WANTED[field.kind]
            yield from self._words(", or ".join(part for part in (of_these, own) if part), "dim", 4)

    def _change(self, change: ChangeSet) -> Iterator[Line]:
        yield from self._words(f"change: {change.label}")
        for each in changed_files(change):
            size = "" if each.shown == "lines" else f" ({each.shown})"
            yield from self._block(f"{each.kind} {each.path}{size}", 2, "bold")
            for line in each.hunks[: self._lines]:
                yield from self._block(line, 4, _COLOURS.get(line[:1], "dim"))
            if len(each.hunks) > self._lines:
                more = counted(len(each.hunks) - self._lines, "more line")
                yield (Span(Safe(f"    <{more}>"), "dim"),)

    def _answers(self, found: OpenQuestion) -> Iterator[Line]:
        question = found.question
        if found.answer is not None:
            yield from self._words(f"answered: {_by(found.answer)}; not applied yet", "green")
            return
        if question.choices and found.exact:
            yield from self._words('"always" allows one of')
            for number, choice in enumerate(question.choices, start=1):
                yield from self._words(f"{number}  {choice.label}", indent=4)
        required = [field for field in question.asks if field.required]
        if question.asks and found.exact:
            picks = " --pick …" * len(question.asks) if required else " [--pick …]"
            yield from self._words(f"callgate answer {self._named} {sign_of(question)} yes{picks}", "dim")
        can = "no" if not found.exact or required else "yes|no|always" if question.choices else "yes|no"
        yield from self._words(f"callgate answer {self._named} {sign_of(question)} {can}", "dim")

    def _words(self, text: str, style: str = "", indent: int = 2) -> Iterator[Line]:
        """Yield the lines of a text by Callgate, wrapped between words."""
        yield from paragraph(text, self._room, style, indent=indent, hang=2)

    def _block(self, text: str, indent: int, style: str = "", *, before: str = "") -> Iterator[Line]:
        """Return the lines of a text by the model, escaped and broken at the last column."""
        margin, room = " " * indent + before, self._room - indent - len(before)
        for line in excerpt(text, lines=self._lines, chars=100 * self._lines).split("\n"):
            for piece in pieces(line, room):
                yield Span(Safe(margin), "dim"), Span(Safe(piece), style)


COMMANDS = (
    CommandRow(
        "answer",
        answer,
        "",
        (
            ArgumentRow("SESSION?", f"{SESSION_HELP}, or latest", "which"),
            ArgumentRow("CALL?", "the sign beside the question, or the id of its call; not needed if one is open"),
            ArgumentRow("yes|no|always?", "always also adds a rule: see --choice, --scope", "answer"),
            ArgumentRow("--note TEXT", "with no: a text for the model; with yes: a text for the record"),
            ArgumentRow("--stop", "with no: end the turn too"),
            ArgumentRow("--arguments JSON", "with yes: run it with these; @FILE, or @- for stdin", read=json_object),
            ArgumentRow("--edit ARGUMENT?", "with yes: first edit a text argument in $VISUAL or $EDITOR", const=""),
            ArgumentRow(
                "--pick ANSWER",
                "with yes, once for each question that the call asks, in their order: the number of an option, several "
                "as 1,3, or own words; = in front says that a number is own words",
                many=True,
            ),
            ArgumentRow("--choice N", "with always: the number of the rule (default: 1)", read=count),
            ArgumentRow("--scope session|project|user", "with always: where the rule is valid (default: session)"),
            ArgumentRow("--json", "print JSON lines, without shortened texts", "as_json"),
        ),
    ),
)
