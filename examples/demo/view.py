"""Shows a play as lines: text, calls, diffs and claims, in colours where there are any. As JSON: the events alone."""

from collections.abc import Iterable, Mapping, Sequence
from difflib import unified_diff
from typing import Literal, TextIO

from callgate import ChangeSet, Event
from callgate.cli.terminal import Line, Span, can_redraw, clip, fit, painted, paragraph, plain, signs_for
from callgate.cli.text_output import columns, put_json
from callgate.formats.jsonable import to_json
from callgate.words.events import (
    CallArrived,
    CallSettled,
    CallStarted,
    MessageAdded,
    Noted,
    QuestionAnswered,
    QuestionAsked,
    TextStreamed,
    TurnStarted,
)
from callgate.words.model import WHOLE

from .record import Fact, title_of

Form = Literal["color", "plain", "json"]
"""Lines in the colours of the terminal, lines without colours, or the events as JSON."""
WIDEST = 100
_DIFF = {"+": "green", "-": "red", "@": "cyan"}


class PlayView:
    """Prints the events of one play after the other, and the claims at the end."""

    def __init__(self, out: TextIO, form: Form) -> None:
        self._out = out
        self._json = form == "json"
        self._coloured = form == "color" and can_redraw(out)
        self._signs = signs_for(out)
        self._headings: Mapping[int, str] = {}
        self._titles: dict[str, str] = {}
        self._began = 0.0
        self._text = ""

    def opened(self, prompt: str, headings: Mapping[int, str]) -> None:
        """Begins a play; its turns have these headings."""
        self._headings = headings
        self._heading(f"> {prompt}")

    def event(self, event: Event) -> None:
        if self._json:
            put_json(to_json(event))
            self._out.flush()
            return
        if self._text and isinstance(event, CallArrived | CallSettled | MessageAdded):
            self.say(self._text.strip())
            self._text = ""
        self._show(event)

    def say(self, text: str, style: str = "", *, indent: int = 2) -> None:
        self._put(paragraph(text, self._room, style, indent=indent, hang=2))

    def facts(self, facts: Sequence[Fact], events: int) -> None:
        """The table at the end: every claim with its figures."""
        self._put([()])
        for fact in facts:
            sign = Span(f"{self._signs.ok} ", "green") if fact.holds else Span(f"{self._signs.bad} ", "bold red")
            first, *rest = paragraph(f"{fact.claim}: {fact.detail}", self._room - 2, hang=2)
            self._put([(sign, *first), *rest])
        kept = f"{sum(fact.holds for fact in facts)} of {len(facts)} kept"
        self._heading(f"{kept}, checked against {events} events (callgate demo --json shows them).")

    def _show(self, event: Event) -> None:
        match event:
            case TextStreamed():
                self._text += event.text if event.text[:1].isspace() else f" {event.text}"
            case TurnStarted():
                self._began = event.at
                if event.turn in self._headings:
                    self._heading(self._headings[event.turn])
            case MessageAdded() if event.message.role == "assistant":
                whole = event.stop_reason in WHOLE
                self._row(event.at, "the message", "whole" if whole else "cut off", "dim" if whole else "magenta")
            case CallArrived():
                self._titles[event.call_id] = title_of(event)
                self._row(event.at, title_of(event), "arrived", "dim")
            case CallStarted():
                again = f", attempt {event.attempt}" if event.attempt > 1 else ""
                self._row(event.at, self._titles[event.call_id], f"started{again}", "cyan")
            case CallSettled():
                self._settled(event)
            case QuestionAsked(question=question):
                self._row(event.at, self._titles[question.call_id], "asks", "bold yellow")
                self.say(f"? {question.reason}", "bold yellow", indent=4)
                self._diff(_diff_of(question.preview))
            case QuestionAnswered(confirmation=answer):
                self.say(f"apply this? {answer.outcome}, by the {answer.by}", "bold", indent=4)
            case Noted():
                self.say(event.text, "cyan", indent=4)
            case _:
                pass

    def _settled(self, event: CallSettled) -> None:
        result = event.result
        taken = "" if event.duration_ms is None else f" {event.duration_ms / 1000:.2f} s"
        word, style = (result.code.replace("_", " "), "red") if result.is_error else (f"done{taken}", "green")
        self._row(event.at, self._titles[event.call_id], word, style)
        for display in result.display:
            if display.kind == "diff":
                self._diff(line for line in display.body.splitlines() if line[:1] in _DIFF)
        if result.is_error:
            self.say(result.text, "red", indent=4)

    def _heading(self, text: str) -> None:
        self._put([(), *paragraph(text, self._room, "bold", hang=2)])

    def _row(self, at: float, title: str, word: str, style: str) -> None:
        self._put([(Span(f"{at - self._began:6.2f} s  {fit(title, 24, self._signs.mark)} "), Span(word, style))])

    def _diff(self, lines: Iterable[str]) -> None:
        self._put((Span("    "), Span(line, _DIFF.get(line[:1], "dim"))) for line in lines)

    @property
    def _room(self) -> int:
        """Columns to use: the last one stays empty, because writing there makes some terminals wrap."""
        return min(columns() - 1, WIDEST)

    def _put(self, lines: Iterable[Line]) -> None:
        for line in () if self._json else lines:
            text = painted(line, self._room, self._signs.mark) if self._coloured else clip(plain(line), self._room)
            self._out.write(f"{text}\n")
        self._out.flush()


def _diff_of(changes: ChangeSet | None) -> Iterable[str]:
    """The changed lines of text files with one line around them."""
    for change in changes.files if changes is not None else ():
        before, after = (
            data.decode().splitlines() for data in (change.before, change.after) if isinstance(data, bytes)
        )
        yield from list(unified_diff(before, after, lineterm="", n=1))[2:]
