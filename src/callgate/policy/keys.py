"""The table of all settings, and how each kind of value is read."""

import math
import re
import warnings
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, date, datetime
from typing import Any, cast

from callgate.host.environment import secret
from callgate.policy.entries import HOOK_TIMEOUT
from callgate.words.late_pattern import late_pattern
from callgate.words.limits import LARGEST_COUNT, ExecutorSettings, LoopLimits
from callgate.words.model import EFFORTS
from callgate.words.modes import MODES
from callgate.words.noun import noun
from callgate.words.tool_search import percent_of


@noun
class Key:
    """A setting: its name, where ``*`` stands for any name, its kind, and what it means."""

    name: str
    kind: str
    meaning: str

    @property
    def type(self) -> str:
        """Its kind in words."""
        return KINDS[self.kind]


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

_CALLS, _LOOP = ExecutorSettings(), LoopLimits()
DEFAULTS: dict[str, str | int | float | tuple[str, ...] | None] = {
    "mode": "default",
    "questions.deadline": _CALLS.patience,
    "questions.notify": None,
    "limits.denials_in_a_row": _LOOP.denials_in_a_row,
    "limits.denials_in_session": _LOOP.denials,
    "limits.max_concurrency": _CALLS.max_concurrency,
    "limits.max_turns": _LOOP.max_turns,
    "limits.max_output_tokens": _LOOP.max_output_tokens,
    "limits.max_seconds": _LOOP.max_seconds,
    "limits.max_cost": _LOOP.max_cost,
    "limits.warn_cost": _LOOP.warn_cost,
    "limits.background_after": None,
    "sandbox.auto_allow": True,
    "sandbox.allow_hosts": (),
    "models.default": None,
    "models.cheap": None,
    "models.fallback": None,
    "models.effort": None,
    "session.compact": True,
    "session.title": True,
    "tools.search": "on",
    "mcp.connect_timeout": 30.0,
    "mcp.call_timeout": 600.0,
    "tui.editing": "emacs",
    "statusline.command": None,
    "statusline.refresh": 0.0,
    "statusline.padding": 0,
    "tui.theme": "auto",
    "tui.view": "inline",
}
"""The values that count where none is set; None is no limit."""

