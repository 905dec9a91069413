"""Blocks: the elements of a conversation that the terminal shows, one class for each kind."""

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


TYPED = "typed_"
"""The start of the ids of calls that the user typed as ``!command``."""


@noun
class PromptBlock:
    """A message of the user. ``attached`` is the number of images and files in it."""

    id: str
    text: str
    attached: int = 0

    done = True


@noun
class TextBlock:
    """Markdown text of the model.

    done    True if the text is complete
    begun   True if the first lines have been printed and removed from ``text``
    opened  the Markdown state after the removed lines
    """

    id: str
    text: str
    done: bool = False
    begun: bool = False
    opened: Opened = field(default_factory=Opened)


@noun
class ThinkingBlock:
    """Reasoning text of the model, with the times when its first and last chunk arrived."""

    id: str
    text: str
    began: float = 0.0
    ended: float = 0.0
    done: bool = False


@noun
class CallBlock:
    """One call, from its arrival to its result.

    path       the path of the nested session that made the call
    question   the open question about the call
    answered   the outcome of the user's answer; ``note`` is the text of the answer
    index, of  the number of the call in its message, and the number of calls in the message
    arrived    the time when the call arrived
    since      the time when the call entered its status
    output     the end of the output so far
    joined     True if the block before this block is a call too
    cut        True if the program ended while the call ran, and no outcome was recorded
    title      the text of the line, if it is not made of the tool and its arguments
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
    arrived: float = 0.0
    since: float = 0.0
    started: float | None = None
    output: str = ""
    current: float | None = None
    total: float | None = None
    duration_ms: float | None = None
    result: Result | None = None
    joined: bool = False
    cut: bool = False
    title: str = ""

    @property
    def key(self) -> tuple[tuple[str, ...], str]:
        return self.path, self.id

    @property
    def done(self) -> bool:
        return self.status in TERMINAL


ENDED_WORDS: Mapping[Ended, str] = {"applied": "Accepted", "discarded": "Discarded", "lost": "Lost"}
"""The end of a staged action as the screen shows it."""


@noun
class ActionBlock:
    """A staged action that was applied, discarded or lost."""

    id: str
    label: str
    ended: Ended
    reason: str = ""
    by: str = ""

    done = True


@noun
class NoticeBlock:
    """A notice of the session or of a command, such as a retry or a compaction."""

    text: str
    level: Level = "info"

    done = True


@noun
class EndBlock:
    """The end of a run: its reason, time, tokens and cost. ``answered`` is True if the user ended the run by an
    answer."""

    ended: RunEnded
    seconds: float = 0.0
    output_tokens: int = 0
    cost: float | None = None
    answered: bool = False

    @property
    def sentence(self) -> str:
        return "You stopped the run." if self.answered and self.ended.reason == "stopped" else self.ended.sentence

    done = True


@noun
class TableBlock:
    """The table that a command shows.

    heads     the names of the columns
    note      a text below the table
    marks     the styles of the first cells, one for each row
    one_line  cells that are too wide are cut off, not wrapped
    """

    rows: tuple[tuple[str, ...], ...]
    title: str = ""
    heads: tuple[str, ...] = ()
    note: str = ""
    marks: tuple[str, ...] = ()
    one_line: bool = False

    done = True


@noun
class LinesBlock:
    """Lines made of (text, style) pairs. Lines that are wider than the terminal are cut off."""

    lines: tuple[tuple[tuple[str, str], ...], ...]

    done = True


SaidBlock = PromptBlock | TextBlock | ThinkingBlock | CallBlock | ActionBlock | NoticeBlock | EndBlock
Block = SaidBlock | TableBlock | LinesBlock


def text_of(block: Block) -> str:
    """Return the text of a block for the search."""
    match block:
        case PromptBlock() | TextBlock() | ThinkingBlock() | NoticeBlock():
            return block.text
        case CallBlock():
            result = "" if block.result is None else block.result.text
            return "\n".join((block.name, *map(str, block.arguments.values()), block.output, result))
        case ActionBlock():
            return f"{block.label} {block.reason}"
        case EndBlock():
            return block.sentence
        case TableBlock():
            return "\n".join(" ".join(row) for row in (block.heads, *block.rows))
        case LinesBlock():
            return "\n".join("".join(text for text, _style in line) for line in block.lines)
