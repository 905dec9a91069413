"""The table of settings: one row each, from which files, variables, commands and documentation are derived.

A setting with a value of its own is a field of ``SettingValues``: the row gives its key, kind, default and help, and
optionally an environment variable. Code reads it as ``config.settings.limits_max_turns``; the field is the key with
``_`` for the dot. Settings that stand in tables and lists of a file, such as hooks, are the rows of ``TABLE_ROWS``.
"""

from collections.abc import Mapping
from dataclasses import field, fields
from typing import Any, Literal, TypeVar

from callgate.policy.entries import HOOK_TIMEOUT
from callgate.policy.setting_kinds import (
    ADDRESS,
    CALLABLE,
    CHORDS,
    COLUMNS,
    COUNT,
    DOLLARS,
    DURATION,
    EDITING,
    EFFORT,
    EXPRESSION,
    FAMILY,
    FLAG,
    HEADERS,
    HOSTS,
    INTERVAL,
    MODE,
    MOMENT,
    NUMBER,
    RULES,
    SEARCH,
    TABLE,
    TEXT,
    TEXTS,
    THEME,
    THINKING,
    TOKENS,
    VARIABLE,
    VIEW,
    Kind,
)
from callgate.policy.shorten import brief
from callgate.words.errors import UsageError
from callgate.words.limits import ExecutorSettings, LoopLimits
from callgate.words.model import WantedEffort
from callgate.words.modes import Mode
from callgate.words.noun import noun

T = TypeVar("T")
RepositoryUse = Literal["stricter", "trusted", "trusted, no note"]
VariableUse = Literal["value", "tightens", "overrides"]


@noun
class Setting:
    """A row of the table."""

    name: str
    """The key, in which ``*`` stands for any name."""
    kind: Kind[Any]
    help: str
    default: Any = None
    """The value if nothing is set. None is no limit, or no value."""
    field: str = ""
    """The field of ``SettingValues``; empty for a row of ``TABLE_ROWS``."""
    repository: RepositoryUse = "stricter"
    """Which values from files of a repository are used: those that are stricter than all others, or, if the repository
    is trusted, those that the user has not set. A note says if one is ignored."""
    variable: str = ""
    variable_use: VariableUse = "value"
    """How the variable is used: as a value above those of the settings files, only if it is stricter than all others,
    or in place of every other value."""

    @property
    def section(self) -> str:
        return self.name.rpartition(".")[0]


def setting(
    name: str,
    kind: Kind[T],
    default: T,
    help: str,
    *,
    repository: RepositoryUse = "stricter",
    variable: str = "",
    variable_use: VariableUse = "value",
) -> T:
    """Define a setting as the default of a field of ``SettingValues``; see ``Setting``."""
    row = Setting(
        name,
        kind,
        help,
        default,
        field=name.replace(".", "_"),
        repository=repository,
        variable=variable,
        variable_use=variable_use,
    )
    return field(default=default, metadata={"row": row})


_CALLS, _LOOP = ExecutorSettings(), LoopLimits()