_OWN = "Ignored in files of a repository, as all of this table is."
_KEYS: tuple[Key, ...] = (
    Key("mode", "mode", "How calls are judged that no rule speaks of."),
    Key("permissions.allow", "rules", "Calls that run without a question. Ignored in files of a repository."),
    Key("permissions.ask", "rules", "Calls that are always put to a person."),
    Key("permissions.deny", "rules", "Calls that never run; nothing overrides it."),
    Key("permissions.*.rule", "text", "The rule itself, where it is written as a table."),
    Key("permissions.*.match", "texts", "Contents that the rule must cover: a self-test."),
    Key("permissions.*.not_match", "texts", "Contents that the rule must not cover: a self-test."),
    Key("permissions.*.expires", "moment", "When the rule ends."),
    Key("permissions.*.note", "text", "Why the rule is there, for people."),
    Key("hooks.*.command", "text", "A command line to run. A hook has exactly one of command, python and url."),
    Key("hooks.*.python", "callable", "A Python callable."),
    Key("hooks.*.url", "address", "An address to post to."),
    Key("hooks.*.matcher", "expression", "For which tools; it must match the whole name. All, unless given."),
    Key("hooks.*.if", "text", "A rule that must cover the call."),
    Key("hooks.*.timeout", "duration", f"How long it may take; {HOOK_TIMEOUT:g} seconds unless given."),
    Key("hooks.*.fail_closed", "flag", "Whether a timeout, crash or bad answer denies. It does not, unless given."),
    Key("questions.deadline", "duration", "How long a question waits before it is denied; for ever, unless given."),
    Key("questions.notify", "text", "A command line to run when a question waits for somebody who is away."),
    Key("limits.denials_in_a_row", "count", "So many denials in a row pause the agent; {} unless given."),
    Key("limits.denials_in_session", "count", "So many denials in a session pause the agent; {} unless given."),
    Key("limits.max_concurrency", "count", "How many calls of one message run at once; {} unless given."),
    Key("limits.max_turns", "count", "How many turns a prompt may take; any number, unless given."),
    Key(
        "limits.max_output_tokens",
        "tokens",
        "How many tokens a prompt may make the model write.",
    ),
    Key("limits.max_seconds", "duration", "How long the agent may work on a prompt; for ever, unless given."),
    Key("limits.max_cost", "dollars", "What a session may cost: no request is sent that would pass it."),
    Key("limits.warn_cost", "dollars", "What a session may cost before a person is told, once."),
    Key("limits.background_after", "duration", "How long a command runs before it goes on in the background."),
    Key("sandbox.auto_allow", "flag", "Whether a command in a proven sandbox runs without a question; it does."),
    Key("sandbox.allow_hosts", "hosts", "Hosts that commands in the sandbox may reach; none, unless given."),
    Key("models.default", "text", "The model that answers, such as anthropic/claude-opus-5-5 or ollama/qwen3."),
    Key("models.cheap", "text", "The model that writes titles and summaries; the one that answers, unless given."),
    Key("models.fallback", "text", "The model for a turn in which the other one is overloaded."),
    Key("models.effort", "effort", "How much work a model puts into an answer; its own default, unless given."),
    Key("models.options.*.thinking", "thinking", f"How the model thinks. {_OWN}"),
    Key("models.options.*.effort", "effort", "The effort of this model, in place of models.effort."),
    Key("models.options.*.temperature", "number", "How far answers may vary, for models that take it."),
    Key("models.options.*.stop", "texts", "Texts that end an answer."),
    Key("models.options.*.service_tier", "text", "The class of service, as the provider calls it."),
    Key("models.options.*.body", "table", "Fields that are added to the body of every request."),
    Key("models.options.*.headers", "headers", "Headers that are added to every request."),
    Key("providers.*.family", "family", f"The API that the server speaks. {_OWN}"),
    Key("providers.*.base_url", "address", "Where the server is."),
    Key("providers.*.key_variable", "variable", "The environment variable that holds the key."),
    Key("providers.*.key_command", "text", "A command line that prints the key."),
    Key("providers.*.headers", "headers", "Headers that are added to every request to this server."),
    Key("providers.*.quirks", "texts", "Peculiarities of the server, see the guide on models."),
    Key("providers.*.idle_timeout", "duration", "How long the server may be silent within an answer."),
    Key("session.compact", "flag", "Whether a history is compacted by itself before it is too long; it is."),
    Key("session.title", "flag", "Whether a cheap model writes a title after the first prompt; it does."),
    Key(
        "tools.search",
        "search",
        "Which tools the model finds by search instead of having them in every request: on defers all but the core, off"
        " none, auto:N all where they would take more than N percent of the context window.",
    ),
    Key("mcp.connect_timeout", "duration", "How long an MCP server may take to connect; 30 seconds unless given."),
    Key("mcp.call_timeout", "duration", "How long an MCP server may take for a call; 10 minutes unless given."),
    Key("tui.editing", "editing", "The keys that edit the input line; those of Emacs, unless given."),
    Key(
        "keybindings.*.*",
        "chords",
        f"Keys for an action of the terminal: [keybindings.input] submit. {_OWN}",
    ),
    Key("statusline.command", "text", "A command line that prints the status line of the terminal."),
    Key("statusline.refresh", "interval", "How often it is run without an event; never, unless given."),
    Key("statusline.padding", "columns", "Blank columns at the left of the status line; none, unless given."),
    Key(
        "tui.theme",
        "theme",
        "The colours of the terminal; auto goes by its background, and is dark if unknown.",
    ),
    Key(
        "tui.view",
        "view",
        "The view of the terminal: inline leaves finished output in its scrollback, full takes the whole screen.",
    ),
)
SETTINGS = tuple(replace(key, meaning=key.meaning.format(DEFAULTS.get(key.name))) for key in _KEYS)
"""Every key of a settings file."""

