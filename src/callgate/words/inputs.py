"""What a door may send into a session. Imperatives; the session answers with events."""

from dataclasses import dataclass

from callgate.words.decisions import Confirmation, Mode
from callgate.words.messages import Part, Text


@dataclass(frozen=True, slots=True)
class Prompt:
    """A person's message; while the agent works it waits for the end."""

    content: str | tuple[Part, ...]

    @property
    def parts(self) -> tuple[Part, ...]:
        return (Text(self.content),) if isinstance(self.content, str) else self.content


@dataclass(frozen=True, slots=True)
class Steer:
    """Typed while the agent works: delivered after the current calls."""

    text: str


@dataclass(frozen=True, slots=True)
class Interrupt:
    """Stop now: running calls are cancelled, the others never start, the history stays valid."""

    reason: str = ""


@dataclass(frozen=True, slots=True)
class Continue:
    """Go on with a turn that was left unfinished."""


@dataclass(frozen=True, slots=True)
class Answer:
    confirmation: Confirmation


@dataclass(frozen=True, slots=True)
class Resolve:
    action: str
    reason: str
    id: str | None = None


@dataclass(frozen=True, slots=True)
class SetMode:
    mode: Mode


@dataclass(frozen=True, slots=True)
class SetModel:
    model: str


@dataclass(frozen=True, slots=True)
class Compact:
    instructions: str = ""


@dataclass(frozen=True, slots=True)
class Rewind:
    """Go back to just before the given message."""

    message_id: str


@dataclass(frozen=True, slots=True)
class Undo:
    scope: str = "turn"


@dataclass(frozen=True, slots=True)
class Close:
    reason: str = ""


Input = Prompt | Steer | Interrupt | Continue | Answer | Resolve | SetMode | SetModel | Compact | Rewind | Undo | Close
