"""The table of slash commands, sorted by group."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from callgate.tui.port import SlashCommand, SlashGroup


def _command(form: str, about: str, run: str, *, words: str = "", **more: Any) -> SlashCommand:
    """Return a row of the table.

    form   the name of the command, followed by the form of its arguments
    run    the module ``slash_…``, followed by ``:name`` if the function has another name than the command
    words  the function of the same module that returns candidates for the arguments
    """
    name, _, arguments = form.partition(" ")
    module, _, function = run.partition(":")
    words = f"slash_{module}:{words}" if words else ""
    return SlashCommand(name, about, f"slash_{module}:{function or name}", arguments=arguments, words=words, **more)


_GROUPS: Mapping[SlashGroup, Iterable[SlashCommand]] = {
    "conversation": (
        _command("compact [FOCUS]", "put a summary in place of the older history", "session", at_rest=True),
        _command("continue", "go on with what was left unfinished", "session:go_on", at_rest=True),
        _command("copy", "copy the last answer to the clipboard", "screen"),
        _command("plan [GOAL]", "switch to the plan mode, and have a goal planned", "session"),
        _command("init [WISH]", "have AGENTS.md written for this folder", "session"),
        _command("review [RANGE]", "have changes reviewed; nothing is changed", "session"),
        _command("recap", "one line on where things stand", "tools", aliases=("away", "catchup")),
        _command("rewind", "go back to an earlier message", "session", at_rest=True),
    ),
    "session": (
        _command("clear", "begin a new session; this one is kept", "session", aliases=("new",), at_rest=True),
        _command("resume [ID|WORDS]", "go on in another session", "session", at_rest=True),
        _command("branch", "go on in a copy of this session", "session", at_rest=True),
        _command("title [NAME]", "name the session", "session", aliases=("rename",)),
        _command("tags [WORD…|none]", "mark the session with words", "session"),
        _command(
            "export [FILE.md|.html|.json]", "write the session to a file, secrets masked", "session", words="formats"
        ),
    ),
    "changes": (
        _command("diff [N]", "the changes of the session", "changes"),
        _command(
            "undo [turn|call|session|N] [--partly]",
            "take changes back, after showing them",
            "changes",
            words="scopes",
            at_rest=True,
        ),
    ),
    "model": (
        _command(
            "model [NAME] [--save]", "choose the model; --save keeps it for new sessions", "model", words="model_names"
        ),
        _command("effort [LEVEL|current]", "how much work the model puts into its answers", "model", words="efforts"),
    ),
    "looking": (
        _command("context", "the use of the model's window by the next request", "usage"),
        _command("cost", "tokens and dollars of the session", "tools", aliases=("usage",)),
        _command(
            "tools [TEXT]",
            "the tools that the model has, or those with a text in their names",
            "tools",
            words="tool_words",
        ),
        _command("skills", "the skills that there are", "tools"),
        _command("tasks [stop ID|all]", "background work, and how to stop it", "tools", words="task_words"),
        _command(
            "calls [COUNT]",
            "the last calls: arguments, decision, times, result",
            "tools",
            aliases=("debug-tool-call",),
        ),
        _command(
            "perf [--json] [--limit N]",
            "memory, CPU, times of requests and tools, tokens, cache",
            "usage",
            words="perf_words",
            aliases=("stats", "perf-issue"),
        ),
    ),
    "permissions": (
        _command("mode [MODE]", "what needs a question", "session", words="modes"),
        _command(
            "permissions [revoke ID…]",
            "rules in force and remembered answers",
            "tools",
            words="permission_words",
            aliases=("rules",),
        ),
        _command("sandbox", "the state of the sandbox, and why", "program"),
        _command("add-dir [DIR]", "allow reading in a further folder", "session:add_dir", at_rest=True),
        _command("hooks", "the hooks of the settings", "tools"),
    ),
    "program": (
        _command("help [COMMAND]", "the commands and keys", "program:help_", words="names", at_once=True),
        _command("keys", "the keys of the terminal", "program", at_once=True),
        _command("config [KEY [VALUE]]", "settings and where they come from", "program", words="setting_words"),
        _command(
            "view [inline|full|status]",
            "show the conversation inline or on the full screen; stored for later",
            "screen",
            words="view_words",
            aliases=("tui",),
        ),
        _command("theme [auto|dark|light|mono]", "the colours; kept for later", "screen", words="theme_words"),
        _command("vim [on|off]", "the keys of vim in the input line; kept for later", "screen", words="vim_words"),
        _command(
            "setup [status|theme NAME|trust|reset]",
            "the steps of a first start",
            "program",
            words="setup_words",
            aliases=("onboarding",),
        ),
        _command(
            "mcp [reconnect|disable|log NAME]",
            "MCP servers: their state, log, a new connection",
            "servers",
            words="server_words",
        ),
        _command("doctor", "check what Callgate needs, and how to repair it", "program"),
        _command("statusline", "the state of your status line", "program"),
        _command("version", "the versions of the program and Python", "program", at_once=True),
        _command("env", "program, platform, terminal, folders, variables; secrets masked", "program"),
        _command("quit", "leave; the session can be resumed", "program:quit_", aliases=("exit", "q"), at_once=True),
    ),
}
COMMANDS: tuple[SlashCommand, ...] = tuple(
    replace(each, group=group) for group, rows in _GROUPS.items() for each in rows
)
"""All built-in commands, sorted by group."""

MISSING: Mapping[str, str] = {
    "agents": "there are no sub-agents yet; /tasks shows commands that run in the background.",
    "workflows": "there are no workflows yet; a custom command in .callgate/commands holds a prompt to repeat.",
    "memory": "there is no memory of the model's own yet; write what it should know into AGENTS.md (/init makes one).",
    "local-memory": "there is no memory of the model's own yet; write what it should know into AGENTS.md.",
    "local-vault": "keys are stored outside of a session: callgate auth set PROVIDER.",
    "fork": "there are no sub-agents yet; /branch goes on in a copy of this session.",
    "share": "sessions are not uploaded; /export FILE.html writes one with secrets masked.",
    "commit": "there is no command of its own; ask for it: commit the staged changes.",
    "cron": "there are no schedules yet; the scheduler of your system can run callgate -p.",
    "triggers": "there are no schedules yet; the scheduler of your system can run callgate -p.",
    "break-cache": "the prompt cache cannot be skipped yet; /perf shows what the cache saved.",
    "plugins": "there are no plugins; tools, skills and custom commands are files in .callgate or your settings.",
    "login": "keys are stored outside of a session: callgate auth set PROVIDER.",
    "logout": "keys are removed outside of a session: callgate auth remove PROVIDER.",
}
"""Messages for names that users may try although there is no such command: what is missing, and what to do instead."""