VIEWS = ("inline", "full")
"""The views of the terminal."""
THEMES = ("auto", "dark", "light", "mono")
"""The colours of the terminal."""
FAMILIES = ("anthropic", "openai", "openai-chat", "gemini")
"""The APIs that are spoken."""

KINDS: dict[str, str] = {
    "mode": "one of " + ", ".join(MODES),
    "rules": "a list of rules, each a text or a table with rule, match, not_match, expires and note",
    "text": "a text that is not empty",
    "texts": "a list of texts",
    "moment": 'a date or time (UTC unless it says otherwise), or a duration such as "30d" since the file was changed',
    "callable": "module:function",
    "address": "an address that begins with http:// or https://",
    "expression": "a regular expression",
    "duration": 'seconds, or a text such as "90s", "5m", "2h" or "30d"',
    "interval": 'seconds from 1 on, or a text such as "90s" or "5m"; 0 is never',
    "columns": "a whole number from 0 to 20",
    "search": "on, off, auto or auto:N with a number from 0 to 100",
    "editing": "emacs or vim",
    "chords": 'a key such as "ctrl-x ctrl-e" or a list of them',
    "count": "a whole number above 0",
    "tokens": "a whole number above 0",
    "dollars": "a number above 0, in dollars",
    "flag": "true or false",
    "hosts": "a list of hosts such as example.com, *.example.com or localhost:8000",
    "effort": f"one of {', '.join(EFFORTS)} or auto",
    "thinking": "off, adaptive or a number of tokens",
    "number": "a number from 0 to 2",
    "table": "a table",
    "headers": "a table of names and texts of one line",
    "family": "one of " + ", ".join(FAMILIES),
    "variable": "the name of an environment variable",
    "theme": "one of " + ", ".join(THEMES),
    "view": "one of " + ", ".join(VIEWS),
}
"""The expected value for each kind, in words that follow "must be"."""

