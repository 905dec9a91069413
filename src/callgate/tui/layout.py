"""The layout of the redrawn part of the screen: unfinished blocks, panel, input line and footer."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING

from prompt_toolkit.filters import Condition
from prompt_toolkit.formatted_text import ANSI
from prompt_toolkit.key_binding import DynamicKeyBindings, KeyBindings
from prompt_toolkit.layout import ConditionalContainer, HSplit, Layout, VerticalAlign, Window
from prompt_toolkit.layout.controls import BufferControl, FormattedTextControl
from prompt_toolkit.layout.dimension import Dimension

from callgate.tui.bindings import bindings_of
from callgate.tui.composer.attachments import AttachmentLabels
from callgate.tui.footer import footer_lines
from callgate.tui.keys import KeyAction
from callgate.tui.screen import FrameOutput, InlineApplication

if TYPE_CHECKING:
    from callgate.tui.frames import Frames
    from callgate.tui.inner_port import InnerTerminal

_LEAST = 3
"""The minimum height of the redrawn part."""
_LOW = 12
"""Terminals of at most this height have no empty row above the input line."""


def build_application(
    app: InnerTerminal, frames: Frames, output: FrameOutput
) -> tuple[InlineApplication, Callable[[], None]]:
    """Return the application of prompt_toolkit, and a function that gives the focus to the receiver of keys."""
    typing = Condition(lambda: app.receiver.panel is None)

    def lines_of(lines: list[str]) -> ANSI:
        return ANSI("\n".join(lines))

    def height() -> int:
        size = output.get_size()
        below = app.composer.rows(size.columns, size.rows // 2) if app.receiver.panel is None else 0
        return max(size.rows - below - gap() - (0 if app.covers else 1 + len(footer_lines(app, frames.hinted))), _LEAST)

    def gap() -> bool:
        return app.shown_panel is None and output.get_size().rows > _LOW

    def columns() -> int:
        return output.get_size().columns

    def shown_panel() -> list[str]:
        panel = app.shown_panel
        return [] if panel is None else [*panel.lines(output.get_size().columns, height())]

    def live_rows() -> int:
        return height() - len(shown_panel())

    def has_live() -> bool:
        return bool(app.fold.live or app.full or app.fold.pending) and not app.covers and live_rows() > 0

    live = Window(
        FormattedTextControl(lambda: lines_of(frames.live_lines(max(live_rows(), 1)))),
        dont_extend_height=True,
        wrap_lines=False,
    )
    panel_window = Window(
        FormattedTextControl(lambda: lines_of(shown_panel()), focusable=True, show_cursor=False),
        dont_extend_height=True,
    )
    entry = Window(
        BufferControl(app.composer.buffer, input_processors=[AttachmentLabels(app.composer.attachments)]),
        height=lambda: Dimension(min=1, max=max(output.get_size().rows // 2, 1)),
        dont_extend_height=True,
        wrap_lines=True,
        get_line_prefix=lambda number, wrapped: app.composer.prefix(number, wrapped),
    )
    above = Window(FormattedTextControl(lambda: lines_of(app.composer.above(columns()))), dont_extend_height=True)
    below = Window(FormattedTextControl(lambda: lines_of(app.composer.below(columns()))), dont_extend_height=True)
    footer = Window(FormattedTextControl(lambda: lines_of(footer_lines(app, frames.hinted))), dont_extend_height=True)
    root = HSplit(
        [
            ConditionalContainer(live, Condition(has_live)),
            ConditionalContainer(panel_window, Condition(lambda: app.shown_panel is not None)),
            ConditionalContainer(Window(height=1), Condition(gap)),
            ConditionalContainer(above, Condition(lambda: bool(app.fold.waiting) and not app.covers)),
            ConditionalContainer(entry, typing),
            ConditionalContainer(below, typing & Condition(lambda: bool(app.composer.below(columns())))),
            ConditionalContainer(footer, Condition(lambda: not app.covers)),
        ],
        align=VerticalAlign.TOP,
    )
    layout = Layout(root, focused_element=entry)

    def focus() -> None:
        wanted = entry if app.receiver.panel is None else panel_window
        if not layout.has_focus(wanted):
            layout.focus(wanted)

    def prepare(_sender: object) -> None:
        app.update_receiver()
        made_application.show_full_screen(app.covers or app.full is not None)

    @cache
    def bindings(_rows: tuple[KeyAction, ...]) -> KeyBindings:
        return bindings_of(app)

    made_application = InlineApplication(
        layout=layout,
        key_bindings=DynamicKeyBindings(lambda: bindings(tuple(app.keys))),
        output=output,
        full_screen=False,
        mouse_support=False,
        erase_when_done=True,
        before_render=prepare,
    )
    return made_application, focus
