"""The table of settings with one row for each setting. Settings files, environment variables, commands and
documentation are derived from the table.

A setting with a single value is a field of ``SettingValues``. Its row has the kind, the default, the help text and
optionally an environment variable. Code reads ``config.settings.limits_max_turns``; the key of a setting is the name
of the field with a dot in place of the first ``_``. Settings in tables and lists of a file, such as hooks, are
``TABLE_ROWS``.
"""

from collections.abc import Mapping
from dataclasses import field, fields
from typing import Any, Literal, TypeVar

from callgate.policy import setting_kinds as kinds
from callgate.policy.entries import HOOK_TIMEOUT
from callgate.policy.setting_kinds import Kind
from callgate.policy.shorten import brief
from callgate.words.errors import UsageError
from callgate.words.limits import ExecutorSettings, LoopLimits
from callgate.words.model import WantedEffort
from callgate.words.modes import Mode
from callgate.words.noun import noun

T = TypeVar("T")
RepositoryUse = Literal["stricter", "trusted", "unreported"]
VariableUse = Literal["value", "tightens", "overrides"]


@noun
class Setting:
    name: str
    """The key of the setting; ``*`` is a placeholder for any name."""
    kind: Kind[Any]
    help: str
    default: Any = None
    """The value if the setting is not set. None means no limit or no value."""
    field: str = ""
    """The field of ``SettingValues``; empty for a row of ``TABLE_ROWS``."""
    repository: RepositoryUse = "stricter"
    """Determines which values from files of a repository are used: values that are stricter than all others, or, if
    the repository is trusted, values of settings that the user has not set. A note names ignored values, except with
    "unreported"."""
    variable: str = ""
    variable_use: VariableUse = "value"
    """Determines how the value of the variable is used: it overrides the settings files, it is used only if it is
    stricter than all other values, or it overrides every other value."""

    @property
    def section(self) -> str:
        return self.name.rpartition(".")[0]


def setting(kind: Kind[T], default: T, help: str, **more: str) -> T:
    """Define a row as the default of a field of ``SettingValues``. The arguments are the fields of ``Setting``."""
    return field(default=default, metadata={"kind": kind, "help": help, **more})


_CALLS, _LOOP = ExecutorSettings(), LoopLimits()


