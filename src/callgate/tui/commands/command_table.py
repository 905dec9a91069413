"""The table of slash commands, sorted by group."""

from collections.abc import Mapping, Sequence
from typing import Any

from callgate.tui.port import SlashCommand
from callgate.words.model import EFFORTS
from callgate.words.modes import MODES


def _command(form: str, about: str, run: str, *, words: str | Mapping[str, str] = "", **more: Any) -> SlashCommand:
    """Return a row of the table.

    form   the name of the command, followed by the form of its arguments
    run    the module ``slash_…``, followed by ``:name`` if the function and the command have different names
    words  candidates for the arguments with their descriptions, or the function of the same module that returns them
    """
    name, _, arguments = form.partition(" ")
    module, _, function = run.partition(":")
    words = f"slash_{module}:{words}" if words and isinstance(words, str) else words
    return SlashCommand(name, about, f"slash_{module}:{function or name}", arguments=arguments, words=words, **more)


THEMES = ("auto", "dark", "light", "mono")

GROUPS: Mapping[str, Sequence[SlashCommand]] = {
    "conversation": (
        _command("compact [FOCUS]", "replace the older history with a summary", "session", at_rest=True),
        _command("continue", "continue unfinished work", "session:go_on", at_rest=True),
        _command("copy", "copy the last answer to the clipboard", "program"),
        _command("plan [GOAL|off]", "switch to plan mode and plan a goal", "session"),
        _command("init [WISH]", "let the agent write AGENTS.md for this folder", "session"),
        _command("review [RANGE]", "let the agent review changes without editing files", "session"),
        _command("recap", "summarize the session in one line", "tools", aliases=("away", "catchup")),
        _command("rewind", "rewind to an earlier message", "session", at_rest=True),
    ),
    "session": (
        _command("clear", "start a new session; this one is kept", "session", aliases=("new",), at_rest=True),
        _command("resume [ID|WORDS]", "resume another session", "session", at_rest=True),
        _command("branch", "continue in a copy of this session", "session", at_rest=True),
        _command("title [NAME]", "name the session", "session", aliases=("rename",)),
        _command("tags [WORD…|none]", "set the tags of the session", "session"),
        _command(
            "export [FILE.md|.html|.json]",
            "write the session to a file, with masked secrets",
            "session",
            words={"session.md": "markdown", "session.html": "html", "session.json": "ai-sdk"},
        ),
    ),
    "changes": (
        _command("diff [N]", "list the changes of the session, or show one", "session"),
        _command(
            "undo [turn|call|session|N] [--partly]",
            "show changes and undo them",
            "session",
            words={
                "turn": "the changes of the last turn with changes",
                "call": "the newest change",
                "session": "all changes of the session",
                "--partly": "also if some changes cannot be undone",
            },
            at_rest=True,
        ),
    ),
    "model": (
        _command(
            "model [NAME] [--save]", "choose the model; --save keeps it for new sessions", "model", words="model_names"
        ),
        _command(
            "effort [LEVEL|current]",
            "set the reasoning effort of the model",
            "model",
            words={
                "current": "show the current level and its origin",
                **dict.fromkeys(EFFORTS, ""),
                "auto": "the default of the model",
            },
        ),
    ),
    "looking": (
        _command("context", "show how the next request uses the context window", "usage"),
        _command("cost", "show the tokens and cost of the session", "tools", aliases=("usage",)),
        _command(
            "tools [TEXT]",
            "list tools, optionally by a text in their names",
            "tools",
            words="tool_words",
        ),
        _command("skills", "list the skills", "tools"),
        _command("tasks [stop ID|all]", "list and stop background tasks", "tools", words="task_words"),
        _command(
            "calls [COUNT]",
            "list the last calls with arguments, decision, times and result",
            "tools",
            aliases=("debug-tool-call",),
        ),
        _command(
            "perf [--json] [--limit N]",
            "show memory, CPU, times of requests and tools, tokens, cache",
            "usage",
            words={"--json": "write the whole report to a file", "--limit 50": "more requests"},
            aliases=("stats", "perf-issue"),
        ),
    ),
    "permissions": (
        _command(
            "mode [MODE]",
            "show or set the permission mode",
            "session",
            words={name: rules.meaning for name, rules in MODES.items()},
        ),
        _command(
            "permissions [revoke ID…]",
            "list active rules and remembered answers",
            "tools",
            words={"revoke": "remove remembered answers, by their ids"},
            aliases=("rules",),
        ),
        _command("sandbox", "show the state of the sandbox and its reason", "program"),
        _command("add-dir [DIR]", "allow reading in a further folder", "session:add_dir", at_rest=True),
        _command("hooks", "list the hooks in the settings", "tools"),
    ),
    "program": (
        _command("help [COMMAND]", "list commands and keys", "program:help_", words="names", at_once=True),
        _command("keys", "list the keys of the terminal", "program", at_once=True),
        _command(
            "config [KEY [VALUE]]", "show settings and their origins, or set one", "program", words="setting_words"
        ),
        _command(
            "view [inline|full|status]",
            "show the conversation inline or on the full screen; stored for later",
            "program",
            words={
                "inline": "finished output stays in the scrollback of the terminal",
                "full": "the conversation uses the full screen",
                "status": "show the current view",
            },
            aliases=("tui",),
        ),
        _command(
            "theme [auto|dark|light|mono]",
            "set the colours; stored for later",
            "program",
            words=dict.fromkeys(THEMES, ""),
        ),
        _command(
            "vim [on|off]",
            "use vim keys in the input line; stored for later",
            "program",
            words={"on": "Esc leaves the insert mode", "off": "Emacs keys"},
        ),
        _command(
            "setup [status|theme NAME|trust|reset]",
            "show or change the first-start settings",
            "program",
            words={
                "status": "show the steps and their state",
                **{f"theme {name}": "" for name in THEMES},
                "trust": "show the settings and code of this folder, and trust it",
                "reset": "reset colours, view and trust of this folder",
            },
            aliases=("onboarding",),
        ),
        _command(
            "mcp [reconnect|disable|log NAME]",
            "show MCP servers, their logs, and reconnect",
            "servers",
            words="server_words",
        ),
        _command("doctor", "find problems and how to repair them", "program"),
        _command("statusline", "show the state of the status line", "program"),
        _command("version", "show the versions of Callgate and Python", "program", at_once=True),
        _command(
            "env",
            "show versions, platform, terminal, folders and variables; secrets are masked",
            "program",
            aliases=("status",),
        ),
        _command("quit", "exit; the session can be resumed", "program:quit_", aliases=("exit", "q"), at_once=True),
    ),
}
COMMANDS: tuple[SlashCommand, ...] = tuple(each for rows in GROUPS.values() for each in rows)
"""All built-in commands, sorted by group."""

