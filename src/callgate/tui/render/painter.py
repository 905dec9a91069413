"""Paints every kind of block."""

from collections.abc import Iterable

from callgate.formats.columns import clipped
from callgate.formats.display import counted
from callgate.formats.shown_paths import shown_paths
from callgate.tui import blocks
from callgate.tui.blocks import ENDED_WORDS
from callgate.tui.markdown_parts import Opened
from callgate.tui.render.call_rows import Faces, call_rows
from callgate.tui.render.markdown import markdown_rows
from callgate.tui.render.measures import seconds_text
from callgate.tui.render.spans import Span, painted, wrapped
from callgate.tui.render.tables import piece_lines, table_lines
from callgate.tui.theme import LEVELS, STATUSES, StatusFace, Theme
from callgate.words.calls import Status

LONG_PROMPT = 10
"""The maximum number of rows of a prompt; the rest is counted."""
LONG_TEXT = 6_000
"""Characters of a streaming text above which only its end is painted."""
LONG_RUN = 10.0
"""Seconds of a run after which its end is shown even if it succeeded."""

_ENDED = {"applied": Status.SUCCESS, "discarded": Status.CANCELLED, "lost": Status.ERROR}
"""The status whose sign and colour are used for the end of a staged action."""

Row = list[Span]


class Painter:
    """Paints blocks for one width.

    faces     returns the appearance of a call
    unbroken  lines of code may be wider than the terminal, so that users can copy printed code unchanged
    root      the workspace; paths in the texts of tools are relative to it
    """

    def __init__(self, theme: Theme, width: int, faces: Faces, *, unbroken: bool = False, root: str = "") -> None:
        self.theme = theme
        self.width = max(width, 10)
        self._faces = faces
        self._unbroken = unbroken
        self._root = root

    def lines(self, block: blocks.Block, now: float = 0.0, *, expanded: bool = False) -> list[str]:
        """Return the lines of a block. ``now`` is the time for durations of running calls. If ``expanded`` is True,
        nothing is omitted."""
        if isinstance(block, blocks.TableBlock):
            return table_lines(block, self.theme, self.width)
        if isinstance(block, blocks.LinesBlock):
            return piece_lines(block, self.theme, self.width)
        return [painted(self.theme, row, unbroken=self._unbroken) for row in self._rows(block, now, expanded)]

    def _rows(self, block: blocks.SaidBlock, now: float, expanded: bool) -> Iterable[Row]:
        match block:
            case blocks.PromptBlock():
                return [[], *self._prompt(block, expanded)]
            case blocks.TextBlock():
                rows = self._text(block)
                return [[], *rows] if rows and not block.begun else rows
            case blocks.ThinkingBlock():
                return [[], *self._thinking(block, now, expanded)] if block.text.strip() else []
            case blocks.CallBlock():
                face = self._faces(block.name, block.arguments)
                rows = call_rows(self.theme, block, face, self.width, now, expanded=expanded, root=self._root)
                return rows if block.joined else [[], *rows]
            case blocks.ActionBlock():
                by = f" by {'you' if block.by == 'person' else block.by}" if block.by not in ("", "model") else ""
                said = f"{ENDED_WORDS[block.ended]}{by}: {block.label}" + (f". {block.reason}" if block.reason else "")
                said = shown_paths(said, self._root)
                return self._told(said, STATUSES[_ENDED[block.ended]])
            case blocks.NoticeBlock():
                text = shown_paths(block.text, self._root)
                return self._told(text, LEVELS[block.level], block.level != "info")
            case blocks.EndBlock():
                return self._end(block)

    def _text(self, block: blocks.TextBlock) -> list[Row]:
        text, opened = block.text, block.opened
        if not block.done and len(text) > LONG_TEXT:
            # Paint only its end, so that the time of a frame is limited; the finished text is painted in full.
            text, opened = text[-LONG_TEXT // 2 :].partition(" ")[2], Opened()
        return markdown_rows(self.theme, text, self.width, opened, unbroken=self._unbroken)

    def _prompt(self, block: blocks.PromptBlock, expanded: bool) -> list[Row]:
        theme, bar = self.theme, self.theme.sign("▌ ", "> ")
        text = theme.page(block.text.strip("\n")).expandtabs(4)
        rows = wrapped([(text, "bold")], self.width - len(bar)) if text.strip() else []
        left = len(rows) - LONG_PROMPT
        if left > 1 and not expanded:
            rows = [*rows[:LONG_PROMPT], [(f"{theme.sign('…', '...')} {left:,} more lines", "grey")]]
        if block.attached:
            rows.append([(f"+ {counted(block.attached, 'attachment')}", "grey")])
        return [[(bar, "bold blue"), *row] for row in rows]

    def _thinking(self, block: blocks.ThinkingBlock, now: float, expanded: bool) -> list[Row]:
        theme = self.theme
        sign = theme.sign("∴ ", "~ ")
        seconds = (block.ended if block.done else max(now, block.ended)) - block.began
        took = f" for {seconds_text(seconds)}" if block.began and seconds >= 1 else ""
        head = f"{sign}{'thought' if block.done else 'thinking'}{took}"
        if expanded:
            text = theme.page(block.text.strip()).expandtabs(4)
            return [[(head, "grey")], *wrapped([(text, "grey")], self.width)]
        if block.done:
            return [[(clipped(head, self.width, ""), "grey")]]
        newest = theme.line(block.text.strip().rpartition("\n")[2])
        more = theme.more
        shown = clipped(f"{head}{theme.sign(' · ', ' - ')}{newest}", self.width, more)
        return [[(shown, "grey")]]

    def _end(self, block: blocks.EndBlock) -> list[Row]:
        parts = [seconds_text(block.seconds)] if block.seconds >= 0.05 else []
        parts += [f"{counted(block.output_tokens, 'output token')}"] if block.output_tokens else []
        parts += [f"${block.cost:.2f}" if block.cost >= 0.1 else f"${block.cost:.4f}"] if block.cost else []
        took = self.theme.sign(" · ", " - ").join(parts)
        if block.ended.reason == "done":
            return [[], *self._told(took, LEVELS["info"])] if block.seconds >= LONG_RUN else []
        face = LEVELS["error" if block.ended.reason in ("model_error", "context_full") else "warning"]
        rows = self._told(block.sentence, face, True)
        return [[], *rows, *(self._told(took, LEVELS["info"]) if block.seconds >= LONG_RUN else [])]

    def _told(self, text: str, face: StatusFace, coloured: bool = False) -> list[Row]:
        sign = f"{self.theme.sign(face.sign, face.ascii)} "
        safe = self.theme.page(text.strip("\n")).expandtabs(4)
        rows = wrapped([(safe, face.style if coloured else "grey")], self.width - len(sign))
        return [[(sign if number == 0 else "  ", face.style), *row] for number, row in enumerate(rows)]