@noun
class SettingValues:
    """The values of all settings."""

    mode: Mode = setting(
        kinds.MODE,
        "default",
        "The permission mode, which decides about calls that no rule covers.",
        variable="CALLGATE_MODE",
        variable_use="tightens",
    )
    questions_deadline: float | None = setting(kinds.DURATION, _CALLS.patience, "The time until a question is denied.")
    questions_notify: str | None = setting(
        kinds.TEXT, None, "A command that runs when a question is open and the user is away.", repository="trusted"
    )
    limits_denials_in_a_row: int = setting(
        kinds.COUNT, _LOOP.denials_in_a_row, "The number of consecutive denials after which the agent pauses."
    )
    limits_denials_in_session: int = setting(
        kinds.COUNT, _LOOP.denials, "The number of denials in a session after which the agent pauses."
    )
    limits_max_concurrency: int = setting(
        kinds.COUNT, _CALLS.max_concurrency, "Calls that run at the same time.", variable="CALLGATE_MAX_CONCURRENCY"
    )
    limits_max_turns: int | None = setting(kinds.COUNT, _LOOP.max_turns, "The maximum number of turns for a prompt.")
    limits_max_tool_calls: int | None = setting(
        kinds.COUNT, _LOOP.max_tool_calls, "The maximum number of tool calls for a prompt."
    )
    limits_max_failures: int | None = setting(
        kinds.COUNT, _LOOP.max_failures, "The number of consecutive failures of one tool after which a run ends."
    )
    limits_max_output_tokens: int | None = setting(
        kinds.TOKENS, _LOOP.max_output_tokens, "The maximum number of tokens that the model writes for a prompt."
    )
    limits_max_seconds: float | None = setting(kinds.DURATION, _LOOP.max_seconds, "The maximum time for a prompt.")
    limits_max_cost: float | None = setting(
        kinds.DOLLARS, _LOOP.max_cost, "The highest cost of a session: a request that could exceed it is not sent."
    )
    limits_warn_cost: float | None = setting(kinds.DOLLARS, _LOOP.warn_cost, "The cost at which one warning is shown.")
    limits_background_after: float | None = setting(
        kinds.DURATION, None, "The time after which a command continues in the background."
    )
    sandbox_auto_allow: bool = setting(kinds.FLAG, True, "Whether commands in a proven sandbox need no question.")
    sandbox_disabled: bool = setting(kinds.FLAG, False, "Run commands without the sandbox. A repository cannot set it.")
    sandbox_allow_hosts: tuple[str, ...] = setting(kinds.HOSTS, (), "Hosts that commands in the sandbox may reach.")
    models_default: str | None = setting(
        kinds.TEXT,
        None,
        "The model, such as anthropic/claude-opus-5-5.",
        repository="trusted",
        variable="CALLGATE_MODEL",
    )
    models_cheap: str | None = setting(
        kinds.TEXT, None, "The model for titles and summaries. Default: the model that answers.", repository="trusted"
    )
    models_fallback: str | None = setting(
        kinds.TEXT, None, "The model for a turn in which the default model is overloaded.", repository="trusted"
    )
    models_effort: WantedEffort | None = setting(
        kinds.EFFORT,
        None,
        "The reasoning effort of a model. Default: the model's own.",
        repository="trusted",
        variable="CALLGATE_EFFORT",
        variable_use="overrides",
    )
    session_compact: bool = setting(kinds.FLAG, True, "Whether a history that is almost too long is compacted.")
    session_title: bool = setting(kinds.FLAG, True, "Whether a cheap model writes a title after the first prompt.")
    tools_search: str = setting(
        kinds.SEARCH,
        "on",
        "Tools that are found by search instead of sent in every request. on: all but the core tools; off: none;"
        " auto:N: all, if their definitions would take more than N percent of the context window.",
        variable="CALLGATE_TOOL_SEARCH",
    )
    mcp_connect_timeout: float = setting(kinds.DURATION, 30.0, "The timeout for connecting to an MCP server.")
    mcp_call_timeout: float = setting(kinds.DURATION, 600.0, "The timeout of a call to an MCP server.")
    statusline_command: str | None = setting(
        kinds.TEXT, None, "A command that prints the status line of the terminal.", repository="trusted"
    )
    statusline_refresh: float = setting(
        kinds.INTERVAL, 0.0, "The interval at which the status line is updated without events.", repository="unreported"
    )
    statusline_padding: int = setting(
        kinds.COLUMNS, 0, "Blank columns before the status line.", repository="unreported"
    )
    tui_editing: Literal["emacs", "vim"] = setting(
        kinds.EDITING, "emacs", "The keys that edit the input line.", repository="trusted"
    )
    tui_theme: str = setting(
        kinds.THEME, "auto", "The colours. auto: chosen by the background of the terminal.", repository="unreported"
    )
    tui_view: str = setting(kinds.VIEW, "inline", "The view. full: the whole screen, without scrollback.")


