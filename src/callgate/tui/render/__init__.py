"""Paints blocks: each becomes lines in the codes of the terminal, none wider than the terminal.

painter   every kind of block
markdown  text of models; ``code`` and ``columns`` are parts of it
calls     a call in one line and what stands below it; ``results`` and ``diff`` are parts of it
tables    what commands show
spans     styled text, measured and wrapped; ``measures`` are times and amounts in few letters
"""

from callgate.tui.render.call_rows import Face, PlainFace
from callgate.tui.render.painter import Painter

__all__ = ["Face", "Painter", "PlainFace", "warm_up"]


def warm_up() -> None:
    """Imports what painting Markdown needs, which takes a tenth of a second: for a thread, after the first frame."""
    from callgate.tui.render.code import coloured
    from callgate.tui.render.markdown import markdown_rows
    from callgate.tui.theme import Theme

    markdown_rows(Theme(), "*a*\n\n- b\n", 80)
    coloured("a = 1", "python")
