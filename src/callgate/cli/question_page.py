"""Prints an open question. Texts of the model are escaped, and the omitted lines are counted."""

from collections.abc import Iterator, Mapping, Sequence
from json import dumps
from typing import Any

from callgate.admin.session_changes import changed_files
from callgate.admin.sessions import moment
from callgate.cli.terminal import Line, Safe, Signs, Span, paragraph, safe, width
from callgate.formats.columns import pieces
from callgate.formats.display import counted, excerpt
from callgate.transcript.question_answers import OpenQuestion
from callgate.words.changes import ChangeSet
from callgate.words.decisions import WANTED, AskedField, Question

LINES = 40
"""Lines of one value, or of the change to one file, where several questions are shown."""
ALL = 1_000_000

_SIGN = 8
_COLOURS = {"+": "green", "-": "red", "@": "cyan"}


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
            yield from self._words(
                "Secrets are masked here, so only the program that runs the session can accept a yes.", "red"
            )
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
            by = f"{found.answer.by} at {found.answer.door}" if found.answer.door else found.answer.by
            yield from self._words(
                f"answered: {found.answer.outcome.replace('_', ' ')}, by {by}; not applied yet", "green"
            )
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
