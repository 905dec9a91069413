"""Entries of settings files as they are written: rules, hooks and faults."""

from pathlib import Path
from typing import Literal

from callgate.words.decisions import Effect, Origin
from callgate.words.model import RequestOptions, ServerSettings
from callgate.words.noun import noun

Layer = Literal["managed", "user", "project", "local", "command line", "session"]

IN_REPOSITORY: tuple[Layer, ...] = ("project", "local")
"""Layers whose files are inside the repository: they can only tighten."""

REACHES_OUTSIDE: tuple[Layer, ...] = ("managed", "user", "command line")
"""Layers whose rules may allow paths outside the workspace."""


@noun
class RuleLine:
    """A rule as written, such as ``Bash(git log:*)``. ``match`` and ``not_match`` are its self-tests: contents of calls
    that it must cover, and must not. ``origin.layer`` is one of Layer."""

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
    "PermissionRequest": "when a question is about to be put to a person",
    "UserPromptSubmit": "when a person sent a prompt",
    "SessionStart": "when a session starts or is resumed",
    "SessionEnd": "when a session ends",
    "Stop": "when the agent is about to stop",
    "SubagentStart": "when a nested agent starts",
    "SubagentStop": "when a nested agent is about to stop",
    "PreCompact": "before the history is compacted",
    "PostCompact": "after the history was compacted",
    "Notification": "when a person is told something",
    "TaskCreated": "when a task was created",
    "TaskCompleted": "when a task was completed",
    "TeammateIdle": "when a teammate has nothing to do",
    "ConfigChange": "when settings changed while a session runs",
}
"""Events that hooks can be for, with the moment each one means."""

HookKind = Literal["command", "python", "http"]
HOOK_TIMEOUT = 60.0


@noun
class HookLine:
    """A hook as written. ``target`` is a command line, ``module:function``, or an address. ``matcher`` is an anchored
    regular expression on the tool's name (or the event's own subject), empty for all; ``condition`` a rule that must
    cover the call."""

    event: str
    kind: HookKind
    target: str
    origin: Origin
    matcher: str = ""
    condition: str = ""
    timeout: float = HOOK_TIMEOUT
    fail_closed: bool = False


@noun
class OptionsLine:
    """The options of one model, as written."""

    model: str
    options: RequestOptions
    origin: Origin


@noun
class ServerLine:
    """The settings of one server of models, as written."""

    name: str
    server: ServerSettings
    origin: Origin


@noun
class KeyLine:
    """Other keys for an action of the terminal, in one of its contexts. Which there are is known to the terminal."""

    context: str
    action: str
    keys: tuple[str, ...]
    origin: Origin


@noun
class StatusLineSettings:
    """The command line that prints the terminal's status line; ``refresh`` are the seconds between two runs without an
    event, 0 for none, ``padding`` the blank columns at its left. ``from_repository``: a trusted folder has set it."""

    command: str | None = None
    refresh: float = 0.0
    padding: int = 0
    from_repository: bool = False


@noun
class SettingsFile:
    """The place of a settings file, whether it is there or not."""

    layer: Layer
    path: Path


@noun
class SettingsFault:
    """Something wrong with a settings file, for a person: what, where, and what to do."""

    text: str
    origin: Origin

    def __str__(self) -> str:
        return (
            f"{self.origin.file or self.origin.layer}{f':{self.origin.line}' if self.origin.line else ''}: {self.text}"
        )
