"""The interface of the terminal for the parts of its screen: keys, actions, frames, layout, footer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from callgate.tui.port import Panel, Terminal

if TYPE_CHECKING:
    from callgate.tui.composer import Composer
    from callgate.tui.keys import Context
    from callgate.tui.panels.question_queue import QuestionQueue
    from callgate.tui.panels.transcript_panel import Transcript
    from callgate.tui.screen import InlineApplication
    from callgate.tui.statusline.status_line import SessionStatusLine


class InnerTerminal(Terminal, Protocol):
    """The terminal with its parts.

    application   the application of prompt_toolkit
    composer      the input line
    questions     the queue of cards
    full          the conversation in the full view; None in the inline view
    context_used  the share of the model's window that is used, as text
    """

    application: InlineApplication
    composer: Composer
    questions: QuestionQueue
    full: Transcript | None
    statusline: SessionStatusLine | None
    context_used: str

    @property
    def shown_panel(self) -> Panel | None:
        """The panel on the screen; keys may go to the input line instead."""
        ...

    @property
    def covers(self) -> bool:
        """True if the panel on the screen takes all of it."""
        ...

    def transcript(self, *, expanded: bool) -> Transcript:
        """Return a view of the whole conversation; ``expanded``: with the output of calls."""
        ...

    def update_receiver(self) -> None:
        """Decide which part receives keys from now on, and give it the focus."""

    def act(self, action: str, context: Context | None = None) -> None:
        """Run an action of the table of keys, in the receiver's context or in the given one."""

    def typed(self, text: str) -> None:
        """Pass text that no action has a key for to the open panel."""

    def pasted(self, text: str) -> None:
        """Pass a paste to the open panel. A paste never answers a question."""
