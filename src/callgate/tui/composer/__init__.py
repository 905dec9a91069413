"""The input line, in which the user edits a prompt or a text for a panel or command.

attachments     long pasted texts and images, each stored as one character of the text; ``@path`` and paths of images
candidates      the completion list; ``completion_sources`` and ``local_files`` find its entries
recall          earlier prompts; ``prompt_history`` stores them
hints           the lines above and below the input line
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from prompt_toolkit.buffer import Buffer
from prompt_toolkit.document import Document

from callgate.formats.columns import width as width_of
from callgate.tui.blocks import CallBlock, NoticeBlock, PromptBlock
from callgate.tui.composer.attachments import (
    Attachments,
    Picture,
    clean,
    dropped_images,
    image_paths,
    mention_at,
    strip_marks,
)
from callgate.tui.composer.candidates import CandidateList, candidates_at, searched
from callgate.tui.composer.completion_sources import CompletionSources
from callgate.tui.composer.hints import FIRST_HINT, enter_hint, typed_line, waiting_lines
from callgate.tui.composer.recall import Recall, RecalledPrompt
from callgate.words.errors import CallgateError
from callgate.words.inputs import EditPrompt, Input, Prompt, Steer, WithdrawPrompt
from callgate.words.messages import Image

if TYPE_CHECKING:
    from callgate.config import Config
    from callgate.tui.composer.prompt_history import PromptHistory
    from callgate.tui.port import Terminal

_Done = Callable[[str | None], None]


class Composer:
    """The input line. ``ask`` replaces the user's draft by another text until the user has answered, then restores
    the draft."""

    def __init__(self, terminal: Terminal) -> None:
        self._terminal = terminal
        self.attachments = Attachments()
        self.buffer = Buffer(on_text_changed=lambda _buffer: self._look(), on_cursor_position_changed=self._moved)
        self.list: CandidateList | None = None
        self._asking: tuple[str, _Done, Document] | None = None
        self._searching: Document | None = None
        self._closed_at: int | None = None
        self._edited: str | None = None
        self._recall = Recall()
        self._history: PromptHistory | None = None
        self._unkept: list[RecalledPrompt] = []
        self._sources = CompletionSources(terminal.start, self._root, self._look)

    # ---- the text -----------------------------------------------------------------------------------------------

    @property
    def text(self) -> str:
        return self.buffer.text

    @property
    def asks(self) -> bool:
        """True while the user edits a text that ``ask`` requested."""
        return self._asking is not None

    @property
    def borrowed(self) -> bool:
        """True while the input line contains a text that is not a new prompt: an answer, a search or a queued
        message."""
        return self._asking is not None or self._searching is not None or self._edited is not None

    def prefix(self, number: int, wrapped: int) -> str:
        if number or wrapped:
            return "  "
        if self._searching is not None:
            return "search: "
        return self._terminal.theme.sign("❯ ", "> ") if self._asking is None else f"{self._asking[0]} "

    def insert(self, text: str) -> None:
        self.buffer.insert_text(text)

    def set_text(self, text: str) -> None:
        self.buffer.set_document(Document(text, len(text)))

    def ask(self, label: str, initial: str, done: _Done) -> None:
        kept = self.buffer.document if self._asking is None else self._asking[2]
        self._asking = (label, done, kept)
        self.set_text(initial)

    def newline(self) -> None:
        self.buffer.newline(copy_margin=False)

    def paste(self, text: str) -> None:
        """Insert pasted text. A long text becomes an attachment, and paths of images become images."""
        text = clean(text)
        if self._asking is not None or self._searching is not None:
            self.insert(text)
            return
        paths = dropped_images(text)
        marks = [self._picture(path) for path in paths]
        if marks and all(marks):
            self.insert(" ".join(marks) + " ")
        else:
            self.insert(self.attachments.paste(text))

    def paste_clipboard(self) -> None:
        async def take() -> None:
            from callgate.tui.composer.local_files import clipboard_picture

            try:
                image = await asyncio.to_thread(clipboard_picture)
            except CallgateError as error:
                self._terminal.show(NoticeBlock(str(error), "warning"))
                return
            self.insert(self.attachments.picture("clipboard", image))
            self._terminal.redraw()

        self._terminal.start(take())

    async def edit(self) -> None:
        """Edit the text in $EDITOR, with pasted texts expanded. Images keep their positions."""
        text = self.attachments.unfolded(self.text)
        edited = await self._terminal.edit_text(text)
        if edited is None:
            self._terminal.show(
                NoticeBlock("The editor failed; the message is unchanged. Check $VISUAL and $EDITOR.", "warning")
            )
        else:
            self.set_text(strip_marks(edited.rstrip("\n"), keep=self.text))
        self._terminal.redraw()

    # ---- sending ------------------------------------------------------------------------------------------------

    def submit(self, *, later: bool = False) -> None:
        """Send the text. If ``later`` is True, queue it until the agent is done; otherwise it is sent after the
        current step."""
        text = self.buffer.text
        if self._searching is not None:
            self.choose("accept")
        elif self._asking is not None:
            self._end(text)
        elif text.endswith("\\") and self.buffer.document.is_cursor_at_the_end:
            self.buffer.delete_before_cursor()
            self.newline()
        elif self._edited is not None:
            self._put_back(text)
        elif text.strip():
            self._remember(text)
            self._empty()
            if not self._ran_command(self.attachments.unfolded(text)):
                self._terminal.post(self._input(text, later))

    def _ran_command(self, text: str) -> bool:
        from callgate.tui.commands import is_command, run_command, run_shell

        if text.startswith("!"):
            run_shell(self._terminal, text)
        elif is_command(text):
            self._terminal.show(typed_line(self._terminal.theme, text))
            run_command(self._terminal, text)
        return text.startswith("!") or is_command(text)

    def _input(self, text: str, later: bool) -> Input:
        content = self.attachments.parts(text.strip(), self._typed_images(text))
        steers = self._terminal.fold.status == "working" and not later
        return Steer(content) if steers and isinstance(content, str) else Prompt(content)

    def _put_back(self, text: str) -> None:
        """Replace the queued message by the edited text. If the message was delivered during the edit, send the text
        as a new message."""
        waiting, self._edited = self._edited, None
        self._empty()
        if waiting in self._terminal.fold.waiting:
            content = self.attachments.parts(text.strip(), self._typed_images(text))
            self._terminal.post(EditPrompt(waiting, content) if text.strip() else WithdrawPrompt(waiting))
        elif text.strip():
            self._terminal.post(self._input(text, later=False))

    def give_up(self) -> None:
        """Clear the line, or end a search or question."""
        if self._searching is not None:
            self._leave_search()
        elif self._asking is not None:
            self._end(None)
        else:
            self._edited = None
            self._recall.reset()
            self._empty()

    def _empty(self) -> None:
        self.buffer.reset()  # does not call on_text_changed
        self.list = self._closed_at = None

    def _end(self, text: str | None) -> None:
        assert self._asking is not None
        _label, done, kept = self._asking
        self._asking = None
        self.buffer.set_document(kept)
        done(text)

    # ---- images -------------------------------------------------------------------------------------------------

    def _picture(self, path: str) -> str:
        """Attach the image and return its placeholder, or an empty string if the file is not an image."""
        image = self._read_image(path)
        return "" if image is None else self.attachments.picture(Path(path).name, image, path)

    def _typed_images(self, text: str) -> list[Image]:
        """Return the images whose paths are words of the text. The text is not changed."""
        return [image for path in image_paths(text) if (image := self._read_image(path)) is not None]

    def _read_image(self, path: str) -> Image | None:
        from callgate.tui.composer.local_files import read_picture

        try:
            return read_picture(self._root() / Path(path).expanduser())
        except (CallgateError, RuntimeError) as error:
            self._terminal.show(NoticeBlock(str(error), "warning"))
            return None

    # ---- earlier messages ---------------------------------------------------------------------------------------

    def configure(self, config: Config) -> None:
        """Read the prompt history at the first call, then store the prompts that were sent before the history was
        read."""
        if self._history is not None:
            return

        async def read() -> None:
            from callgate.tui.composer.prompt_history import PromptHistory

            self._history = PromptHistory(config.data, config.root)
            self._recall.load(await asyncio.to_thread(self._history.prompts))
            for each in self._unkept:
                self._keep(each)
            self._unkept.clear()

        self._terminal.start(read())

    def _remember(self, text: str) -> None:
        entry = RecalledPrompt(*self.attachments.kept(text))
        if self._recall.add(entry):
            self._keep(entry)

    def _keep(self, entry: RecalledPrompt) -> None:
        if self._history is None:
            self._unkept.append(entry)
        else:
            self._terminal.start(asyncio.to_thread(self._history.add, entry))

    def up(self) -> None:
        """Move the cursor to the line above. On the first line, recall a queued message or an earlier prompt."""
        if self.buffer.document.cursor_position_row:
            self.buffer.cursor_up()
        elif self._take_back():
            return
        elif (entry := self._recall.older(self.text)) is not None:
            self._show_entry(entry)

    def down(self) -> None:
        document = self.buffer.document
        if document.cursor_position_row < document.line_count - 1:
            self.buffer.cursor_down()
        elif (entry := self._recall.newer()) is not None:
            if isinstance(entry, str):
                self.set_text(entry)
            else:
                self._show_entry(entry)

    def _take_back(self) -> bool:
        """Edit the newest queued message; repeated calls edit older messages. Return False if no message is edited."""
        waiting = [*self._terminal.fold.waiting]
        if self._edited in waiting:
            waiting = waiting[: waiting.index(self._edited)]
        elif self.text:
            return False
        if not waiting:
            return self._edited is not None
        self._edited = waiting[-1]
        self.set_text(self.attachments.taken_back(self._terminal.fold.waiting[self._edited].parts))
        return True

    def _show_entry(self, entry: RecalledPrompt) -> None:
        self._closed_at = 0  # a recalled command opens no list
        self.set_text(self.attachments.restored(entry.text, entry.pasted))

    def search(self) -> None:
        if self._searching is None and self._asking is None:
            self._searching = self.buffer.document
            self._look()

    def _leave_search(self) -> None:
        assert self._searching is not None
        kept, self._searching, self.list = self._searching, None, None
        self.buffer.set_document(kept)

    # ---- the list below the line --------------------------------------------------------------------------------

    def choose(self, action: str) -> None:
        if action == "close":
            self._closed_at = None if self.list is None else self.list.start
            self.list = None
            if self._searching is not None:
                self._leave_search()
        elif action in ("accept", "complete"):
            self._accept(sends=action == "accept")
        elif self.list is not None:
            self.list.move(1 if action == "next" else -1)

    def _accept(self, *, sends: bool) -> None:
        """Insert the selected entry. If ``sends`` is True, submit the line when the entry was typed in full or is a
        command without arguments."""
        if self.list is None:
            if self._searching is not None:
                self._leave_search()
            return
        found, marked = self.list, self.list.marked
        self.list = None
        if sends and not found.is_moved and self._is_whole(found):
            self.submit()
            return
        if marked.entry is not None:
            self._searching = None
            self._show_entry(marked.entry)
            return
        typed = self.text[found.start : self.buffer.cursor_position]
        if found.kind == "files" and not marked.text.rstrip('"').endswith(("/", ":")):
            after = self._picture(marked.shown) if image_paths(marked.text) else ""
            self._replace(found.start, (after or marked.text) + " ")
            if sends and typed == marked.text:
                self.submit()
        elif found.kind == "files":
            self._replace(found.start, marked.text)
        else:
            self._replace(found.start, marked.text)
            whole = typed == marked.text.rstrip() or not marked.text.endswith(" ")
            if sends and found.kind == "commands" and whole:
                self.submit()

    def _is_whole(self, found: CandidateList) -> bool:
        """Return True if the typed command is complete, so that no entry of the completion list is needed."""
        from callgate.tui.commands import find_command

        typed = self.text[found.start : self.buffer.cursor_position]
        if found.kind == "commands":
            return find_command(self._terminal, typed[1:]) is not None
        return found.kind == "words" and not typed

    def _replace(self, start: int, text: str) -> None:
        rest = self.text[self.buffer.cursor_position :]
        text = text.rstrip() if rest[:1].isspace() else text
        before = self.text[:start] + text
        self.buffer.set_document(Document(before + rest, len(before)))

    def _moved(self, _buffer: Buffer) -> None:
        if self.list is not None and self.list.kind != "history" and self.buffer.cursor_position < self.list.start:
            self.list = None

    def _look(self) -> None:
        if self._searching is not None:
            self.list = searched(self._recall, self.text)
        elif self._asking is not None or not self.text:
            self.list = self._closed_at = None
        else:
            self.list = candidates_at(self._terminal, self._sources, self.text, self.buffer.cursor_position)
            if self.list is None:
                self._closed_at = None
            elif self.list.start == self._closed_at:
                self.list = None
        self._terminal.redraw()

    # ---- the lines around ---------------------------------------------------------------------------------------

    def above(self, width: int) -> list[str]:
        return waiting_lines(self._terminal.fold, self._terminal.theme, width, self._edited)

    def rows(self, width: int, most: int) -> int:
        """Return the number of screen rows for the input line and the lines above and below it."""
        shown = self.attachments.labelled(self.text).split("\n")
        own = sum((width_of(line) + 2) // max(width, 1) + 1 for line in shown[:most])
        return min(own, most) + len(self.above(width)) + len(self.below(width))

    def below(self, width: int) -> list[str]:
        """Return the lines below the input line: the completion list, or a hint."""
        theme = self._terminal.theme
        if self.list is not None:
            lines = self.list.lines(theme, width)
            left = len(self.list.candidates) - len(lines)
            more = theme.paint(f" {theme.sign('…', '...')} {left:,} more", "grey")
            return [*lines, more] if left else lines
        hint = self._hint()
        return (
            [theme.paint(f"  {hint if theme.unicode else hint.replace('·', '-')}"[: width - 1], "grey")] if hint else []
        )

    def _hint(self) -> str:
        if self._searching is not None:
            return "no earlier message contains this text · Esc: back"
        if self._asking is not None:
            return "Enter: send · Esc: cancel"
        if self._edited is not None:
            return enter_hint(self._terminal.fold, images=False, editing=self._edited in self._terminal.fold.waiting)
        text = self.text
        if self._sources.lists_files and mention_at(text[: self.buffer.cursor_position]):
            return "reading file names"
        if text.startswith("/") and "/" not in text[1:].partition(" ")[0]:
            return self._command_hint(text)
        if text.startswith("!"):
            return "Enter: run the command; the model gets the output with your next message"
        pictures = any(isinstance(each, Picture) for each in self.attachments.within(text)) or bool(image_paths(text))
        if not text and not any(isinstance(each, PromptBlock | CallBlock) for each in self._terminal.fold.blocks):
            return FIRST_HINT
        return enter_hint(self._terminal.fold, images=pictures, editing=False) if text.strip() else ""

    def _command_hint(self, text: str) -> str:
        from callgate.tui.commands import find_command

        found = find_command(self._terminal, text[1:].partition(" ")[0])
        return "" if found is None else f"{found.form}  {found.help}"

    def _root(self) -> Path:
        return Path.cwd() if self._terminal.config is None else self._terminal.config.root
