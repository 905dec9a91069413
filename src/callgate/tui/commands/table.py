"""The table of slash commands, group by group."""

from collections.abc import Mapping

from callgate.tui.port import SlashCommand

COMMANDS: tuple[SlashCommand, ...] = (
    SlashCommand(
        "compact",
        "put a summary in place of the older history",
        "steering:compact",
        "conversation",
        arguments="[FOCUS]",
        at_rest=True,
    ),
    SlashCommand("continue", "go on with what was left unfinished", "prompts:go_on", "conversation", at_rest=True),
    SlashCommand("init", "have AGENTS.md written for this folder", "prompts:init", "conversation", arguments="[WISH]"),
    SlashCommand(
        "review", "have changes reviewed; nothing is changed", "prompts:review", "conversation", arguments="[RANGE]"
    ),
    SlashCommand("recap", "one line on where things stand", "looking:recap", "conversation"),
    SlashCommand("rewind", "go back to an earlier message", "sessions:rewind", "conversation", at_rest=True),
    SlashCommand(
        "clear",
        "begin a new session; this one is kept",
        "sessions:clear",
        "session",
        aliases=("new",),
        at_rest=True,
    ),
    SlashCommand(
        "resume", "go on in another session", "sessions:resume", "session", arguments="[ID|WORDS]", at_rest=True
    ),
    SlashCommand(
        "branch", "go on in a copy of this session", "sessions:branch", "session", aliases=("fork",), at_rest=True
    ),
    SlashCommand("title", "name the session", "steering:title", "session", arguments="[NAME]", aliases=("rename",)),
    SlashCommand("tags", "mark the session with words", "steering:tags", "session", arguments="[WORD…|none]"),
    SlashCommand(
        "export",
        "write the session to a file, secrets masked",
        "sharing:export",
        "session",
        arguments="[FILE.md|.html|.json]",
        words="sharing:formats",
    ),
    SlashCommand("diff", "the changes of the session", "changes:diff", "changes", arguments="[N]"),
    SlashCommand(
        "undo",
        "take changes back, after showing them",
        "changes:undo",
        "changes",
        arguments="[turn|call|session|N] [--partly]",
        words="changes:scopes",
        at_rest=True,
    ),
    SlashCommand(
        "model",
        "choose the model; --save keeps it for new sessions",
        "models:model",
        "model",
        arguments="[NAME] [--save]",
        words="models:model_names",
    ),
    SlashCommand(
        "effort",
        "how much work the model puts into its answers",
        "models:effort",
        "model",
        arguments="[LEVEL|current]",
        words="models:efforts",
    ),
    SlashCommand("context", "the use of the model's window by the next request", "context:context", "looking"),
    SlashCommand("cost", "tokens and dollars of the session", "looking:cost", "looking", aliases=("usage",)),
    SlashCommand(
        "tools",
        "the tools that the model has, or those with a text in their names",
        "looking:tools",
        "looking",
        arguments="[TEXT]",
        words="looking:tool_words",
    ),
    SlashCommand("skills", "the skills that there are", "looking:skills", "looking"),
    SlashCommand(
        "tasks",
        "background work, and how to stop it",
        "looking:tasks",
        "looking",
        arguments="[stop ID|all]",
        words="looking:task_words",
    ),
    SlashCommand(
        "calls", "the last calls: arguments, decision, times, result", "calls:calls", "looking", arguments="[COUNT]"
    ),
    SlashCommand(
        "perf",
        "memory, CPU, times of requests and tools, tokens, cache",
        "perf:perf",
        "looking",
        arguments="[--json] [--limit N]",
        words="perf:perf_words",
    ),
    SlashCommand(
        "mode", "what needs a question", "steering:mode", "permissions", arguments="[MODE]", words="steering:modes"
    ),
    SlashCommand(
        "permissions",
        "rules in force and remembered answers",
        "policy:permissions",
        "permissions",
        arguments="[revoke ID…]",
        aliases=("rules",),
        words="policy:permission_words",
    ),
    SlashCommand("hooks", "the hooks of the settings", "policy:hooks", "permissions"),
    SlashCommand(
        "help",
        "the commands and keys",
        "helping:help_",
        "program",
        arguments="[COMMAND]",
        words="helping:names",
        at_once=True,
    ),
    SlashCommand("keys", "the keys of the terminal", "helping:keys", "program", at_once=True),
    SlashCommand(
        "config",
        "settings and where they come from",
        "machine:config",
        "program",
        arguments="[KEY [VALUE]]",
        words="machine:setting_words",
    ),
    SlashCommand(
        "view",
        "inline or on a screen of its own; kept for later",
        "setup:view",
        "program",
        arguments="[inline|full|status]",
        words="setup:view_words",
    ),
    SlashCommand(
        "setup",
        "the steps of a first start",
        "setup:setup",
        "program",
        arguments="[status|theme NAME|trust|reset]",
        words="setup:setup_words",
    ),
    SlashCommand(
        "mcp",
        "MCP servers: their state, log, a new connection",
        "servers:mcp",
        "program",
        arguments="[reconnect|disable|log NAME]",
        words="servers:server_words",
    ),
    SlashCommand("doctor", "check what Callgate needs, and how to repair it", "machine:doctor", "program"),
    SlashCommand("statusline", "the state of your status line", "machine:statusline", "program"),
    SlashCommand("version", "the versions of the program and Python", "machine:version", "program", at_once=True),
    SlashCommand("env", "program, platform, terminal, folders, variables; secrets masked", "machine:env", "program"),
    SlashCommand(
        "quit", "leave; the session can be resumed", "helping:quit_", "program", aliases=("exit", "q"), at_once=True
    ),
)
"""Every command that ships, in the order of its group."""

MISSING: Mapping[str, str] = {
    "agents": "there are no sub-agents yet; /tasks shows commands that run in the background.",
    "workflows": "there are no workflows yet; a custom command in .callgate/commands holds a prompt to repeat.",
    "memory": "there is no memory of the model's own yet; write what it should know into AGENTS.md (/init makes one).",
    "plugins": "there are no plugins; tools, skills and custom commands are files in .callgate or your settings.",
    "login": "keys are stored outside of a session: callgate auth set PROVIDER.",
    "logout": "keys are removed outside of a session: callgate auth remove PROVIDER.",
}
"""Commands that people look for and whose needs are missing: they are not listed, and typed they say what is missing
and how to get it or what to do instead."""
