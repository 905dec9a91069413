"""The input line: a text that is being written, for a prompt or for a question that asks for words."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from prompt_toolkit.buffer import Buffer
from prompt_toolkit.document import Document

if TYPE_CHECKING:
    from callgate.tui.app import TerminalApp

_Done = Callable[[str | None], None]


class Composer:
    """``ask`` borrows the line for another text; what was being written comes back afterwards."""

    def __init__(self, app: TerminalApp) -> None:
        self._app = app
        self.buffer = Buffer(multiline=True)
        self._asking: tuple[str, _Done, str] | None = None

    @property
    def text(self) -> str:
        return self.buffer.text

    @property
    def asks(self) -> bool:
        """True while the line is borrowed."""
        return self._asking is not None

    def prefix(self, number: int, wrapped: int) -> str:
        if number or wrapped:
            return "  "
        return self._app.theme.sign("❯ ", "> ") if self._asking is None else f"{self._asking[0]} "

    def insert(self, text: str) -> None:
        self.buffer.insert_text(text)

    def set_text(self, text: str) -> None:
        self.buffer.set_document(Document(text, len(text)))

    def ask(self, label: str, initial: str, done: _Done) -> None:
        kept = self.buffer.text if self._asking is None else self._asking[2]
        self._asking = (label, done, kept)
        self.set_text(initial)

    def submit(self) -> None:
        text = self.buffer.text
        if self._asking is not None:
            self._end(text)
        elif text.strip():
            self.buffer.reset()
            self._app.submitted(text)

    def give_up(self) -> None:
        if self._asking is None:
            self.buffer.reset()
        else:
            self._end(None)

    def _end(self, text: str | None) -> None:
        assert self._asking is not None
        _label, done, kept = self._asking
        self._asking = None
        self.set_text(kept)
        done(text)
