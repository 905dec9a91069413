"""The choices of an "always": the rule that would be remembered, and for how long. Pure state."""

from collections.abc import Sequence

from callgate.tui.panels.page import PanelPage
from callgate.words.decisions import Choice, Confirmation, Question, Scope

DOOR = "terminal"
SCOPES: tuple[tuple[Scope, str], ...] = (
    ("session", "this session"),
    ("project", "this project"),
    ("user", "everywhere"),
)


class AlwaysChoice:
    """``keeps``: answers can be kept beyond the session, in the folder ``kept_in``."""

    def __init__(self, question: Question, *, keeps: bool = True, kept_in: str = "") -> None:
        self._question = question
        self._kept_in = kept_in
        self.scopes: Sequence[tuple[Scope, str]] = SCOPES if keeps else SCOPES[:1]
        self.at = 0
        self.scope = 0

    @property
    def choice(self) -> Choice:
        return self._question.choices[self.at]

    def move(self, by: int) -> None:
        self.at = (self.at + by) % len(self._question.choices)

    def turn(self, by: int) -> None:
        """The next scope."""
        self.scope = (self.scope + by) % len(self.scopes)

    def answer(self) -> Confirmation:
        return self._question.always(self.choice, scope=self.scopes[self.scope][0], door=DOOR)

    def write(self, page: PanelPage, *, brief: bool = False) -> None:
        """``brief``: the marked rule alone, for a low screen."""
        count = len(self._question.choices)
        page.words(f"Always allow ({self.at + 1} of {count}):" if brief else "Always allow:", "bold")
        for number, each in enumerate(self._question.choices):
            here = number == self.at
            if brief and not here:
                continue
            label = "" if each.label in each.rule else f"  ({each.label})"
            mark = page.theme.sign("❯", ">") if here else " "
            page.block(f"{mark} {each.rule or each.label}{label}", "bold" if here else "")
        names = [f"[{name}]" if number == self.scope else name for number, (_, name) in enumerate(self.scopes)]
        page.words(f"for  {'  '.join(names)}", "bold")
        if not brief:
            page.words(self._place(), "grey")

    def write_keys(self, page: PanelPage) -> None:
        keys = [(page.theme.sign("↑ ↓", "up/down"), "rule"), ("Tab", "for how long")]
        page.keys([*keys, ("Enter", "allow and remember"), ("Esc", "back")])

    def _place(self) -> str:
        if self.scopes[self.scope][0] == "session":
            return "Remembered in the record of this session alone."
        where = f" in {self._kept_in}" if self._kept_in else ""
        return f"Written{where}; `callgate policy list` shows it, `callgate policy revoke` takes it back."
