"""Paints blocks: each block becomes lines with control sequences, none wider than the terminal.

painter    every kind of block
markdown   Markdown; ``code`` highlights code blocks
call_rows  a call on one line, and the rows below it; ``result_rows`` and ``diff`` paint results
tables     tables of commands, Markdown and results
spans      styled text, measured and wrapped; ``measures`` formats times and progress bars
"""

from callgate.tui.render.painter import Painter

__all__ = ["Painter", "warm_up"]


def warm_up() -> None:
    """Import the modules for Markdown, which takes 0.1 s, and paint once. Called in a thread after the first frame."""
    from callgate.tui.render.code import coloured
    from callgate.tui.render.markdown import markdown_rows
    from callgate.tui.theme import Theme

    markdown_rows(Theme(), "*a*\n\n- b\n", 80)
    coloured("a = 1", "python")
