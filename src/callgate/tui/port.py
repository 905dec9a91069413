"""The interface of the terminal for panels, commands and the input line."""

from __future__ import annotations

from asyncio import Task
from collections.abc import Callable, Coroutine, Sequence
from contextlib import AbstractAsyncContextManager
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
    """Something that takes the keys while it is open: a question, a list to choose from, a view of the transcript.

    A panel does no input or output of its own: it gives lines and reacts to actions of its context. One with an
    attribute ``full_screen`` that is true takes the whole screen; the terminal's own screen comes back when it closes.
    """

    context: Context

    def lines(self, width: int, height: int) -> Sequence[str]:
        """The lines to show, in the codes of the terminal, none wider than ``width``; at most ``height`` are shown."""
        ...

    def act(self, action: str) -> None:
        """Reacts to an action of the table of keys. Unknown ones do nothing."""
        ...

    def typed(self, text: str) -> None:
        """Reacts to text that no action has a key for."""
        ...


@noun
class Receiver:
    """The part of the terminal that receives a key.

    part        "nothing": the key is dropped
    panel       the panel or the card; None for the input line
    context     the context of its keys
    card_waits  a card is shown, and one key gives it the keys
    """

    part: Literal["input", "panel", "card", "nothing"] = "input"
    panel: Panel | None = None
    context: Context = "input"
    card_waits: bool = False


class Terminal(Protocol):
    """Everything a command or a panel can do. ``session`` is None until it has been opened."""

    fold: ConversationFold
    theme: Theme
    session: Session | None
    config: Config | None
    custom: Sequence[SlashCommand]
    """Commands of the person and of the folder, read when the session was opened."""
    receiver: Receiver

    def post(self, sent: Input) -> None:
        """Sends an input to the session."""
        ...

    def show(self, *blocks: Block) -> None:
        """Adds blocks to the finished output."""
        ...

    def open_panel(self, panel: Panel) -> None: ...

    def close_panel(self, panel: Panel) -> None: ...

    def ask_text(self, label: str, initial: str, done: Callable[[str | None], None]) -> None:
        """Asks for a text in the input line; None if the person gave up."""
        ...

    async def edit_text(self, text: str, suffix: str = ".md") -> str | None:
        """The text as the person left it in $VISUAL or $EDITOR; None if the editor failed."""
        ...

    def set_input(self, text: str) -> None:
        """Puts a text into the input line."""
        ...

    def start(self, work: Coroutine[Any, Any, Any]) -> Task[Any]:
        """Runs a coroutine beside the terminal; it ends with it."""
        ...

    def change_session(self, start: SessionStart, then: Callable[[], None] = lambda: None) -> None:
        """Closes the session, which can be resumed, opens another one, and calls ``then``. If the other one cannot be
        opened, this one comes back."""
        ...

    def once_open(self, action: Callable[[], None]) -> None:
        """Calls the action when there is a session: at once, if there is one."""
        ...

    @property
    def keys(self) -> Sequence[KeyAction]:
        """The table of keys with the person's changes."""
        ...

    @property
    def viewed(self) -> ViewName:
        """The view now."""
        ...

    def view(self, name: ViewName) -> None:
        """Shows the conversation inline, or on a screen of its own."""
        ...

    def redraw(self) -> None:
        """Draws the live part soon."""
        ...

    def quit(self, code: int = 0) -> None: ...


@noun
class SessionStart:
    """The session to open: a ``new`` one, the one to ``resume``, or a copy of it (``fork``). With nothing given: as the
    command line says."""

    resume: str = ""
    fork: bool = False
    new: bool = False


SessionOpener = Callable[[Terminal, SessionStart], "AbstractAsyncContextManager[tuple[Session, Config]]"]

SlashFunction = Callable[[Terminal, str], Coroutine[Any, Any, None] | None]
SlashGroup = Literal["conversation", "session", "changes", "model", "looking", "permissions", "program", "own"]


@noun
class SlashCommand:
    """``run`` is a function, or names one as ``module:function`` of this package: it gets the terminal and the text
    behind the name, and may give a coroutine. ``arguments`` shows the form of that text, ``words`` names a function
    that gives candidates for it. ``at_rest``: not while the agent works. ``at_once``: needs no session."""

    name: str
    help: str
    run: str | SlashFunction
    group: SlashGroup = "own"
    arguments: str = ""
    aliases: tuple[str, ...] = ()
    words: str = ""
    at_rest: bool = False
    at_once: bool = False
