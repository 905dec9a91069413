"""The table of environment variables that Callgate reads."""

from callgate.words.noun import noun


@noun
class Variable:
    """``key`` is the setting that it stands for, empty if there is none."""

    name: str
    meaning: str
    key: str = ""


VARIABLES: tuple[Variable, ...] = (
    Variable("CALLGATE_CONFIG_DIR", "The folder of your own settings. It may not lie in the workspace."),
    Variable(
        "CALLGATE_DATA_DIR",
        "The folder of what is kept: sessions, keys, trust and answers, of which the last two do not count from inside "
        "the workspace.",
    ),
    Variable("CALLGATE_MODE", "The permission mode. It can only make the mode stricter.", "mode"),
    Variable("CALLGATE_MAX_CONCURRENCY", "How many calls of one message run at once.", "limits.max_concurrency"),
    Variable("CALLGATE_MODEL", "The model that answers, in place of that of the files.", "models.default"),
    Variable("CALLGATE_EFFORT", "The effort of every answer, whatever else is set.", "models.effort"),
    Variable("CALLGATE_PROMPT_CACHE", '"off" keeps providers from caching prompts.'),
    Variable("CALLGATE_RECORD", "A folder in which exchanges with models are recorded, without keys."),
    Variable("CALLGATE_TOOL_SEARCH", "Which tools the model finds by search: on, off, auto or auto:N.", "tools.search"),
    Variable("CALLGATE_RIPGREP", "The search that Grep and Glob use: packaged, system or builtin."),
    Variable("CALLGATE_MCP_TOKEN", "The token that clients of callgate mcp serve --http have to send."),
    Variable("CALLGATE_DEMO_SPEED", "So many times faster does callgate demo play."),
)
"""Every one. ``.env`` files are never read."""

FOR_HOOKS = {
    "CALLGATE_EVENT": "the event that a hook is run for",
    "CALLGATE_PROJECT_DIR": "the workspace",
}
"""Variables that hooks are given."""


def variable_of(key: str) -> Variable | None:
    """The variable that stands for a setting."""
    return next((each for each in VARIABLES if each.key == key), None)
