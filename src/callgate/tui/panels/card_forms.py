"""The state of the forms of a question card: fields to answer, and rules to remember."""

from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import dataclass, field

from callgate.formats.columns import width
from callgate.formats.display import visible
from callgate.tui.fold import SCOPES
from callgate.tui.panels.panel_page import PanelPage
from callgate.words.decisions import AskedField, Choice, Confirmation, FieldAnswer, Question, Scope, answers_fault


@dataclass
class _Given:
    """The user's input for one field. ``at`` is the row of the cursor; the last row is the text field."""

    chosen: list[str] = field(default_factory=list)
    text: str = ""
    at: int = 0


class FieldsForm:
    """The fields of a question, shown one at a time. Several fields are followed by a review.

    ready   the user has sent the answers
    escape  the help text for Escape at the first field
    """

    def __init__(self, question: Question, escape: str = "no answer, and stop") -> None:
        self._fields = question.asks
        self._escape = escape
        self._given = [_Given() for _ in question.asks]
        self.number = 0
        self.fault = ""
        self.ready = False
        self._begun = False

    @property
    def reviewing(self) -> bool:
        return self.number == len(self._fields)

    @property
    def own_words(self) -> bool:
        return not self.reviewing and self._here.at == len(self._field.options)

    @property
    def takes_text(self) -> bool:
        """True while the cursor is in a text field to which the user moved it."""
        return self.own_words and self._begun

    @property
    def _takes_words(self) -> bool:
        return self._field.kind != "option" or not self._field.options

    @property
    def answers(self) -> tuple[FieldAnswer, ...]:
        return tuple(FieldAnswer(tuple(each.chosen), each.text.strip()) for each in self._given)

    @property
    def _field(self) -> AskedField:
        return self._fields[self.number]

    @property
    def _here(self) -> _Given:
        return self._given[self.number]

    # ---- keys ---------------------------------------------------------------------------------------------------

    def move(self, by: int) -> None:
        self._begun = True
        if not self.reviewing:
            self._here.at = (self._here.at + by) % (len(self._field.options) + self._takes_words)

    def marks(self, text: str) -> bool:
        """Return True for the number of an option, which selects it, and for a blank, which toggles the option."""
        if self.reviewing or self.own_words:
            return False
        options = len(self._field.options)
        return text == " " or (text.isascii() and text.isdecimal() and 1 <= int(text) <= options)

    def typed(self, text: str) -> None:
        """Insert text into the text field, or handle a key for which ``marks`` is True."""
        self.fault = ""
        here = self._here
        if self.own_words:
            here.text += text
        elif self.marks(text) and text == " ":
            self._toggle(here.at)
        elif self.marks(text):
            here.at = int(text) - 1
            if self._field.several:
                self._toggle(here.at)

    def snapshot(self) -> Callable[[], None]:
        """Return a function that restores the cursor and the marks of the current field."""
        number, given = self.number, deepcopy(self._given[self.number : self.number + 1])

        def restore() -> None:
            self._given[number : number + 1] = given

        return restore

    def erase(self) -> None:
        if self.own_words:
            self._here.text = self._here.text[:-1]

    def _toggle(self, row: int) -> None:
        label, chosen = self._field.options[row].label, self._here.chosen
        if label in chosen:
            chosen.remove(label)
        elif self._field.several:
            chosen.append(label)
        else:
            chosen[:] = [label]

    def enter(self) -> None:
        """Select the option under the cursor if no option is selected, and go to the next field. In the review, send
        the answers. In the first text field, begin to write: text that is typed before goes to the input line."""
        begun, self._begun = self._begun, True
        if self.reviewing:
            self.ready = True
            return
        if self.own_words and not begun:
            return
        here = self._here
        if not self.own_words and (not self._field.several or not here.chosen):
            here.chosen = [self._field.options[here.at].label]
        self.on()

    def skip(self) -> None:
        """Go to the next field. An invalid answer to an optional field is removed."""
        self._begun = True
        if not self.reviewing and not self._field.required and self._fault() is not None:
            self._given[self.number] = _Given(at=self._here.at)
        self.on()

    def on(self) -> None:
        if self.reviewing:
            return
        self.fault = self._fault() or ""
        if not self.fault:
            self.number += 1
            self.ready = self.reviewing and len(self._fields) == 1

    def _fault(self) -> str | None:
        return answers_fault([self._field], [self.answers[self.number]])

    def back(self) -> bool:
        """Go to the previous field. Return False at the first field."""
        if self.number == 0:
            return False
        self.number -= 1
        self.ready = False
        return True

    # ---- lines --------------------------------------------------------------------------------------------------

    def write(self, page: PanelPage, *, brief: bool = False) -> None:
        """Write the form to the page. If ``brief`` is True, write only the row of the cursor, for a screen with few
        rows."""
        if self.reviewing:
            self._write_review(page)
        else:
            self._write_field(page, brief)
        if self.fault:
            page.words(self.fault, "red")

    def _write_field(self, page: PanelPage, brief: bool) -> None:
        asked, here, theme = self._field, self._here, page.theme
        of = f"  ({self.number + 1} of {len(self._fields)})" if len(self._fields) > 1 else ""
        page.words(f"{asked.header}: {asked.question}{of}", "bold")
        for number, option in enumerate(asked.options):
            if brief and number != here.at:
                continue
            mark = ("[x] " if option.label in here.chosen else "[ ] ") if asked.several else ""
            taken = "*" if not asked.several and option.label in here.chosen else ""
            page.block(
                f"{theme.cursor(number == here.at)} {number + 1}. {mark}{option.label}{taken}",
                "bold" if number == here.at else "",
            )
            if option.description:
                page.words(option.description, "grey", 7)
        if self._takes_words and (self.own_words or not brief):
            end = theme.sign("▏", "_") if self.takes_text else ""
            label = "own words" if asked.options else "answer"
            page.block(
                f"{theme.cursor(self.own_words)} {label}: {here.text}{end}", "bold" if self.own_words else "grey"
            )
        if brief:
            return
        preview = "" if self.own_words else asked.options[here.at].preview
        if preview:
            page.block(preview, indent=4, before=theme.sign("│ ", "| "))

    def _write_review(self, page: PanelPage) -> None:
        page.words("Your answers:", "bold")
        for asked, answer in zip(self._fields, self.answers, strict=True):
            said = ", ".join((*answer.chosen, *((answer.text,) if answer.text else ())))
            said = said or (f"no answer; default: {asked.default}" if asked.default else "no answer")
            page.words(f"{asked.header}: {said}")

    def keys(self, page: PanelPage) -> Sequence[tuple[str, str]]:
        if self.reviewing:
            return [("Enter", "send"), ("Esc", "back")]
        choose = [(page.theme.sign("↑ ↓", "up/down"), "choose")] if self._field.options else []
        several = [("Space", "mark")] if choose and self._field.several else []
        skip = [] if self._field.required else [("Tab", "no answer")]
        send = "next" if len(self._fields) > 1 else "send"
        enter = ("Enter", "write" if self.own_words and not self._begun else send)
        return [*choose, *several, enter, *skip, ("Esc", "back" if self.number else self._escape)]


