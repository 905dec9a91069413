"""The inputs that a program sends to a session. The session responds with events. Names are imperatives."""

from dataclasses import dataclass
from typing import Any, Literal

from callgate.words.decisions import Confirmation
from callgate.words.errors import UsageError
from callgate.words.messages import Part, Text
from callgate.words.model import RunOptions, WantedEffort
from callgate.words.modes import Mode
from callgate.words.noun import noun
from callgate.words.pending import ResolveAction


@noun
class Prompt:
    """Send a message of the user. While the agent works, the message is queued. ``options`` apply to the run of the
    message."""

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
    """Send a message to the working agent. It is delivered after the current calls."""

    text: str


@noun
class Interrupt:
    """Cancel the running calls, do not start the others, and end the run."""

    reason: str = ""


@noun
class CancelCall:
    """Cancel one call of the current message."""

    call_id: str
    reason: str = ""


@noun
class Continue:
    """Resume an unfinished turn, or a run that ended or paused."""


@dataclass(frozen=True, slots=True)
class Answer:
    """Answer an open question: ``Answer(question.yes())`` or ``Answer(question.no("reason"))``. Raise UsageError if
    ``confirmation`` is not a Confirmation, for example the question."""

    confirmation: Confirmation

    def __post_init__(self) -> None:
        if not isinstance(self.confirmation, Confirmation):  # pyright: ignore[reportUnnecessaryIsInstance]
            given = type(self.confirmation).__name__
            raise UsageError(
                f'Answer takes a decision, not a {given}: Answer(question.yes()) or Answer(question.no("reason"))'
            )


@noun
class Resolve:
    """Apply or discard a staged action: the action with this id, or the newest action.

    extra  passed to the staging tool. For a change of files, ``{"files": [paths]}`` applies only the changes of these
           files
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
    """Set the effort level of later requests. ``auto`` is the default of the model."""

    effort: WantedEffort


@noun
class Compact:
    """Replace the history by a summary. The last ``keep`` messages are kept."""

    instructions: str = ""
    keep: int = 0


@noun
class Rewind:
    """Continue from just before the given message."""

    message_id: str


@noun
class Branch:
    """Continue after the given message, which may be on a branch that an earlier Rewind abandoned."""

    message_id: str


@noun
class Snip:
    """Hide messages from the model; a call and its result are hidden together."""

    message_ids: tuple[str, ...]


@noun
class Trim:
    """Shorten results of more than ``over`` characters to head and tail in all later requests.

    Results in the last ``keep`` messages are not shortened. The change is permanent.
    """

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
    """Continue a running command in the background. The result of its call is the id of the task.

    call_id  the call of the command; by default all commands that support it are moved
    """

    call_id: str | None = None


UndoScope = Literal["call", "turn", "session"]


@noun
class Undo:
    """Revert changes of files: the changes of the newest call, of its turn, or of the whole session; or the change with
    the number ``change``.

    partly  if some of the files were changed again, revert only the other files
    """

    scope: UndoScope = "turn"
    change: int | None = None
    partly: bool = False


@noun
class Close:
    """End the session. Pending actions are kept for a resumed session, or discarded."""

    reason: str = ""
    pending: Literal["keep", "discard"] = "keep"


_ToAgent = Prompt | EditPrompt | WithdrawPrompt | Steer | Interrupt | CancelCall | Continue | Answer | Resolve
_ToHistory = Compact | Rewind | Branch | Snip | Trim | Undo
_ToSession = SetMode | SetModel | SetEffort | SetTitle | SetTags | MoveToBackground | Close
Input = _ToAgent | _ToHistory | _ToSession
