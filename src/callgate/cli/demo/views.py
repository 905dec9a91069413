"""Three ways to watch the session: redrawn in place, as lines, as JSON."""

import json
import time
from collections.abc import Callable, Sequence
from typing import Protocol, TextIO

from callgate import Event, Status, to_json
from callgate.cli.arguments import Form
from callgate.cli.demo.board import Act, Board, lane, waits_for
from callgate.cli.demo.facts import Fact
from callgate.cli.demo.picture import act_lines, diff_of, note, title
from callgate.cli.demo.script import PROMPT
from callgate.cli.demo.show import FRAME, Audience
from callgate.cli.terminal import Line, Live, Safe, Span, can_redraw, fit, paragraph, plain, safe, signs_for, size_of
from callgate.words.events import CallArrived, MessageAdded, QuestionAnswered, QuestionAsked, TurnEnded, TurnStarted

INTRO = "A scripted model at work in a temporary folder. Everything but the model is real."


class View(Audience, Protocol):
    def opened(self) -> None: ...

    def closed(self, facts: Sequence[Fact], heard: int) -> None:
        """All was played: so many events, and these facts about them."""
        ...


def _verdict(facts: Sequence[Fact], heard: int) -> str:
    kept = sum(fact.holds for fact in facts)
    return f"{kept} of {len(facts)} kept, checked against {heard} events (callgate demo --json shows them)."


def view_for(form: Form, board: Board, out: TextIO, speed: float) -> View:
    if form == "json":
        return JsonView(out)
    return ScreenView(board, out, speed) if form == "screen" and can_redraw(out) else LinesView(board, out)


class JsonView:
    def __init__(self, out: TextIO) -> None:
        self._out = out

    def opened(self) -> None:
        pass

    def heard(self, event: Event) -> None:
        self._out.write(json.dumps(to_json(event)) + "\n")
        self._out.flush()

    def tick(self) -> None:
        pass

    def closed(self, facts: Sequence[Fact], heard: int) -> None:
        pass


class ScreenView:
    def __init__(self, board: Board, out: TextIO, speed: float) -> None:
        self._board = board
        self._speed = speed
        self._live = Live(out)
        self._signs = signs_for(out)
        self._drawn_at = 0.0

    def opened(self) -> None:
        columns = self._live.columns
        intro = paragraph(f"callgate demo: {INTRO}", columns, "dim", hang=2)
        self._live.keep([*intro, *paragraph(f"> {PROMPT}", columns, "bold", hang=2), ()])

    def heard(self, event: Event) -> None:
        if isinstance(event, TurnEnded) and self._board.act is not None:
            self._live.keep([*self._picture(self._board.act), ()])
        else:
            self.tick()

    def tick(self) -> None:
        act, now = self._board.act, time.monotonic()
        if act is not None and act.ended_at is None and now - self._drawn_at >= FRAME:
            self._drawn_at = now
            self._live.draw(self._picture(act))

    def closed(self, facts: Sequence[Fact], heard: int) -> None:
        columns = self._live.columns
        lines = [line for fact in facts for line in self._fact(fact, columns)]
        self._live.keep([*lines, (), *paragraph(_verdict(facts, heard), columns)])

    def _picture(self, act: Act) -> list[Line]:
        return act_lines(act, time.time(), self._live.columns, self._signs, self._speed)

    def _fact(self, fact: Fact, columns: int) -> list[Line]:
        sign = Span(f"{self._signs.ok} ", "green") if fact.holds else Span(f"{self._signs.bad} ", "bold red")
        first, *rest = paragraph(f"{fact.claim}: {fact.detail}", min(columns, 110) - 2, hang=2)
        return [(sign, *first), *rest]


class LinesView:
    """One line a change, nothing ever redrawn. An act whose heading is empty has none."""

    def __init__(self, board: Board, out: TextIO, heading: Callable[[Act], str] = title) -> None:
        self._board = board
        self._heading = heading
        self._out = out
        self._signs = signs_for(out)
        self.columns = max(size_of(out)[0], 40) if out.isatty() else 100
        self._said = 0
        self._shown: dict[str, tuple[str, str]] = {}

    def opened(self) -> None:
        self.write(f"callgate demo: {INTRO}", f"> {PROMPT}")

    def tick(self) -> None:
        pass

    def heard(self, event: Event) -> None:
        act = self._board.act
        if act is None:
            return
        if isinstance(event, TurnStarted):
            self._said = 0
            if heading := self._heading(act):
                self.write("", heading)
        elif isinstance(event, CallArrived):
            self._say(act)
        elif isinstance(event, MessageAdded) and event.message.role == "assistant":
            self._say(act)
            self._change(event.at - act.began_at, "", "the message", act.message_state, "")
        for row in act.rows:
            now = (row.status.value, lane(row, act))
            passing = row.status is Status.VALIDATING or (row.status is Status.SCHEDULED and not waits_for(row, act))
            if passing or self._shown.get(row.id) == now:
                continue
            self._shown[row.id] = now
            took = row.elapsed(row.settled_at) if row.settled_at is not None else None
            self._change(event.at - act.began_at, f"#{row.number}", row.title, *now, took)
            if text := note(row):
                self.write(f"        {text}")
        if isinstance(event, QuestionAsked):
            self.write(f"  ? {event.question.tool}: {event.question.reason}")
            self.write(*(f"    {line}" for line in diff_of(event.question.preview)))
        elif isinstance(event, QuestionAnswered):
            self.write(f"    apply this? {event.confirmation.outcome}, by the {event.confirmation.by}")

    def closed(self, facts: Sequence[Fact], heard: int) -> None:
        self.write("")
        for fact in facts:
            self.write(f"{self._signs.ok if fact.holds else self._signs.bad} {fact.claim}: {fact.detail}")
        self.write("", _verdict(facts, heard))

    def _change(self, after: float, number: str, title: str, status: str, held: str, took: float | None = None) -> None:
        shown = f"{after:5.2f} s {number:>4} {fit(title, 22, self._signs.mark)} {status:<17}  {safe(held)}"
        self.write(Safe(shown if took is None else f"{shown:<77} {took:5.2f} s"))

    def _say(self, act: Act) -> None:
        """Prints the model's text since the last call."""
        text, self._said = act.text[self._said :].strip(), len(act.text)
        if text:
            self.write(*(plain(line) for line in paragraph(text, self.columns, indent=2)))

    def write(self, *lines: str) -> None:
        self._out.write("".join(f"{safe(line).rstrip()}\n" for line in lines))
        self._out.flush()
