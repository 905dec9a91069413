"""Slash commands about the session and its conversation: /clear, /resume, /branch, /rewind, /title, /tags, /mode,
/compact, /export, /continue, /add-dir, /plan, /init, /review, /undo and /diff. The prompts of /init and /review are
the Markdown files in this folder."""

from __future__ import annotations

import asyncio
import os.path
from collections.abc import Iterable, Mapping
from pathlib import Path
from time import time
from typing import TYPE_CHECKING, Literal, cast, get_args

from callgate.tui.blocks import NoticeBlock, TableBlock
from callgate.tui.commands import config_of, said, session_of
from callgate.tui.keys import interrupt_key
from callgate.tui.panels.list_panel import ListItem, ListPanel
from callgate.tui.panels.scroll_panel import ScrollPanel
from callgate.tui.port import SessionStart
from callgate.words.errors import CallgateError, UsageError
from callgate.words.events import Event, MessageAdded
from callgate.words.inputs import Compact, Continue, Prompt, Rewind, SetMode, SetTags, SetTitle, Undo, UndoScope
from callgate.words.modes import MODES

if TYPE_CHECKING:
    from callgate import Session
    from callgate.admin.session_changes import PlannedUndo
    from callgate.config import Config
    from callgate.tui.panels.panel_page import PanelPage
    from callgate.tui.port import Terminal


def clear(terminal: Terminal, _text: str) -> None:
    before = session_of(terminal)
    back = f" /resume {before.id} returns to the previous session." if before.id and before.messages else ""
    terminal.change_session(SessionStart(new=True), lambda: said(terminal, f"This is a new session.{back}"))


async def resume(terminal: Terminal, text: str) -> None:
    """Change to the session that the text identifies: an id, the start of an id, or words of a title. Without a
    text, open the list of sessions."""
    from callgate.tui.panels.sessions_panel import pick_session

    current = session_of(terminal).id
    chosen = await asyncio.to_thread(_found, terminal, text) if text else await pick_session(terminal, current)
    if chosen == current:
        said(terminal, "This session is already open here.")
    elif chosen is not None:
        terminal.change_session(SessionStart(resume=chosen))


def _found(terminal: Terminal, text: str) -> str:
    from callgate.admin.sessions import Archive

    config = config_of(terminal)
    return Archive(config.root, config.data).find(text).stem


def branch(terminal: Terminal, _text: str) -> None:
    """Continue the conversation in a copy of this session."""
    session = session_of(terminal)
    if not session.id:
        raise UsageError("This session is not stored (--no-save), so it cannot be copied.")
    if not session.messages:
        raise UsageError("There are no messages to copy yet. /clear starts a new session.")
    back = f"This is a copy. /resume {session.id} returns to the original session."
    terminal.change_session(SessionStart(resume=session.id, fork=True), lambda: said(terminal, back))


async def rewind(terminal: Terminal, _text: str) -> None:
    await open_rewind(terminal)


Shape = Literal["markdown", "html", "ai-sdk"]
_SHAPES: Mapping[str, Shape] = {".md": "markdown", ".html": "html", ".json": "ai-sdk"}
"""Formats of ``callgate session export`` by file suffix."""


async def export(terminal: Terminal, text: str) -> None:
    """Write the session, with secrets masked, to a file. The suffix of the file name selects the format."""
    session, config = session_of(terminal), config_of(terminal)
    if not session.id:
        raise UsageError("This session is not stored (--no-save), so it cannot be exported.")
    path = _place(text or f"callgate-{session.id}.md", config)
    shape = _SHAPES.get(path.suffix)
    if shape is None:
        raise UsageError(
            f"The suffix of the file selects the format: {', '.join(_SHAPES)}, not {path.suffix or 'none'}."
        )
    await session.events_after(session.position)  # wait until all events are on disk
    try:
        await asyncio.to_thread(_write, session, config, path, shape)
    except FileExistsError:
        raise UsageError(f"{path} already exists: choose another name.") from None
    said(terminal, f"Written to {path}. Known secrets are masked; check the file before you share it.")


def _write(session: Session, config: Config, path: Path, shape: Shape) -> None:
    from callgate.admin.sessions import Archive, write_file

    shown = Archive(config.root, config.data).show(session.id)
    write_file(path, shown.written_as(shape).encode(), replace=False)


def _place(text: str, config: Config) -> Path:
    return config.root / os.path.expanduser(text)


def mode(terminal: Terminal, text: str) -> None:
    if not text:
        now = session_of(terminal).mode
        rows = tuple((">" if name == now else "", name, rules.meaning) for name, rules in MODES.items())
        terminal.show(TableBlock(rows, "Modes", note="/mode NAME sets one; Shift+Tab cycles through the usual modes."))
        return
    wanted = text.replace("-", "_").replace(" ", "_").lower()
    for name, rules in MODES.items():
        if name == wanted:
            terminal.post(SetMode(name))
            said(terminal, f"mode {name}: {rules.meaning}")
            return
    raise UsageError(f"Unknown mode {text!r}. Use {', '.join(MODES)}.")