_OWN = "This table is ignored in files of a repository."
TABLE_ROWS: tuple[Setting, ...] = (
    Setting("permissions.allow", kinds.RULES, "Calls without a question. Ignored in files of a repository.", ()),
    Setting("permissions.ask", kinds.RULES, "Calls that always ask the user.", ()),
    Setting("permissions.deny", kinds.RULES, "Calls that are always denied.", ()),
    Setting("permissions.*.rule", kinds.TEXT, "The rule, if it is written as a table."),
    Setting("permissions.*.match", kinds.TEXTS, "Self-test: contents that the rule must cover."),
    Setting("permissions.*.not_match", kinds.TEXTS, "Self-test: contents that the rule must not cover."),
    Setting("permissions.*.expires", kinds.MOMENT, "When the rule expires."),
    Setting("permissions.*.note", kinds.TEXT, "A comment."),
    Setting("hooks.*.command", kinds.TEXT, "A command. A hook has exactly one of command, python and url."),
    Setting("hooks.*.python", kinds.CALLABLE, "A Python callable."),
    Setting("hooks.*.url", kinds.ADDRESS, "A URL that receives a POST request."),
    Setting("hooks.*.matcher", kinds.EXPRESSION, "A regular expression for whole names of tools. Default: all."),
    Setting("hooks.*.if", kinds.TEXT, "The hook runs only for calls that this rule covers."),
    Setting("hooks.*.timeout", kinds.DURATION, f"The timeout. Default: {HOOK_TIMEOUT:g} seconds."),
    Setting("hooks.*.fail_closed", kinds.FLAG, "Whether a failure of the hook denies the call. Default: false."),
    Setting("models.options.*.thinking", kinds.THINKING, f"The thinking mode. {_OWN}"),
    Setting("models.options.*.effort", kinds.EFFORT, "The effort of this model; overrides models.effort."),
    Setting("models.options.*.temperature", kinds.NUMBER, "The sampling temperature, for models that support it."),
    Setting("models.options.*.stop", kinds.TEXTS, "Texts that end an answer."),
    Setting("models.options.*.service_tier", kinds.TEXT, "The provider's service tier."),
    Setting("models.options.*.body", kinds.TABLE, "Fields that are added to the body of every request."),
    Setting("models.options.*.headers", kinds.HEADERS, "Headers that are added to every request."),
    Setting("providers.*.family", kinds.FAMILY, f"The API that the server speaks. {_OWN}"),
    Setting("providers.*.base_url", kinds.ADDRESS, "The base URL of the server."),
    Setting("providers.*.key_variable", kinds.VARIABLE, "The environment variable that holds the key."),
    Setting("providers.*.key_command", kinds.TEXT, "A command that prints the key."),
    Setting("providers.*.headers", kinds.HEADERS, "Headers that are added to every request to this server."),
    Setting("providers.*.quirks", kinds.TEXTS, "Deviations of the server from the API, see the guide on models."),
    Setting("providers.*.idle_timeout", kinds.DURATION, "The maximum time without data within an answer."),
    Setting("keybindings.*.*", kinds.CHORDS, f"Keys for an action of the terminal: [keybindings.input] submit. {_OWN}"),
)
VALUE_ROWS: Mapping[str, Setting] = {
    row.name: row
    for each in fields(SettingValues)
    for row in (Setting(each.name.replace("_", ".", 1), default=each.default, field=each.name, **each.metadata),)
}
"""The settings with a single value, by key."""
SETTINGS: tuple[Setting, ...] = (*VALUE_ROWS.values(), *TABLE_ROWS)


def from_variables(environment: Mapping[str, str]) -> dict[str, Any]:
    """Return the values of environment variables by setting key. Raise UsageError for a value of the wrong kind."""
    found: dict[str, Any] = {}
    for row in VALUE_ROWS.values():
        if text := environment.get(row.variable, "").strip():
            try:
                found[row.name] = row.kind.read(row.kind.written([text]))
            except ValueError:
                raise UsageError(f"{row.variable} must be {row.kind.expected}, not {brief(repr(text))}") from None
    return found


def rows_of(section: str) -> dict[str, Setting]:
    """Return the rows of a section such as ``hooks.*``, or of the top level of a file, by the last part of their
    keys."""
    return {row.name.rpartition(".")[2]: row for row in SETTINGS if row.section == section}


@noun
class Variable:
    """An environment variable. ``key`` is the setting that the variable sets, or empty."""

    name: str
    meaning: str
    key: str = ""


_USES = {
    "value": "",
    "tightens": " The variable can only tighten it.",
    "overrides": " The variable overrides all others.",
}
VARIABLES: tuple[Variable, ...] = (
    Variable("CALLGATE_CONFIG_DIR", "The folder of your own settings. It must be outside the workspace."),
    Variable("CALLGATE_DATA_DIR", "The data folder. Its trust and answers are ignored if it is in the workspace."),
    *(
        Variable(row.variable, row.help + _USES[row.variable_use], row.name)
        for row in VALUE_ROWS.values()
        if row.variable
    ),
    Variable("CALLGATE_PROMPT_CACHE", '"off" keeps providers from caching prompts.'),
    Variable("CALLGATE_RECORD", "A folder in which exchanges with models are recorded, without keys."),
    Variable("CALLGATE_RIPGREP", "The search that Grep and Glob use: packaged, system or builtin."),
    Variable("CALLGATE_MCP_TOKEN", "The token that clients of callgate mcp serve --http must send."),
    Variable("CALLGATE_DEMO_SPEED", "The speed factor of callgate demo."),
)
