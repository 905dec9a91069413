"""The interface of the terminal for its own modules: keys, actions, frames, layout, footer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from callgate.tui.port import Panel, Terminal

if TYPE_CHECKING:
    from prompt_toolkit.key_binding.key_processor import KeyPress

    from callgate.tui.composer import Composer
    from callgate.tui.keys import Context, KeyAction
    from callgate.tui.panels.question_queue import QuestionQueue
    from callgate.tui.panels.scroll_panel import Transcript
    from callgate.tui.screen import InlineApplication
    from callgate.tui.statusline.status_line import SessionStatusLine


class InnerTerminal(Terminal, Protocol):
    """The terminal as its own modules use it.

    application   the application of prompt_toolkit
    composer      the input line
    questions     the queue of question cards
    full          the conversation in the full view; None in the inline view
    context_used  the used share of the model's context window, as text
    """

    application: InlineApplication
    composer: Composer
    questions: QuestionQueue
    full: Transcript | None
    statusline: SessionStatusLine | None
    context_used: str

    @property
    def shown_panel(self) -> Panel | None:
        """The panel on the screen, or None. The keys may go to the input line while a panel is shown."""
        ...

    @property
    def covers(self) -> bool: ...

    def transcript(self, *, expanded: bool) -> Transcript:
        """Return a view of the whole conversation, with the output of calls if ``expanded`` is True."""
        ...

    def update_receiver(self) -> None:
        """Decide which part of the screen receives keys, and give the focus to that part."""

    def act(self, action: str, context: Context | None = None) -> None:
        """Run an action of the table of keys in the given context, or in the context of the current receiver."""

    def pressed(self, keys: Sequence[KeyPress], row: KeyAction | None) -> None:
        """Pass keys to the open panel or the input line. ``row`` is the action to which they are bound."""

    def pasted(self, text: str) -> None:
        """Pass pasted text to the open panel. A paste never answers a question."""

    def leave_card(self) -> None:
        """Give the keys to the input line, in which the user goes on typing."""