@noun
class SettingValues:
    """The value of every setting."""

    mode: Mode = setting(
        "mode",
        MODE,
        "default",
        "How calls are judged that no rule speaks of.",
        variable="CALLGATE_MODE",
        variable_use="tightens",
    )
    questions_deadline: float | None = setting(
        "questions.deadline",
        DURATION,
        _CALLS.patience,
        "How long a question waits before it is denied; for ever, unless given.",
    )
    questions_notify: str | None = setting(
        "questions.notify",
        TEXT,
        None,
        "A command line to run when a question waits for somebody who is away.",
        repository="trusted",
    )
    limits_denials_in_a_row: int = setting(
        "limits.denials_in_a_row", COUNT, _LOOP.denials_in_a_row, "So many denials in a row pause the agent."
    )
    limits_denials_in_session: int = setting(
        "limits.denials_in_session", COUNT, _LOOP.denials, "So many denials in a session pause the agent."
    )
    limits_max_concurrency: int = setting(
        "limits.max_concurrency",
        COUNT,
        _CALLS.max_concurrency,
        "How many calls of one message run at once.",
        variable="CALLGATE_MAX_CONCURRENCY",
    )
    limits_max_turns: int | None = setting(
        "limits.max_turns", COUNT, _LOOP.max_turns, "How many turns a prompt may take; any number, unless given."
    )
    limits_max_output_tokens: int | None = setting(
        "limits.max_output_tokens",
        TOKENS,
        _LOOP.max_output_tokens,
        "How many tokens a prompt may make the model write.",
    )
    limits_max_seconds: float | None = setting(
        "limits.max_seconds",
        DURATION,
        _LOOP.max_seconds,
        "How long the agent may work on a prompt; for ever, unless given.",
    )
    limits_max_cost: float | None = setting(
        "limits.max_cost",
        DOLLARS,
        _LOOP.max_cost,
        "What a session may cost: no request is sent that would pass it.",
    )
    limits_warn_cost: float | None = setting(
        "limits.warn_cost", DOLLARS, _LOOP.warn_cost, "What a session may cost before a person is told, once."
    )
    limits_background_after: float | None = setting(
        "limits.background_after",
        DURATION,
        None,
        "How long a command runs before it goes on in the background; it is bound by its timeout, unless given.",
    )
    sandbox_auto_allow: bool = setting(
        "sandbox.auto_allow", FLAG, True, "Whether a command in a proven sandbox runs without a question."
    )
    sandbox_allow_hosts: tuple[str, ...] = setting(
        "sandbox.allow_hosts", HOSTS, (), "Hosts that commands in the sandbox may reach; none, unless given."
    )
    models_default: str | None = setting(
        "models.default",
        TEXT,
        None,
        "The model that answers, such as anthropic/claude-opus-5-5 or ollama/qwen3.",
        repository="trusted",
        variable="CALLGATE_MODEL",
    )
    models_cheap: str | None = setting(
        "models.cheap",
        TEXT,
        None,
        "The model that writes titles and summaries; the one that answers, unless given.",
        repository="trusted",
    )
    models_fallback: str | None = setting(
        "models.fallback",
        TEXT,
        None,
        "The model for a turn in which the other one is overloaded.",
        repository="trusted",
    )
    models_effort: WantedEffort | None = setting(
        "models.effort",
        EFFORT,
        None,
        "How much work a model puts into an answer; its own default, unless given.",
        repository="trusted",
        variable="CALLGATE_EFFORT",
        variable_use="overrides",
    )
    session_compact: bool = setting(
        "session.compact", FLAG, True, "Whether a history is compacted by itself before it is too long for the model."
    )
    session_title: bool = setting(
        "session.title", FLAG, True, "Whether a cheap model writes a title after the first prompt."
    )
    tools_search: str = setting(
        "tools.search",
        SEARCH,
        "on",
        "Which tools the model finds by search instead of having them in every request: on defers all but the core, off"
        " none, auto:N all where they would take more than N percent of the context window.",
        variable="CALLGATE_TOOL_SEARCH",
    )
    mcp_connect_timeout: float = setting(
        "mcp.connect_timeout", DURATION, 30.0, "How long an MCP server may take to connect."
    )
    mcp_call_timeout: float = setting(
        "mcp.call_timeout", DURATION, 600.0, "How long an MCP server may take for a call."
    )
    statusline_command: str | None = setting(
        "statusline.command",
        TEXT,
        None,
        "A command line that prints the status line of the terminal.",
        repository="trusted",
    )
    statusline_refresh: float = setting(
        "statusline.refresh",
        INTERVAL,
        0.0,
        "How often it is run without an event; never, unless given.",
        repository="trusted, no note",
    )
    statusline_padding: int = setting(
        "statusline.padding",
        COLUMNS,
        0,
        "Blank columns at the left of the status line.",
        repository="trusted, no note",
    )
    tui_editing: Literal["emacs", "vim"] = setting(
        "tui.editing", EDITING, "emacs", "The keys that edit the input line.", repository="trusted"
    )
    tui_theme: str = setting(
        "tui.theme",
        THEME,
        "auto",
        "The colours of the terminal; auto goes by its background, and is dark if unknown.",
        repository="trusted, no note",
    )
    tui_view: str = setting(
        "tui.view",
        VIEW,
        "inline",
        "The view of the terminal: inline leaves finished output in its scrollback, full takes the whole screen.",
    )


