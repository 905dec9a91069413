"""The table of environment variables that Callgate reads. ``.env`` files are never read."""

from callgate.policy.setting_rows import VALUE_ROWS
from callgate.words.noun import noun


@noun
class Variable:
    """``key`` is the setting that the variable sets, or empty."""

    name: str
    meaning: str
    key: str = ""


_USES = {"value": "", "tightens": " It can only make it stricter.", "overrides": " Nothing overrides it."}
VARIABLES: tuple[Variable, ...] = (
    Variable("CALLGATE_CONFIG_DIR", "The folder of your own settings. It may not lie in the workspace."),
    Variable(
        "CALLGATE_DATA_DIR",
        "The folder of what is kept: sessions, keys, trust and answers, of which the last two do not count from inside "
        "the workspace.",
    ),
    *(
        Variable(row.variable, f"{row.help}{_USES[row.variable_use]}", row.name)
        for row in VALUE_ROWS.values()
        if row.variable
    ),
    Variable("CALLGATE_PROMPT_CACHE", '"off" keeps providers from caching prompts.'),
    Variable("CALLGATE_RECORD", "A folder in which exchanges with models are recorded, without keys."),
    Variable("CALLGATE_RIPGREP", "The search that Grep and Glob use: packaged, system or builtin."),
    Variable("CALLGATE_MCP_TOKEN", "The token that clients of callgate mcp serve --http have to send."),
    Variable("CALLGATE_DEMO_SPEED", "So many times faster does callgate demo play."),
)

FOR_HOOKS = {
    "CALLGATE_EVENT": "the event that a hook is run for",
    "CALLGATE_PROJECT_DIR": "the workspace",
}
"""Variables that hooks are given."""