DOOR = "terminal"


class AlwaysChoice:
    """The choice of a rule to remember and its scope.

    keeps    answers can be stored for later sessions
    kept_in  the folder where answers are stored
    """

    def __init__(self, question: Question, *, keeps: bool = True, kept_in: str = "") -> None:
        self._question = question
        self._kept_in = kept_in
        self._keeps = keeps
        self.at = 0
        self.scope = 0

    @property
    def choice(self) -> Choice:
        return self._question.choices[self.at]

    @property
    def scopes(self) -> Sequence[Scope]:
        """The scopes in which the choice can be remembered. The exact arguments of an action of this session can be
        remembered for the session only."""
        exact = self.choice.pattern is not None and self.choice.pattern.kind == "exact"
        return [*SCOPES] if self._keeps and not (exact and self._question.through) else ["session"]

    def move(self, by: int) -> None:
        self.at = (self.at + by) % len(self._question.choices)
        self.scope %= len(self.scopes)

    def turn(self, by: int) -> None:
        self.scope = (self.scope + by) % len(self.scopes)

    def answer(self) -> Confirmation:
        return self._question.always(self.choice, scope=self.scopes[self.scope], door=DOOR)

    def write(self, page: PanelPage, *, brief: bool = False) -> None:
        """Write the choice to the page. If ``brief`` is True, write only the selected rule, for a screen with few
        rows."""
        count = len(self._question.choices)
        page.words(f"Always allow ({self.at + 1} of {count}):" if brief else "Always allow:", "bold")
        for number, each in enumerate(self._question.choices):
            here = number == self.at
            if brief and not here:
                continue
            repeats = each.label in each.rule or "(./" in each.rule  # the label has the path of the rule
            label = "" if repeats else f"({each.label})"
            rule, style = f"{page.theme.cursor(here)} {each.rule or each.label}", "bold" if here else ""
            beside = f"{rule}  {label}".rstrip()
            fits = width(visible(beside)) + 2 <= page.width
            page.block(beside if fits else rule, style)
            if label and not fits:
                page.words(label, style, indent=6)
        names = [f"[{SCOPES[each]}]" if at == self.scope else SCOPES[each] for at, each in enumerate(self.scopes)]
        page.words(f"for  {'  '.join(names)}", "bold")
        if not brief:
            page.words(self._place(), "grey")

    def keys(self, page: PanelPage) -> Sequence[tuple[str, str]]:
        keys = [(page.theme.sign("↑ ↓", "up/down"), "rule"), ("Tab", "for how long")]
        return [*keys, ("Enter", "allow and remember"), ("Esc", "back")]

    def _place(self) -> str:
        if self.scopes[self.scope] == "session":
            return "For this session only."
        where = f" in {self._kept_in}" if self._kept_in else ""
        return f"Stored{where}; `callgate policy list` shows it, `callgate policy revoke` removes it."
