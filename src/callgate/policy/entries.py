"""The entries of settings files as written: rules, hooks, models, servers, key bindings and faults."""

from dataclasses import dataclass
from pathlib import Path
from typing import Generic, Literal, TypeVar

from callgate.words.decisions import Effect, Origin
from callgate.words.noun import noun

T = TypeVar("T")
Layer = Literal["managed", "user", "project", "local", "command line", "session"]

IN_REPOSITORY: tuple[Layer, ...] = ("project", "local")
"""Layers whose files are inside the repository. They can only make settings stricter."""

REACHES_OUTSIDE: tuple[Layer, ...] = ("managed", "user", "command line")
"""Layers whose rules may allow paths outside the workspace."""


@noun
class RuleLine:
    """A rule as written, such as ``Bash(git log:*)``.

    origin     the file and line of the rule; ``origin.layer`` is a ``Layer``
    match      self-test: contents of calls that the rule must cover
    not_match  self-test: contents of calls that the rule must not cover
    """

    effect: Effect
    text: str
    origin: Origin
    expires_at: float | None = None
    note: str | None = None
    match: tuple[str, ...] = ()
    not_match: tuple[str, ...] = ()


EVENTS: dict[str, str] = {
    "PreToolUse": "before a call runs",
    "PostToolUse": "after a call succeeded",
    "PostToolUseFailure": "after a call failed",
    "PermissionRequest": "before the user is asked",
    "UserPromptSubmit": "when a person sent a prompt",
    "SessionStart": "when a session starts or is resumed",
    "SessionEnd": "when a session ends",
    "Stop": "before the agent stops",
    "SubagentStart": "when a nested agent starts",
    "SubagentStop": "before a nested agent stops",
    "PreCompact": "before the history is compacted",
    "PostCompact": "after the history was compacted",
    "Notification": "when the user is notified",
    "TaskCreated": "when a task was created",
    "TaskCompleted": "when a task was completed",
    "TeammateIdle": "when a teammate is idle",
    "ConfigChange": "when settings changed while a session runs",
}
"""The events for hooks, each with a description of when it is sent."""

HOOK_TIMEOUT = 60.0


@noun
class HookLine:
    """A hook as written.

    target     a command line, ``module:function`` or a URL
    matcher    a regular expression for the whole name of the tool or the whole subject of the event; empty to match all
    condition  a rule that must match the call
    """

    event: str
    kind: Literal["command", "python", "http"]
    target: str
    origin: Origin
    matcher: str = ""
    condition: str = ""
    timeout: float = HOOK_TIMEOUT
    fail_closed: bool = False


@dataclass(frozen=True)
class NamedLine(Generic[T]):
    """A table with a name: the options of a model, or a server."""

    name: str
    value: T
    origin: Origin


@noun
class KeyLine:
    """The keys bound to an action in a context of the terminal. The terminal checks the names of actions and
    contexts."""

    context: str
    action: str
    keys: tuple[str, ...]
    origin: Origin


@noun
class StatusLineSettings:
    """The command that prints the status line of the terminal.

    refresh          seconds between two runs without an event; 0 to run the command only on events
    padding          the number of blank columns to the left of the status line
    from_repository  the command was set by a file of a trusted folder
    """

    command: str | None = None
    refresh: float = 0.0
    padding: int = 0
    from_repository: bool = False


@noun
class SettingsFile:
    """The path of a settings file, which may not exist."""

    layer: Layer
    path: Path


@noun
class SettingsFault:
    """An error in a settings file: its description, its position, and how to correct it."""

    text: str
    origin: Origin

    def __str__(self) -> str:
        line = f":{self.origin.line}" if self.origin.line else ""
        return f"{self.origin.file or self.origin.layer}{line}: {self.text}"
