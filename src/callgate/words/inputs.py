"""The inputs that a program sends to a session, which answers with events. Names are imperatives."""

from typing import Any, Literal

from callgate.words.decisions import Confirmation
from callgate.words.messages import Part, Text
from callgate.words.model import RunOptions, WantedEffort
from callgate.words.modes import Mode
from callgate.words.noun import noun
from callgate.words.pending import ResolveAction


@noun
class Prompt:
    """A message of a person. It is queued while the agent works. ``options`` apply to its run."""

    content: str | tuple[Part, ...]
    options: RunOptions | None = None

    @property
    def parts(self) -> tuple[Part, ...]:
        return (Text(self.content),) if isinstance(self.content, str) else tuple(self.content)


@noun
class EditPrompt:
    """Replace the text of a queued prompt. ``id`` is the id in PromptQueued."""

    id: str
    content: str | tuple[Part, ...]

    @property
    def parts(self) -> tuple[Part, ...]:
        return Prompt(self.content).parts


@noun
class WithdrawPrompt:
    """Remove a queued prompt. ``id`` is the id in PromptQueued."""

    id: str


@noun
class Steer:
    """A message to the working agent: it is delivered after the current calls."""

    text: str


@noun
class Interrupt:
    """Stop now: running calls are cancelled, and the others do not start."""

    reason: str = ""


@noun
class CancelCall:
    """Cancel one call of the current message."""

    call_id: str
    reason: str = ""


@noun
class Continue:
    """Resume an unfinished turn, or a run that ended or paused."""


@noun
class Answer:
    """Answer an open question: ``Answer(question.yes())``."""

    confirmation: Confirmation


@noun
class Resolve:
    """Apply or discard a staged action: the newest one, or the action with this id.

    extra  passed to the staging tool. For a change of files, ``{"files": [paths]}`` applies only these
    """

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
    """Set the effort level of the next requests. ``auto``: the default of the model."""

    effort: WantedEffort


@noun
class Compact:
    """Replace the history by a summary, except the last ``keep`` messages."""

    instructions: str = ""
    keep: int = 0


@noun
class Rewind:
    """Continue from just before the given message."""

    message_id: str


@noun
class Branch:
    """Continue right after the given message, which may be on a branch that an earlier Rewind left."""

    message_id: str


@noun
class Snip:
    """Hide messages from the model; a call and its result are hidden together."""

    message_ids: tuple[str, ...]


@noun
class Trim:
    """Cut results that are longer than ``over`` characters to their head and tail for the model, permanently. The last
    ``keep`` messages are not cut."""

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
    """Continue a running command in the background: its call ends with the id of the task. Without ``call_id``: every
    command that supports it."""

    call_id: str | None = None


UndoScope = Literal["call", "turn", "session"]


@noun
class Undo:
    """Revert changes of files: the newest call, its turn, or the whole session; or the ``change`` with this number.

    partly  revert the other files if some of them were changed since
    """

    scope: UndoScope = "turn"
    change: int | None = None
    partly: bool = False


@noun
class Close:
    """End the session. Pending actions are kept for a resume, or discarded."""

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
