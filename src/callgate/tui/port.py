"""The interface of the terminal for panels, commands and the input line."""

from __future__ import annotations

from asyncio import Task
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol

from callgate.tui.keys import Context, KeyAction
from callgate.words.noun import noun

if TYPE_CHECKING:
    from callgate import Session
    from callgate.config import Config
    from callgate.tui.blocks import Block
    from callgate.tui.fold import ConversationFold
    from callgate.tui.theme import Theme
    from callgate.words.inputs import Input


ViewName = Literal["inline", "full"]


class Panel(Protocol):
    """A part of the screen that receives the keys while it is open: a question, a list, a view of the transcript.

    A panel does no input or output: it returns lines and handles actions of its context. A panel with a true
    attribute ``full_screen`` takes the whole screen until it is closed.
    """

    context: Context

    def lines(self, width: int, height: int) -> Sequence[str]:
        """Return the lines of the panel with control sequences. No line is wider than ``width``. At most ``height``
        lines are shown."""
        ...

    def act(self, action: str) -> None:
        """Handle an action of the table of keys. Unknown actions are ignored."""

    def typed(self, text: str) -> None:
        """Handle text that is not the key of an action."""


@noun
class Receiver:
    """The part of the screen that receives a key.

    part        the kind of receiver
    panel       the panel or the card; None for the input line
    context     the key context of the receiver
    card_waits  True if a card is shown that the user must select before it receives keys
    held        the key of the card whose action is delayed
    """

    part: Literal["input", "panel", "card"] = "input"
    panel: Panel | None = None
    context: Context = "input"
    card_waits: bool = False
    held: str = ""


class Terminal(Protocol):
    """The operations of the terminal for commands and panels. ``session`` is None while no session is open."""

    fold: ConversationFold
    theme: Theme
    session: Session | None
    config: Config | None
    custom: Sequence[SlashCommand]
    """Custom commands of the user and the folder, read when the session was opened."""
    receiver: Receiver

    def post(self, sent: Input) -> None: ...

    def show(self, *blocks: Block) -> None:
        """Add blocks to the finished output."""

    def open_panel(self, panel: Panel) -> None: ...

    def close_panel(self, panel: Panel) -> None: ...

    def ask_text(self, label: str, initial: str, done: Callable[[str | None], None]) -> None:
        """Ask for a text in the input line. ``done`` is called with the text, or with None if the user cancels."""

    async def edit_text(self, text: str, suffix: str = ".md") -> str | None:
        """Edit a text in $VISUAL or $EDITOR and return the new text, or None if the editor failed."""
        ...

    def set_input(self, text: str) -> None: ...

    def start(self, work: Coroutine[Any, Any, Any]) -> Task[Any]:
        """Run a coroutine as a task that is cancelled when the terminal exits."""
        ...

    def change_session(self, start: SessionStart, then: Callable[[], None] = lambda: None) -> None:
        """Close the session, open another session and call ``then``. If the other session cannot be opened, the
        first session is resumed."""

    def once_open(self, action: Callable[[], None]) -> None:
        """Call the action as soon as a session is open."""

    @property
    def keys(self) -> Sequence[KeyAction]:
        """The table of keys with the user's changes."""
        ...

    @property
    def vim(self) -> bool:
        """True if the input line has the keys of vim."""
        ...

    def use_vim(self, vim: bool) -> None: ...

    def copy(self, text: str) -> None:
        """Ask the terminal to copy the text to its clipboard (OSC 52)."""

    @property
    def viewed(self) -> ViewName: ...

    def view(self, name: ViewName) -> None:
        """Show the conversation inline or full screen."""

    def redraw(self) -> None: ...

    def quit(self, code: int = 0) -> None: ...


@noun
class SessionStart:
    """The session to open: a new session (``new``), the session to resume (``resume``), or a copy of that session
    (``fork``). By default, the session of the command line.

    folders  additional folders that may be read from now on
    """

    resume: str = ""
    fork: bool = False
    new: bool = False
    folders: tuple[Path, ...] = ()


SessionOpener = Callable[[Terminal, SessionStart], "AbstractAsyncContextManager[tuple[Session, Config]]"]

SlashFunction = Callable[[Terminal, str], Coroutine[Any, Any, None] | None]


@noun
class SlashCommand:
    """A slash command.

    run        the function, or ``module:function`` in ``tui.commands``; called with the terminal and the text after the
               name
    arguments  the form of the text after the name
    words      completion candidates for the arguments with their descriptions, or ``module:function`` that returns them
    at_rest    True if the command cannot run while the agent works
    at_once    True if the command needs no session
    """

    name: str
    help: str
    run: str | SlashFunction
    arguments: str = ""
    aliases: tuple[str, ...] = ()
    words: str | Mapping[str, str] = ""
    at_rest: bool = False
    at_once: bool = False

    @property
    def form(self) -> str:
        return f"/{self.name} {self.arguments}".rstrip()