_OWN = "Ignored in files of a repository, as all of this table is."
TABLE_ROWS: tuple[Setting, ...] = (
    Setting("permissions.allow", RULES, "Calls that run without a question. Ignored in files of a repository.", ()),
    Setting("permissions.ask", RULES, "Calls that are always put to a person.", ()),
    Setting("permissions.deny", RULES, "Calls that never run; nothing overrides it.", ()),
    Setting("permissions.*.rule", TEXT, "The rule itself, where it is written as a table."),
    Setting("permissions.*.match", TEXTS, "Contents that the rule must cover: a self-test."),
    Setting("permissions.*.not_match", TEXTS, "Contents that the rule must not cover: a self-test."),
    Setting("permissions.*.expires", MOMENT, "When the rule ends."),
    Setting("permissions.*.note", TEXT, "Why the rule is there, for people."),
    Setting("hooks.*.command", TEXT, "A command line to run. A hook has exactly one of command, python and url."),
    Setting("hooks.*.python", CALLABLE, "A Python callable."),
    Setting("hooks.*.url", ADDRESS, "An address to post to."),
    Setting("hooks.*.matcher", EXPRESSION, "For which tools; it must match the whole name. All, unless given."),
    Setting("hooks.*.if", TEXT, "A rule that must cover the call."),
    Setting("hooks.*.timeout", DURATION, f"How long it may take; {HOOK_TIMEOUT:g} seconds unless given."),
    Setting("hooks.*.fail_closed", FLAG, "Whether a timeout, crash or bad answer denies. It does not, unless given."),
    Setting("models.options.*.thinking", THINKING, f"How the model thinks. {_OWN}"),
    Setting("models.options.*.effort", EFFORT, "The effort of this model, in place of models.effort."),
    Setting("models.options.*.temperature", NUMBER, "How far answers may vary, for models that take it."),
    Setting("models.options.*.stop", TEXTS, "Texts that end an answer."),
    Setting("models.options.*.service_tier", TEXT, "The class of service, as the provider calls it."),
    Setting("models.options.*.body", TABLE, "Fields that are added to the body of every request."),
    Setting("models.options.*.headers", HEADERS, "Headers that are added to every request."),
    Setting("providers.*.family", FAMILY, f"The API that the server speaks. {_OWN}"),
    Setting("providers.*.base_url", ADDRESS, "Where the server is."),
    Setting("providers.*.key_variable", VARIABLE, "The environment variable that holds the key."),
    Setting("providers.*.key_command", TEXT, "A command line that prints the key."),
    Setting("providers.*.headers", HEADERS, "Headers that are added to every request to this server."),
    Setting("providers.*.quirks", TEXTS, "Peculiarities of the server, see the guide on models."),
    Setting("providers.*.idle_timeout", DURATION, "How long the server may be silent within an answer."),
    Setting("keybindings.*.*", CHORDS, f"Keys for an action of the terminal: [keybindings.input] submit. {_OWN}"),
)
VALUE_ROWS: Mapping[str, Setting] = {
    row.name: row
    for each in fields(SettingValues)
    for row in (each.metadata["row"],)  # pyright: ignore[reportArgumentType]
}
"""The settings with a value of their own, by key."""
SETTINGS: tuple[Setting, ...] = (*VALUE_ROWS.values(), *TABLE_ROWS)


def from_variables(environment: Mapping[str, str]) -> dict[str, Any]:
    """Return the values that environment variables give, by key. UsageError if one has another kind of value."""
    found: dict[str, Any] = {}
    for row in VALUE_ROWS.values():
        if text := environment.get(row.variable, "").strip():
            try:
                found[row.name] = row.kind.read(row.kind.written([text]))
            except ValueError:
                raise UsageError(f"{row.variable} must be {row.kind.expected}, not {brief(repr(text))}") from None
    return found


def rows_of(section: str) -> dict[str, Setting]:
    """Return the rows of a section such as ``hooks.*``, or of the top of a file, by the last parts of their keys."""
    return {row.name.rpartition(".")[2]: row for row in SETTINGS if row.section == section}
