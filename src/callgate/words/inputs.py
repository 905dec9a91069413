"""The inputs that a door may send into a session. Imperatives; the session answers with events."""

from typing import Any, Literal

from callgate.words.decisions import Confirmation
from callgate.words.messages import Part, Text
from callgate.words.model import RunOptions, WantedEffort
from callgate.words.modes import Mode
from callgate.words.noun import noun
from callgate.words.pending import ResolveAction


@noun
class Prompt:
    """A person's message; while the agent works it waits for the end. ``options`` hold until its run has ended."""

    content: str | tuple[Part, ...]
    options: RunOptions | None = None

    @property
    def parts(self) -> tuple[Part, ...]:
        return (Text(self.content),) if isinstance(self.content, str) else tuple(self.content)


@noun
class EditPrompt:
    """Put another text in place of a prompt that waits; PromptQueued gave its id."""

    id: str
    content: str | tuple[Part, ...]

    @property
    def parts(self) -> tuple[Part, ...]:
        return Prompt(self.content).parts


@noun
class WithdrawPrompt:
    """Take back a prompt that waits; PromptQueued gave its id."""

    id: str


@noun
class Steer:
    """Typed while the agent works: delivered after the current calls."""

    text: str


@noun
class Interrupt:
    """Stop now: running calls are cancelled, the others never start, the history stays valid."""

    reason: str = ""


@noun
class CancelCall:
    """Stop one call of the message under way; the others go on."""

    call_id: str
    reason: str = ""


@noun
class Continue:
    """Go on with a turn that was left unfinished."""


@noun
class Answer:
    """Answers an open question: ``Answer(question.yes())``."""

    confirmation: Confirmation


@noun
class Resolve:
    """Apply or discard what was staged: the newest, or the one with this id. ``extra`` goes to its staging tool; for a
    change of files, ``{"files": [paths]}`` applies these alone and drops the others."""

    action: ResolveAction
    reason: str
    id: str | None = None
    extra: Any = None


@noun
class SetMode:
    mode: Mode


@noun
class SetModel:
    model: str


@noun
class SetEffort:
    """Change how much work the model puts into its answers, from the next request on; ``auto`` leaves that to it."""

    effort: WantedEffort


@noun
class Compact:
    """Put a summary in place of the older history; the last ``keep`` messages stay as they are."""

    instructions: str = ""
    keep: int = 0


@noun
class Rewind:
    """Go back to just before the given message."""

    message_id: str


@noun
class Branch:
    """Go on right after the given message, also one on a branch that was left by an earlier Rewind."""

    message_id: str


@noun
class Snip:
    """Take messages out of what the model sees; a call and its result go together."""

    message_ids: tuple[str, ...]


@noun
class Trim:
    """Cut results of more than ``over`` characters down to their head and tail in what the model sees, for good; the
    last ``keep`` messages stay as they are."""

    over: int = 2_000
    keep: int = 10


@noun
class SetTitle:
    title: str


@noun
class SetTags:
    tags: tuple[str, ...]


@noun
class MoveToBackground:
    """Let a command that runs go on in the background, the same process: its call ends with the id of the task.
    Without ``call_id``: every command that can."""

    call_id: str | None = None


UndoScope = Literal["call", "turn", "session"]


@noun
class Undo:
    """Take back what calls did to files: the newest change, all of its turn, or all of the session; or the ``change``
    of this number. ``partly``: also if some of it cannot be, because others have changed the files since."""

    scope: UndoScope = "turn"
    change: int | None = None
    partly: bool = False


@noun
class Close:
    """End the session. Its pending actions are kept for a later resume. ``pending`` is ``discard`` if the session is
    left for another one."""

    reason: str = ""
    pending: Literal["keep", "discard"] = "keep"


Input = (
    Prompt
    | EditPrompt
    | WithdrawPrompt
    | Steer
    | Interrupt
    | CancelCall
    | Continue
    | Answer
    | Resolve
    | SetMode
    | SetModel
    | SetEffort
    | SetTitle
    | SetTags
    | Compact
    | Rewind
    | Branch
    | Snip
    | Trim
    | Undo
    | MoveToBackground
    | Close
)
