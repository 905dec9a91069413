"""The painter: lines for every kind of block."""

from collections.abc import Callable, Mapping
from textwrap import wrap
from typing import Any

from callgate.formats.display import visible
from callgate.tui.blocks import (
    ActionBlock,
    Block,
    CallBlock,
    EndBlock,
    LinesBlock,
    NoticeBlock,
    PromptBlock,
    TableBlock,
    TextBlock,
    ThinkingBlock,
)
from callgate.tui.render.tables import piece_lines, table_lines
from callgate.tui.theme import STATUSES, Theme

Named = Callable[[str, Mapping[str, Any]], str]
_LEVELS = {"info": "grey", "warning": "yellow", "error": "red"}


class Painter:
    """``named`` gives the one line by which a call is shown."""

    def __init__(self, theme: Theme, width: int, named: Named) -> None:
        self.theme = theme
        self.width = max(width, 10)
        self._named = named

    def lines(self, block: Block, now: float = 0.0, *, expanded: bool = False) -> list[str]:
        """The lines of a block; ``now`` is for the times of calls that run. ``expanded``: all of it is shown."""
        match block:
            case PromptBlock():
                return ["", *self._words(block.text, "bold", first=self.theme.sign("❯ ", "> "), rest="  "), ""]
            case TextBlock():
                return self._words(block.text)
            case ThinkingBlock():
                return self._words("thinking …" if not block.done else "thought", "grey")
            case CallBlock():
                output = "" if block.result is None or not expanded else block.result.text
                return [*self._call(block, now), *(self._words(output, first="  ", rest="  ") if output else ())]
            case ActionBlock():
                return self._words(f"{block.label}: {block.ended}. {block.reason}", "grey")
            case NoticeBlock():
                return self._words(block.text, _LEVELS[block.level])
            case EndBlock():
                if block.ended.reason == "done":
                    return []
                return self._words(block.ended.sentence, "yellow")
            case TableBlock():
                return table_lines(block, self.theme, self.width)
            case LinesBlock():
                return piece_lines(block, self.theme, self.width)

    def _call(self, call: CallBlock, now: float) -> list[str]:
        face = STATUSES[call.status]
        sign = self.theme.paint(self.theme.sign(face.sign, face.ascii), face.style)
        name = visible(self._named(call.name, call.arguments))
        return [f"{sign} {name[: self.width - 14]} {self.theme.paint(face.word, 'grey')}"]

    def _words(self, text: str, style: str = "", first: str = "", rest: str = "") -> list[str]:
        found: list[str] = []
        for line in text.rstrip("\n").split("\n"):
            found += wrap(visible(line), self.width - len(first) - 1, replace_whitespace=False) or [""]
        return [f"{first if number == 0 else rest}{self.theme.paint(line, style)}" for number, line in enumerate(found)]