def compact(terminal: Terminal, text: str) -> None:
    said(terminal, f"A summary is being written; {interrupt_key(terminal.keys)} cancels it.")
    terminal.post(Compact(instructions=text))


def title(terminal: Terminal, text: str) -> None:
    if not text:
        now = session_of(terminal).title
        said(terminal, f"The title is: {now}" if now else "The session has no title. /title NAME sets one.")
        return
    terminal.post(SetTitle(" ".join(text.split())))
    said(terminal, f"The title is now {' '.join(text.split())!r}.")


def tags(terminal: Terminal, text: str) -> None:
    if not text:
        now = session_of(terminal).controls.tags
        said(terminal, f"Tags: {', '.join(now)}" if now else "The session has no tags. /tags WORD… sets them.")
        return
    wanted = () if text == "none" else tuple(dict.fromkeys(text.replace(",", " ").split()))
    terminal.post(SetTags(wanted))
    said(terminal, f"Tags: {', '.join(wanted)}" if wanted else "The tags were removed.")


# ---- commands that send a prompt ----------------------------------------------------------------------------------


def init(terminal: Terminal, text: str) -> None:
    more = f"\n\nThe user adds: {text}" if text else ""
    terminal.post(Prompt(_prompt("init") + more))


def review(terminal: Terminal, text: str) -> None:
    """Send the prompt to review a range of commits or the uncommitted changes."""
    place = f"`{text}`" if text else "the working tree (staged, unstaged and new files) against the last commit"
    terminal.post(Prompt(_prompt("review").replace("{range}", place)))


def plan(terminal: Terminal, text: str) -> None:
    """Switch to the plan mode and send the goal, if there is one; ``off`` switches to the default mode."""
    if text == "off":
        terminal.post(SetMode("default"))
        said(terminal, f"mode default: {MODES['default'].meaning}")
        return
    terminal.post(SetMode("plan"))
    if text:
        terminal.post(Prompt(text))
    else:
        said(terminal, f"mode plan: {MODES['plan'].meaning}; /plan off leaves it")


async def add_dir(terminal: Terminal, text: str) -> None:
    """Allow reading in a further folder. The session is opened again with the folder; the conversation continues."""
    session, config = session_of(terminal), config_of(terminal)
    if not text:
        said(terminal, f"Further folders: {', '.join(session.controls.folders) or 'none'}. /add-dir DIR adds one.")
        return
    folder = _place(text, config).resolve()
    if not await asyncio.to_thread(folder.is_dir):
        raise UsageError(f"{folder} is not a folder.")
    if folder.is_relative_to(config.root) or str(folder) in session.controls.folders:
        raise UsageError(f"{folder} can already be read.")
    if session.messages and not session.id:
        raise UsageError("This session is not kept (--no-save), so it cannot be opened again: start with --add-dir.")
    again = session.id if session.messages else ""
    start = SessionStart(resume=again, new=not again, folders=(folder,))
    terminal.change_session(start, lambda: said(terminal, f"Files in {folder} can now be read, but not changed."))


def go_on(terminal: Terminal, _text: str) -> None:
    terminal.post(Continue())


def _prompt(name: str) -> str:
    return Path(__file__).with_name(f"{name}.md").read_text(encoding="utf-8").strip()


_PARTLY = "--partly"


def undo_of(text: str) -> Undo:
    """Parse the arguments of /undo. Raise UsageError if they are invalid."""
    words = text.split()
    partly = _PARTLY in words
    words = [word for word in words if word != _PARTLY]
    if len(words) > 1 or (words and words[0] not in get_args(UndoScope) and not words[0].isdigit()):
        raise UsageError(
            f"/undo accepts turn, call, session or the number of a change (/diff lists them), not {text!r}"
        )
    if words and words[0].isdigit():
        return Undo(change=int(words[0]), partly=partly)
    return Undo(cast(UndoScope, words[0]) if words else "turn", partly=partly)


async def undo(terminal: Terminal, text: str) -> None:
    """Show the changes to undo and ask for confirmation."""
    wanted, session = undo_of(text), session_of(terminal)
    if not session.id:
        terminal.post(wanted)  # the session answers why there is nothing to undo
        return
    if not session.messages:
        said(terminal, "There is no change to undo.")
        return
    from callgate.admin.session_changes import plan_undo

    planned = await asyncio.to_thread(plan_undo, session.id, wanted)
    if planned.found is None:
        said(terminal, planned.missing or "There is no change to undo.")
        return
    terminal.show(_plan(planned, terminal.theme.sign("−", "-")))
    if planned.found.conflicts and not wanted.partly:
        said(terminal, f"/undo {text} {_PARTLY} undoes the rest.".replace("  ", " "))
        return
    items = [ListItem("yes", "Undo these changes"), ListItem("no", "Keep the files unchanged")]

    def chosen(item: ListItem) -> None:
        if item.key == "yes":
            terminal.post(wanted)

    terminal.open_panel(ListPanel(terminal, "Undo", items, chosen))


