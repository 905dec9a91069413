"""Paints blocks: each becomes lines in the codes of the terminal, none wider than the terminal."""

from callgate.tui.render.painter import Painter

__all__ = ["Painter"]