MISSING: Mapping[str, str] = {
    "agents": "sub-agents are not supported yet; /tasks shows background commands.",
    "workflows": "workflows are not supported yet; to repeat a prompt, create a custom command in .callgate/commands.",
    "memory": "memory is not supported yet; write facts for the model into AGENTS.md (/init creates it).",
    "local-memory": "memory is not supported yet; write facts for the model into AGENTS.md.",
    "local-vault": "store keys with this command: callgate auth set PROVIDER.",
    "fork": "sub-agents are not supported yet; /branch continues in a copy of this session.",
    "share": "sessions cannot be uploaded; /export FILE.html writes the session with masked secrets.",
    "commit": "ask the agent instead: commit the staged changes.",
    "cron": "schedules are not supported yet; run callgate -p with the scheduler of your system.",
    "triggers": "schedules are not supported yet; run callgate -p with the scheduler of your system.",
    "break-cache": "the prompt cache cannot be skipped yet; /perf shows what the cache saved.",
    "plugins": "plugins are not supported; tools, skills and custom commands are files in .callgate or your settings.",
    "login": "store keys with this command: callgate auth set PROVIDER.",
    "logout": "remove keys with this command: callgate auth remove PROVIDER.",
}
"""Messages for names that users may try although there is no such command: what is missing, and what to do instead."""