LONGEST_DURATION = 366 * 86_400.0
_UNITS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400}
_DURATION = late_pattern(r"([0-9]{1,9}) ?([smhd])")
_CALLABLE = late_pattern(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*(\.[A-Za-z_]\w*)*", re.ASCII)
_HEADER = late_pattern(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_VARIABLE = late_pattern(r"[A-Za-z_][A-Za-z0-9_]*")
_ADDRESS = late_pattern(r"https?://[^\s\x00-\x1f]+")


def keys_of(section: str) -> dict[str, Key]:
    """The settings of one section (``hooks.*``, or nothing for the top) by their last names."""
    prefix = f"{section}." if section else ""
    named = {key.name.removeprefix(prefix): key for key in SETTINGS if key.name.startswith(prefix)}
    return {name: key for name, key in named.items() if "." not in name}


def read_duration(value: object) -> float:
    """Seconds. ValueError for anything but a time of more than nothing and at most a year."""
    if isinstance(value, str):
        match = _DURATION.fullmatch(value)
        seconds = float(int(match[1]) * _UNITS[match[2]]) if match else 0.0
    else:
        seconds = float(value) if isinstance(value, int | float) and not isinstance(value, bool) else 0.0
    if not (math.isfinite(seconds) and 0 < seconds <= LONGEST_DURATION):
        raise ValueError
    return seconds


def read_interval(value: object) -> float:
    """Seconds, at least one: a program that is started more often than that uses the machine up. 0 is never."""
    if type(value) in (int, float) and value == 0:
        return 0.0
    seconds = read_duration(value)
    if seconds < 1:
        raise ValueError
    return seconds


def read_moment(value: object, since: float) -> float:
    """Seconds since the epoch; durations count from ``since``."""
    if isinstance(value, datetime):
        return (value if value.tzinfo else value.replace(tzinfo=UTC)).timestamp()
    if isinstance(value, date):
        return datetime(value.year, value.month, value.day, tzinfo=UTC).timestamp()
    if isinstance(value, str):
        return since + read_duration(value)
    raise ValueError


def _only(kind: type, holds: Callable[[Any], object] = lambda value: True) -> Callable[[object], Any]:
    """A reader of values of this type alone, for which the test holds."""

    def read(value: object) -> Any:
        if type(value) is not kind or not holds(value):
            raise ValueError
        return value

    return read


def read_texts(value: object) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(each, str) for each in cast(list[object], value)):
        raise ValueError
    return tuple(cast(list[str], value))


def read_chords(value: object) -> tuple[str, ...]:
    """Keys of the terminal; which of them a terminal sends is known there."""
    found = read_texts([value] if isinstance(value, str) else value)
    if not all(each.strip() and each.isprintable() and len(each) <= 40 for each in found):
        raise ValueError
    return found


def read_hosts(value: object) -> tuple[str, ...]:
    from callgate.policy.hosts import host_pattern  # most settings name no hosts

    found = read_texts(value)
    for each in found:
        host_pattern(each, star=True)
    return found


def read_headers(value: object) -> dict[str, str]:
    if not isinstance(value, dict):
        raise ValueError
    for name, text in cast(dict[str, object], value).items():
        if not _HEADER.fullmatch(name) or not isinstance(text, str) or not text.isprintable():
            raise ValueError
    return cast(dict[str, str], value)


def read_variable(value: object) -> str:
    """The name of a variable with a key. Commands of agents get all variables but those that sound like secrets."""
    if not isinstance(value, str) or not _VARIABLE.fullmatch(value):
        raise ValueError
    if not secret(value, ""):
        raise ValueError("commands would get this variable too: choose a name that ends in _KEY or _TOKEN")
    return value


def read_search(value: object) -> str:
    if not isinstance(value, str):
        raise ValueError
    percent_of(value)
    return value


def read_thinking(value: object) -> str | int:
    if value in ("off", "adaptive") or (type(value) is int and 0 < value <= LARGEST_COUNT):
        return cast(str | int, value)
    raise ValueError


def read_dollars(value: object) -> float:
    if type(value) not in (int, float) or not 0 < cast(float, value) <= LARGEST_COUNT:
        raise ValueError
    return float(cast(float, value))


def read_number(value: object) -> float:
    if type(value) not in (int, float) or not 0 <= cast(float, value) <= 2:
        raise ValueError
    return float(cast(float, value))


def read_expression(value: object) -> str:
    if not isinstance(value, str):
        raise ValueError
    if value == "*":  # the usual way to say "all"
        return value
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # what means something else in a later Python is no good today
            re.compile(value)
    except (re.error, Warning, OverflowError, RecursionError) as error:
        raise ValueError(f"it is not a regular expression: {error}") from None
    return value


READERS: dict[str, Callable[[object], Any]] = {
    "mode": _only(str, MODES.__contains__),
    "text": _only(str, lambda value: value.strip() and "\0" not in value),
    "texts": read_texts,
    "callable": _only(str, _CALLABLE.fullmatch),
    "address": _only(str, _ADDRESS.fullmatch),
    "expression": read_expression,
    "duration": read_duration,
    "interval": read_interval,
    "columns": _only(int, lambda value: 0 <= value <= 20),
    "search": read_search,
    "editing": _only(str, ("emacs", "vim").__contains__),
    "chords": read_chords,
    "count": _only(int, lambda value: 0 < value <= LARGEST_COUNT),
    "tokens": _only(int, lambda value: 0 < value <= LARGEST_COUNT**2),
    "dollars": read_dollars,
    "flag": _only(bool),
    "hosts": read_hosts,
    "effort": _only(str, (*EFFORTS, "auto").__contains__),
    "thinking": read_thinking,
    "number": read_number,
    "table": _only(dict),
    "headers": read_headers,
    "family": _only(str, FAMILIES.__contains__),
    "variable": read_variable,
    "theme": _only(str, THEMES.__contains__),
    "view": _only(str, VIEWS.__contains__),
}
"""The reader of each kind. Each raises ValueError, with a message only where it knows more than its kind says."""
