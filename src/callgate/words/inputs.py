"""What a door may send into a session. Imperatives; the session answers with events."""

from callgate.words.decisions import Confirmation, Mode
from callgate.words.messages import Part, Text
from callgate.words.noun import noun


@noun
class Prompt:
    """A person's message; while the agent works it waits for the end."""

    content: str | tuple[Part, ...]

    @property
    def parts(self) -> tuple[Part, ...]:
        return (Text(self.content),) if isinstance(self.content, str) else self.content


@noun
class Steer:
    """Typed while the agent works: delivered after the current calls."""

    text: str


@noun
class Interrupt:
    """Stop now: running calls are cancelled, the others never start, the history stays valid."""

    reason: str = ""


@noun
class Continue:
    """Go on with a turn that was left unfinished."""


@noun
class Answer:
    confirmation: Confirmation


@noun
class Resolve:
    action: str
    reason: str
    id: str | None = None


@noun
class SetMode:
    mode: Mode


@noun
class SetModel:
    model: str


@noun
class Compact:
    instructions: str = ""


@noun
class Rewind:
    """Go back to just before the given message."""

    message_id: str


@noun
class Undo:
    scope: str = "turn"


@noun
class Close:
    reason: str = ""


Input = Prompt | Steer | Interrupt | Continue | Answer | Resolve | SetMode | SetModel | Compact | Rewind | Undo | Close