def _plan(planned: PlannedUndo, minus: str) -> TableBlock:
    assert planned.found is not None
    files = [(each.kind, each.path, f"+{each.added} {minus}{each.removed}") for each in planned.files]
    left = [("not", why, "") for why in planned.found.conflicts]
    others = [("stays", f"{each.tool}: {each.what}", "") for each in planned.others]
    return TableBlock((*files, *left, *others), "Will be undone", note="; ".join(planned.notes))


async def diff(terminal: Terminal, text: str) -> None:
    """Show all changes of this session, or one change, in a panel."""
    session = session_of(terminal)
    if text and not text.isdigit():
        raise UsageError(f"/diff accepts the number of a change, not {text!r:.40}")
    if not session.id:
        raise UsageError("The changes of this session are not stored, so they cannot be shown.")
    from callgate.admin.session_changes import read_changes, read_diff

    if not session.messages:  # the log starts with the first message
        said(terminal, "This session has not changed any file.")
        return
    past = await asyncio.to_thread(read_changes, session.id)
    wanted = [each for each in reversed(past.changes) if not text or each.number == int(text)]
    if not past.changes:
        said(terminal, "This session has not changed any file.")
        return
    if not text:
        rows = tuple((str(each.number), each.state, each.label, each.summary) for each in wanted)
        terminal.show(TableBlock(rows, "Changes", note="/diff N shows one, /undo N undoes it."))
    numbers = [each.number for each in wanted] or [int(text)]
    found = [await asyncio.to_thread(read_diff, past, number) for number in numbers]

    def write(page: PanelPage) -> None:
        for each in found:
            page.rule(f"{each.kept.number} {each.kept.label} ({each.kept.state})")
            page.diff(each.patch)

    title = f"Change {text}" if text else f"{len(found)} change{'s' * (len(found) != 1)} of this session"
    terminal.open_panel(ScrollPanel(terminal, title, write))


# ---- /rewind ---------------------------------------------------------------------------------------------------------

_WAYS = (
    ListItem("conversation", "the conversation only", "files are not changed"),
    ListItem("files", "the conversation and files", "later changes of files are undone"),
    ListItem("fork", "in a copy of this session", "this session is not changed"),
)


def prompts_of(events: Iterable[Event], live: Iterable[str]) -> list[MessageAdded]:
    """Return the user's prompts that are still in the conversation, newest first."""
    ids = set(live)
    added = (each for each in events if isinstance(each, MessageAdded) and each.about is None)
    found = {each.message.id: each for each in added if each.message.role == "user" and each.message.id in ids}
    return [*found.values()][::-1]


def rewind_panel(terminal: Terminal, prompts: list[MessageAdded]) -> ListPanel:
    """Return a list of the earlier prompts. A selected prompt rewinds the conversation to the state before it, and its
    text is inserted into the input line."""
    from callgate.admin.sessions import ago

    by_id, now = {each.message.id: each for each in prompts}, time()

    def ask_how(item: ListItem) -> None:
        def chosen(way: ListItem) -> None:
            terminal.start(go_back(terminal, by_id[item.key], way.key))

        title = f"Rewind to before: {item.title}"
        terminal.open_panel(ListPanel(terminal, title, _WAYS, chosen, closed=lambda: terminal.open_panel(panel)))

    items = [ListItem(name, " ".join(each.message.text.split()), ago(each.at, now)) for name, each in by_id.items()]
    title = "Rewind to before a message"
    panel = ListPanel(terminal, title, items, ask_how, lambda item: by_id[item.key].message.text)
    return panel


async def open_rewind(terminal: Terminal) -> None:
    """Open the list of prompts, or show a notice if there is no prompt."""
    session = terminal.session
    prompts: list[MessageAdded] = []
    if session is not None:
        told = await session.events_after(0)
        prompts = prompts_of((event for _number, event in told), (each.id for each in session.messages))
    if prompts:
        terminal.open_panel(rewind_panel(terminal, prompts))
    else:
        terminal.show(NoticeBlock("There is no message to rewind to yet."))


async def go_back(terminal: Terminal, prompt: MessageAdded, way: str) -> None:
    session = terminal.session
    if session is None:
        return
    if way == "fork":
        terminal.change_session(SessionStart(resume=session.id, fork=True), lambda: _rewind(terminal, prompt))
        return
    if way == "files":
        try:
            numbers = await asyncio.to_thread(changes_after, session.id, prompt.at)
        except (CallgateError, OSError) as error:
            terminal.show(NoticeBlock(f"Nothing was changed: {error}", "error"))
            return
        for number in numbers:
            await session.send(Undo(change=number))
    _rewind(terminal, prompt)


def _rewind(terminal: Terminal, prompt: MessageAdded) -> None:
    terminal.post(Rewind(prompt.message.id))
    terminal.set_input(prompt.message.text)


def changes_after(session: str, at: float) -> list[int]:
    """Return the numbers of the changes applied at or after the time ``at``, newest first. Blocks."""
    from callgate.admin.session_changes import UNDO, read_changes

    found = read_changes(session).changes
    return [each.number for each in found if each.state == "applied" and each.tool != UNDO and each.at >= at]
