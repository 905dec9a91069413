"""Blocks: the pieces of a conversation that a terminal shows, in the order in which they are shown."""

from collections.abc import Mapping
from dataclasses import field
from typing import Any, Literal

from callgate.tui.markdown_parts import Opened
from callgate.words.calls import TERMINAL, Result, Status
from callgate.words.decisions import Decision, Question
from callgate.words.events import RunEnded
from callgate.words.noun import nothing, noun
from callgate.words.pending import Ended

Level = Literal["info", "warning", "error"]


@noun
class PromptBlock:
    """A person's message. ``attached`` counts images and files that came with it."""

    id: str
    text: str
    attached: int = 0

    @property
    def done(self) -> bool:
        return True


@noun
class TextBlock:
    """Markdown of the model. ``done``: no more of it will come. ``begun``: its first lines have left it already, in the
    state ``opened``."""

    id: str
    text: str
    done: bool = False
    begun: bool = False
    opened: Opened = field(default_factory=Opened)


@noun
class ThinkingBlock:
    """The reasoning that a model shows."""

    id: str
    text: str
    began: float = 0.0
    ended: float = 0.0
    done: bool = False


@noun
class CallBlock:
    """One call, from its arrival to its result.

    path       the nested agents that it came through
    question   the open question about it
    answered   the outcome of the person's answer, with the person's words in ``note``
    index, of  its number among the calls of its message
    since      the time at which it entered its status
    output     the newest part of the output
    joined     the block before it is a call too
    cut        the program ended while the call ran, and the record has no outcome
    """

    id: str
    name: str
    arguments: Mapping[str, Any] = field(default_factory=nothing)
    message_id: str = ""
    path: tuple[str, ...] = ()
    status: Status = Status.VALIDATING
    decision: Decision | None = None
    question: Question | None = None
    answered: str = ""
    note: str = ""
    index: int = -1
    of: int = 0
    since: float = 0.0
    started: float | None = None
    output: str = ""
    current: float | None = None
    total: float | None = None
    duration_ms: float | None = None
    result: Result | None = None
    joined: bool = False
    cut: bool = False

    @property
    def key(self) -> tuple[tuple[str, ...], str]:
        return self.path, self.id

    @property
    def done(self) -> bool:
        return self.status in TERMINAL


@noun
class ActionBlock:
    """A pending action that was applied, discarded or lost."""

    id: str
    label: str
    ended: Ended
    reason: str = ""
    by: str = ""

    @property
    def done(self) -> bool:
        return True


@noun
class NoticeBlock:
    """A line for people that belongs to no call: a retry, a compaction, a note of the session or of a command."""

    text: str
    level: Level = "info"

    @property
    def done(self) -> bool:
        return True


@noun
class EndBlock:
    """The end of a run: its reason, and what the run took. ``answered``: a person ended it by an answer."""

    ended: RunEnded
    seconds: float = 0.0
    output_tokens: int = 0
    cost: float | None = None
    answered: bool = False

    @property
    def sentence(self) -> str:
        return "You stopped the run." if self.answered and self.ended.reason == "stopped" else self.ended.sentence

    @property
    def done(self) -> bool:
        return True


@noun
class TableBlock:
    """Rows in columns, as commands show them. ``note`` stands below. ``marks`` are styles of the first cells.
    ``one_line``: a row is cut off where the room ends, not wrapped."""

    rows: tuple[tuple[str, ...], ...]
    title: str = ""
    heads: tuple[str, ...] = ()
    note: str = ""
    marks: tuple[str, ...] = ()
    one_line: bool = False

    @property
    def done(self) -> bool:
        return True


@noun
class LinesBlock:
    """Lines of pieces, each a text and its style. Lines that are wider than the terminal are cut off."""

    lines: tuple[tuple[tuple[str, str], ...], ...]

    @property
    def done(self) -> bool:
        return True


Block = (
    PromptBlock | TextBlock | ThinkingBlock | CallBlock | ActionBlock | NoticeBlock | EndBlock | TableBlock | LinesBlock
)
