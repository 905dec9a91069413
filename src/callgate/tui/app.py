"""The terminal application: connects the session state, the input line and the panels, and routes keys. The fold has
the state of the conversation; ``frames`` draws it."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import replace
from time import monotonic, time
from typing import TYPE_CHECKING, Any

from prompt_toolkit.enums import EditingMode

from callgate._version import __version__
from callgate.formats.shown_paths import home_path
from callgate.tui.actions import InputActions
from callgate.tui.attention import Absence, recap_offer, rings
from callgate.tui.bindings import vim_state
from callgate.tui.blocks import Block, NoticeBlock, PromptBlock
from callgate.tui.card_keys import CardKeys
from callgate.tui.composer import Composer
from callgate.tui.fold import ConversationFold, fold_of, keep_end, left_open
from callgate.tui.footer import context_used
from callgate.tui.frames import Frames
from callgate.tui.keys import Context, KeyAction
from callgate.tui.layout import build_application
from callgate.tui.panels.question_queue import QuestionQueue
from callgate.tui.panels.scroll_panel import Transcript
from callgate.tui.port import Panel, Receiver, SessionOpener, SessionStart, SlashCommand, ViewName
from callgate.tui.render import warm_up
from callgate.tui.route import as_card, route
from callgate.tui.screen import ESCAPE, ESCAPE_AT_CARD, terminal_output
from callgate.tui.theme import Theme, theme_for
from callgate.words.errors import CallgateError
from callgate.words.events import AgentPath, Event, ModelSet, Noted, StatusChanged, TurnEnded
from callgate.words.inputs import Input, Prompt
from callgate.words.turns import Compacted

if TYPE_CHECKING:
    from prompt_toolkit.key_binding.key_processor import KeyPress

    from callgate import Session
    from callgate.config import Config
    from callgate.tui.statusline.status_line import SessionStatusLine

Pilot = Callable[["TerminalApp"], Coroutine[Any, Any, None]]


def run_terminal(
    opener: SessionOpener, theme: Theme, prompt: str = "", *, typed: str = "", pilot: Pilot | None = None
) -> int:
    """Run the terminal interface until the user exits and return the exit code.

    opener  opens the session
    prompt  the first message
    typed   keys that were pressed during the start
    pilot   a script that types and answers in place of a user, for the demo
    """

    async def main() -> tuple[int, str]:
        app = TerminalApp(opener, theme, prompt)
        app.application.press(typed)
        if pilot is not None:
            app.start(pilot(app))
            await app.run()
            return 0, ""
        return await app.run(), app.resumable

    code, session = asyncio.run(main())
    if session and sys.stdout.isatty():
        sys.stdout.write("\n" + theme.paint(f"To continue: callgate --resume {session}", "grey") + "\n")
    return code


class TerminalApp:
    """The terminal application; it implements ``InnerTerminal``. The input line is shown while ``opener`` opens the
    session."""

    def __init__(self, opener: SessionOpener, theme: Theme, prompt: str = "") -> None:
        self.fold = ConversationFold()
        self.theme = theme
        self.session: Session | None = None
        self.config: Config | None = None
        self.custom: Sequence[SlashCommand] = ()
        self.statusline: SessionStatusLine | None = None
        self._greeted: list[str] = []  # notes in the greeting, which are not shown again when they are published
        self.composer = Composer(self)
        self.frames = Frames(self)
        self.actions = InputActions(self, self.frames)
        self.panels: list[Panel] = []
        self.unsent: list[Input] = [Prompt(prompt)] if prompt else []
        self.receiver = Receiver()
        self.questions = QuestionQueue(self)
        self.card_keys = CardKeys(self)
        self.application, self._focus = build_application(self, self.frames, terminal_output(theme))
        self._opener = opener
        self._when_open: list[Callable[[], None]] = []
        self._absence = Absence()
        self._leave = asyncio.Event()
        self._following: SessionStart | None = None
        self._before = ""  # the session to resume if the next one cannot be opened
        self._tasks: set[asyncio.Task[Any]] = set()
        self.application.key_processor.before_key_press += self._key_arrives
        self.application.key_processor.after_key_press += self._key_pressed
        self.context_used = ""
        self._code = 0
        self.full: Transcript | None = None
        """The conversation in the full view; None in the inline one."""

    async def run(self) -> int:
        opened = self.start(self._open())
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(self._report)
        for number in (signal.SIGTERM, signal.SIGHUP):
            loop.add_signal_handler(number, self.quit, 128 + number)
        try:
            await self.application.run_async(set_exception_handler=False, handle_sigint=False)
        except EOFError:  # the terminal is gone
            self._code = 128 + signal.SIGHUP
        finally:
            self.application.output.clear_title()
            self._following = None
            self._leave.set()
            self.frames.close()
            if self.session is None:  # it may wait for an answer of the user
                opened.cancel()
            await asyncio.wait((opened,))
            if not opened.cancelled():
                opened.result()
            for task in self._tasks:
                task.cancel()
        return self._code

    def _report(self, _loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """Show an unhandled exception of the event loop as a notice, because the default handler of asyncio would
        write over the screen."""
        error = context.get("exception")
        self.show(NoticeBlock(f"{context['message']}: {error!r}" if error else context["message"], "error"))

    @property
    def resumable(self) -> str:
        """The session id for ``--resume``, or an empty string if the session has no messages or is not stored."""
        return "" if self.session is None or not self.session.messages else self.session.id

    async def _open(self) -> None:
        """Open the first session, then each session that the user changes to."""
        start: SessionStart | None = SessionStart()
        try:
            while start is not None:
                try:
                    start = await self._live(start)
                except CallgateError as error:
                    if not self._before or self._leave.is_set():
                        raise
                    self.show(NoticeBlock(str(error), "error"))
                    self._when_open.clear()  # those actions were for the failed session
                    start, self._before = SessionStart(resume=self._before), ""
        except CallgateError as error:
            if self._leave.is_set():
                raise  # the screen is gone: the command line prints it
            self.show(NoticeBlock(str(error), "error"))
            self.quit(1)
        except Exception:  # a bug, which the command line reports
            self.quit(1)
            raise

    async def _live(self, start: SessionStart) -> SessionStart | None:
        """Open one session, wait until the user leaves it, and return the session to open next, or None to exit."""
        from callgate.tui.commands import read_custom

        async with self._opener(self, start) as (session, config):
            await self._show_session(session, config, again=bool(start.folders))
            for sent in self.unsent:
                self.post(sent)
            self.unsent.clear()
            await read_custom(self, config)
            for action in self._when_open:
                action()
            self._when_open.clear()
            self.redraw()
            self.start(asyncio.to_thread(warm_up))
            await self._leave.wait()
            if self.statusline is not None:
                await self.statusline.close()
                self.statusline = None
            await session.aclose()
        following, self._following = self._following, None
        if following is not None:
            self._before, self.session = self.resumable, None
            self._leave.clear()
            self.frames.flush()
        return following

    async def _show_session(self, session: Session, config: Config, *, again: bool) -> None:
        """Show the session. ``again`` is True if its conversation is on the screen already."""
        events = [event for _number, event in await session.events_after(0)]
        fold, earlier = ConversationFold(), fold_of(events)
        fold.apply_all(events)
        fold.cut_calls()
        fold.request_ended()
        resumed = any(isinstance(each, PromptBlock) for each in earlier.blocks)
        keep_end(earlier)
        printed = earlier.take_finished() if resumed else []
        hello = greeting(session, config)
        fold.blocks[:0] = hello
        fold.skip_finished()
        offer = recap_offer(time() - fold.last_activity) if resumed else ""
        if offer:
            fold.notice(offer)
        if session.status == "paused":
            fold.add(left_open(fold, len(session.waiting)))
        fold.questions.clear()  # the turn is not running; continuing asks them again
        session.listen(self._on_event)  # before any input is sent
        self.session, self.config = session, config
        if config.settings.tui_view == "full":
            self.view("full")
        if config.settings.tui_theme != "auto":
            self.theme = theme_for(encoding=sys.stdout.encoding, name=config.settings.tui_theme)
        fold.status, fold.mode = session.status, session.mode
        fold.model, fold.title = session.model, session.title
        self.frames.shown += [*self.fold.take_all(), *([] if again else [*hello, *printed])]
        self.fold = fold
        self.actions.configure(config)
        self.composer.configure(config)
        self._greeted = [*session.controls.notes]
        self.questions.follow({})
        if self.full is not None:
            self.full = self.transcript(expanded=False)
        self._start_status_line(session, config)

    def _start_status_line(self, session: Session, config: Config) -> None:
        """Start the user's status line. If no command is configured, the status line starts when the settings have a
        command."""
        from callgate.tui.statusline.status_line import SessionStatusLine

        self.statusline = SessionStatusLine(
            session,
            config,
            redraw=self.redraw,
            warn=lambda text: self.show(NoticeBlock(text, "warning")),
            vim=lambda: vim_state(self) or None,
        )

    # ---- what commands and panels can do ------------------------------------------------------------------------

    def post(self, sent: Input) -> None:
        if self.session is None:
            self.unsent.append(sent)
        else:
            self.session.post(sent)
            self.session.controls.deliver()

    def change_session(self, start: SessionStart, then: Callable[[], None] = lambda: None) -> None:
        self._following = start
        self._when_open.append(then)
        self._leave.set()

    def once_open(self, action: Callable[[], None]) -> None:
        if self.session is None:
            self._when_open.append(action)
        else:
            action()

    def show(self, *blocks: Block) -> None:
        self.fold.show(blocks)
        self.redraw()

    def open_panel(self, panel: Panel) -> None:
        self.panels.append(panel)
        self.redraw()

    def close_panel(self, panel: Panel) -> None:
        if panel in self.panels:
            self.panels.remove(panel)
            self.questions.uncovered(panel)
        self.redraw()

    def ask_text(self, label: str, initial: str, done: Callable[[str | None], None]) -> None:
        self.composer.ask(label, initial, done)
        self.redraw()

    async def edit_text(self, text: str, suffix: str = ".md") -> str | None:
        from prompt_toolkit.application import in_terminal

        from callgate.tui.external_editor import edited_text

        async with in_terminal():
            return await asyncio.to_thread(edited_text, text, suffix)

    def set_input(self, text: str) -> None:
        self.composer.set_text(text)
        self.redraw()

    @property
    def keys(self) -> Sequence[KeyAction]:
        return self.actions.rows

    @property
    def vim(self) -> bool:
        return self.application.editing_mode == EditingMode.VI

    def use_vim(self, vim: bool) -> None:
        self.application.use_vim(vim)
        self.redraw()

    def copy(self, text: str) -> None:
        self.application.copy(text)

    @property
    def viewed(self) -> ViewName:
        return "inline" if self.full is None else "full"

    def view(self, name: ViewName) -> None:
        if (self.full is not None) is not (name == "full"):
            self.full = None if self.full is not None else self.transcript(expanded=False)
            self.redraw()

    def transcript(self, *, expanded: bool) -> Transcript:
        return Transcript(self.fold, self.frames.painter, expanded=expanded)

    def redraw(self) -> None:
        self.update_receiver()
        self.frames.ask()

    def quit(self, code: int = 0) -> None:
        """Exit the terminal. All blocks stay on the screen, including unfinished blocks."""
        self._code = code
        self.panels.clear()
        self.frames.leave()
        if self.application.is_running and self.application.future is not None and not self.application.future.done():
            self.application.exit(result=code)

    def start(self, work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    # ---- frames -------------------------------------------------------------------------------------------------

    @property
    def shown_panel(self) -> Panel | None:
        return self.panels[-1] if self.panels else self.questions.card

    @property
    def covers(self) -> bool:
        """True if the top panel takes the whole screen."""
        return bool(self.panels) and getattr(self.panels[-1], "full_screen", False)

    def _on_event(self, path: AgentPath, number: int, event: Event) -> None:
        began, asked = None if path else self.fold.run_began, bool(self.fold.questions)
        if isinstance(event, Noted) and event.text in self._greeted:
            self._greeted.remove(event.text)
        else:
            self.fold.apply(event, path)
        if rings(event, began, asked=asked):
            self.application.output.bell()
        if isinstance(event, (TurnEnded, ModelSet, Compacted)) and not path and self.session is not None:
            self.context_used = context_used(self.session)
        if isinstance(event, StatusChanged) and not path and self.session is not None:
            failure = self.session.controls.take_failure()
            if failure is not None:
                self.fold.notice(str(failure) or type(failure).__name__, "error")
        self.questions.follow(self.fold.questions, event)
        self.redraw()

    # ---- keys ---------------------------------------------------------------------------------------------------

    def act(self, action: str, context: Context | None = None) -> None:
        receiver = self.receiver
        if receiver.panel is None or context == "anywhere" or action == "keys":
            getattr(self.actions, action)()
        else:
            receiver.panel.act(action)
        self.redraw()

    def pressed(self, keys: Sequence[KeyPress], row: KeyAction | None) -> None:
        panel, card = self.receiver.panel, as_card(self.receiver.panel)
        if card is not None:
            self.card_keys.pressed(card, keys, row)
        elif row is not None:
            self.act(row.action, row.context)
        elif panel is not None:
            panel.typed(keys[-1].data)
        self.redraw()

    def pasted(self, text: str) -> None:
        """Handle a paste while a panel is open. A paste never answers a question; it is inserted into the input line
        instead."""
        panel, card = self.receiver.panel, as_card(self.receiver.panel)
        if card is not None and not card.takes_text:
            self.card_keys.write()
            self.composer.paste(text)
        elif panel is not None:
            panel.typed(text)
        self.redraw()

    def leave_card(self) -> None:
        card = as_card(self.shown_panel)
        if card is not None:
            card.guard.leave()
            self.application.type_text()
        self.update_receiver()

    def update_receiver(self) -> None:
        composer, now = self.composer, asyncio.get_running_loop().time()
        writing = bool(composer.text) or composer.borrowed
        receiver = route(self.shown_panel, now, asks=composer.asks, writing=writing)
        self.receiver = replace(receiver, held=self.card_keys.waiting)
        self.application.ttimeoutlen = ESCAPE_AT_CARD if receiver.part == "card" else ESCAPE
        self._focus()

    def _key_arrives(self, _sender: object) -> None:
        self.update_receiver()
        self.card_keys.update()
        card = as_card(self.receiver.panel)
        if card is not None:
            card.guard.reached()

    def _key_pressed(self, _sender: object) -> None:
        card = as_card(self.shown_panel)
        if card is not None:
            card.guard.pressed(asyncio.get_running_loop().time())
        offer = self._absence.ended(monotonic())
        if offer and self.session is not None and self.session.messages:
            self.show(NoticeBlock(offer))
        self.frames.redraw_when_armed()


def greeting(session: Session, config: Config) -> list[Block]:
    """Return the first lines on the screen: program, model, folder and branch, and the warnings of this start."""
    from callgate.prompt.environment_facts import branch_of  # not needed for the first prompt

    branch = branch_of(config.root)
    where = f"{home_path(config.root)} ({branch})" if branch else home_path(config.root)
    first = f"callgate {__version__}  {session.model}  {where}"
    return [NoticeBlock(first), *(NoticeBlock(note, "warning") for note in session.controls.notes)]
