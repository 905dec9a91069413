"""The table of slash commands, group by group."""

from collections.abc import Mapping

from callgate.tui.port import SlashCommand

COMMANDS: tuple[SlashCommand, ...] = (
    SlashCommand(
        "compact",
        "put a summary in place of the older history",
        "slash_session:compact",
        "conversation",
        arguments="[FOCUS]",
        at_rest=True,
    ),
    SlashCommand(
        "continue", "go on with what was left unfinished", "slash_conversation:go_on", "conversation", at_rest=True
    ),
    SlashCommand(
        "init", "have AGENTS.md written for this folder", "slash_conversation:init", "conversation", arguments="[WISH]"
    ),
    SlashCommand(
        "review",
        "have changes reviewed; nothing is changed",
        "slash_conversation:review",
        "conversation",
        arguments="[RANGE]",
    ),
    SlashCommand("recap", "one line on where things stand", "slash_tools:recap", "conversation"),
    SlashCommand("rewind", "go back to an earlier message", "slash_session:rewind", "conversation", at_rest=True),
    SlashCommand(
        "clear",
        "begin a new session; this one is kept",
        "slash_session:clear",
        "session",
        aliases=("new",),
        at_rest=True,
    ),
    SlashCommand(
        "resume", "go on in another session", "slash_session:resume", "session", arguments="[ID|WORDS]", at_rest=True
    ),
    SlashCommand(
        "branch", "go on in a copy of this session", "slash_session:branch", "session", aliases=("fork",), at_rest=True
    ),
    SlashCommand(
        "title", "name the session", "slash_session:title", "session", arguments="[NAME]", aliases=("rename",)
    ),
    SlashCommand("tags", "mark the session with words", "slash_session:tags", "session", arguments="[WORD…|none]"),
    SlashCommand(
        "export",
        "write the session to a file, secrets masked",
        "slash_session:export",
        "session",
        arguments="[FILE.md|.html|.json]",
        words="slash_session:formats",
    ),
    SlashCommand("diff", "the changes of the session", "slash_changes:diff", "changes", arguments="[N]"),
    SlashCommand(
        "undo",
        "take changes back, after showing them",
        "slash_changes:undo",
        "changes",
        arguments="[turn|call|session|N] [--partly]",
        words="slash_changes:scopes",
        at_rest=True,
    ),
    SlashCommand(
        "model",
        "choose the model; --save keeps it for new sessions",
        "slash_model:model",
        "model",
        arguments="[NAME] [--save]",
        words="slash_model:model_names",
    ),
    SlashCommand(
        "effort",
        "how much work the model puts into its answers",
        "slash_model:effort",
        "model",
        arguments="[LEVEL|current]",
        words="slash_model:efforts",
    ),
    SlashCommand("context", "the use of the model's window by the next request", "slash_usage:context", "looking"),
    SlashCommand("cost", "tokens and dollars of the session", "slash_tools:cost", "looking", aliases=("usage",)),
    SlashCommand(
        "tools",
        "the tools that the model has, or those with a text in their names",
        "slash_tools:tools",
        "looking",
        arguments="[TEXT]",
        words="slash_tools:tool_words",
    ),
    SlashCommand("skills", "the skills that there are", "slash_tools:skills", "looking"),
    SlashCommand(
        "tasks",
        "background work, and how to stop it",
        "slash_tools:tasks",
        "looking",
        arguments="[stop ID|all]",
        words="slash_tools:task_words",
    ),
    SlashCommand(
        "calls",
        "the last calls: arguments, decision, times, result",
        "slash_calls:calls",
        "looking",
        arguments="[COUNT]",
    ),
    SlashCommand(
        "perf",
        "memory, CPU, times of requests and tools, tokens, cache",
        "slash_usage:perf",
        "looking",
        arguments="[--json] [--limit N]",
        words="slash_usage:perf_words",
    ),
    SlashCommand(
        "mode",
        "what needs a question",
        "slash_session:mode",
        "permissions",
        arguments="[MODE]",
        words="slash_session:modes",
    ),
    SlashCommand(
        "permissions",
        "rules in force and remembered answers",
        "slash_permissions:permissions",
        "permissions",
        arguments="[revoke ID…]",
        aliases=("rules",),
        words="slash_permissions:permission_words",
    ),
    SlashCommand("hooks", "the hooks of the settings", "slash_permissions:hooks", "permissions"),
    SlashCommand(
        "help",
        "the commands and keys",
        "slash_program:help_",
        "program",
        arguments="[COMMAND]",
        words="slash_program:names",
        at_once=True,
    ),
    SlashCommand("keys", "the keys of the terminal", "slash_program:keys", "program", at_once=True),
    SlashCommand(
        "config",
        "settings and where they come from",
        "slash_program:config",
        "program",
        arguments="[KEY [VALUE]]",
        words="slash_program:setting_words",
    ),
    SlashCommand(
        "view",
        "inline or on a screen of its own; kept for later",
        "slash_program:view",
        "program",
        arguments="[inline|full|status]",
        words="slash_program:view_words",
    ),
    SlashCommand(
        "setup",
        "the steps of a first start",
        "slash_program:setup",
        "program",
        arguments="[status|theme NAME|trust|reset]",
        words="slash_program:setup_words",
    ),
    SlashCommand(
        "mcp",
        "MCP servers: their state, log, a new connection",
        "slash_servers:mcp",
        "program",
        arguments="[reconnect|disable|log NAME]",
        words="slash_servers:server_words",
    ),
    SlashCommand("doctor", "check what Callgate needs, and how to repair it", "slash_program:doctor", "program"),
    SlashCommand("statusline", "the state of your status line", "slash_program:statusline", "program"),
    SlashCommand("version", "the versions of the program and Python", "slash_program:version", "program", at_once=True),
    SlashCommand(
        "env", "program, platform, terminal, folders, variables; secrets masked", "slash_program:env", "program"
    ),
    SlashCommand(
        "quit",
        "leave; the session can be resumed",
        "slash_program:quit_",
        "program",
        aliases=("exit", "q"),
        at_once=True,
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
