"""The grammar of the command line. A fault is one line that says what to do next."""

import os
import sys
from argparse import Namespace
from dataclasses import dataclass
from math import isfinite
from typing import Literal

from callgate._version import __version__
from callgate.cli.answering import add_answer, check_answer
from callgate.cli.auth_arguments import add_auth, check_auth
from callgate.cli.changes_arguments import add_changes, add_undo, check_changes, check_undo
from callgate.cli.config_arguments import add_config, check_config
from callgate.cli.doctor_arguments import add_doctor
from callgate.cli.mcp_arguments import add_mcp
from callgate.cli.mcp_serve_arguments import check_mcp_serve
from callgate.cli.mcp_servers_arguments import check_mcp_servers
from callgate.cli.overview import ELSEWHERE, OverviewParser
from callgate.cli.parsing import USAGE, CommandParser, Group, one_of
from callgate.cli.policy.arguments import add_policy, check_policy, command
from callgate.cli.policy.trust_arguments import add_trust
from callgate.cli.prompt_arguments import add_prompt
from callgate.cli.record import add_record, check_record
from callgate.cli.sandbox_arguments import add_sandbox
from callgate.cli.session.arguments import add_audit, add_log, add_session
from callgate.cli.statusline_arguments import add_statusline

FASTEST = 1000.0
Form = Literal["color", "plain", "json"]
"""The output of the demo: lines, in colours where the terminal has them or never, or its events as JSON."""


@dataclass(frozen=True, slots=True)
class ParsedCommand:
    """A command such as ``session list``, and its options, checked."""

    command: str
    options: Namespace


def read_arguments(words: list[str]) -> ParsedCommand | int:
    """The command that was asked for, or the exit code when there is nothing left to do."""
    commands = grammar()
    parser = commands.parser
    if words[:1] == ["help"]:
        words = [*words[1:], "--help"]
    try:
        path, found = commands.find(words)
        own = found.parser if isinstance(found, Group) else found
        if isinstance(found, CommandParser):
            own.refuse_unknown(words)
        options, unknown = parser.parse_known_args(words)
        if unknown:
            own.refuse(unknown[0])
        if isinstance(found, Group):
            # Nothing was done, so it is not 0: a script that lost its arguments should notice.
            own.print_help(sys.stderr)
            return USAGE
        _check(path, own, options)
        return ParsedCommand(path, options)
    except SystemExit as end:
        return int(end.code or 0)


def grammar() -> Group:
    """Every command with its options."""
    parser = OverviewParser("callgate", allow_abbrev=False)
    parser.add_argument("--debug", action="store_true", help="show tracebacks")
    parser.add_argument("--version", action="version", version=f"callgate {__version__}")
    commands = Group(parser, dest="command", elsewhere=ELSEWHERE)
    parser.summaries = commands.summaries
    _add_demo(commands)
    add_auth(commands)
    add_doctor(commands)
    add_config(commands)
    _add_completion(commands)
    _add_update(commands)
    add_session(commands)
    add_log(commands)
    add_audit(commands)
    add_answer(commands)
    add_changes(commands)
    add_undo(commands)
    add_policy(commands)
    add_trust(commands)
    add_sandbox(commands)
    _add_tools(commands)
    add_mcp(commands)
    add_prompt(commands)
    add_statusline(commands)
    add_record(commands)
    return commands


def _add_demo(commands: Group) -> None:
    demo = commands.command(
        "demo",
        "watch a scripted session; it needs no key and no network",
        "A scripted model works on real files in a temporary folder that is removed at the end. "
        "Shows what the runtime promises, then checks it against the events: 1 if a promise was not kept.",
    )
    demo.add_argument("--json", action="store_true", help="print every event as a line of JSON, and nothing else")
    demo.add_argument("--lines", action="store_true", help="leave out the first part, the agent in this terminal")
    demo.add_argument("--speed", metavar="X", help="so many times faster (default 1, or $CALLGATE_DEMO_SPEED)")
    demo.add_argument("--no-color", action="store_true", help="lines without colours (so does $NO_COLOR)")


def _add_update(commands: Group) -> None:
    command(
        commands,
        "update",
        "the command that installs the newest version",
        "Prints the command for the way this one was installed (pip, pipx, uv, a folder or Git) and runs nothing.",
        "callgate update",
    )


def _add_completion(commands: Group) -> None:
    parser = command(
        commands,
        "completion",
        "the script that lets bash, zsh or fish complete commands",
        "Prints a script, which completes commands, options, their values and the keys of settings. It is static: "
        "print it again after an update.",
        "mkdir -p ~/.local/share/bash-completion/completions",
        "callgate completion bash > ~/.local/share/bash-completion/completions/callgate",
        "mkdir -p ~/.zfunc     (and fpath+=~/.zfunc above compinit in ~/.zshrc)",
        "callgate completion zsh > ~/.zfunc/_callgate",
        "mkdir -p ~/.config/fish/completions",
        "callgate completion fish > ~/.config/fish/completions/callgate.fish",
    )
    parser.add_argument("shell", metavar="SHELL", type=one_of("bash", "zsh", "fish"), help="bash, zsh or fish")


def _add_tools(commands: Group) -> None:
    tools = commands.group(
        "tools",
        "tools: list, new, rank, validate",
        "The tools of the agent: those that come with it, and those that you write.",
    )
    listed = command(
        tools,
        "list",
        "the tools that a model gets here, and those that it does not get",
        "The tools that come with Callgate, custom ones with their files, and what is not available and why: a package "
        "that is missing, a file with a fault, a folder that is not trusted. `callgate mcp test NAME` shows the tools "
        "of an MCP server.",
        "callgate tools list",
    )
    listed.add_argument("--json", action="store_true", help="print them as a list of JSON")
    new = tools.command(
        "new",
        "write a file of tools to begin with",
        "Writes .callgate/tools/NAME.py in the current folder. Its tools count once the folder is trusted.",
    )
    new.add_argument("name", metavar="NAME", help="of the tool, and of the file")
    rank = command(
        tools,
        "rank",
        "which of many tools fit a query",
        'Reads {"tools": [{"name", "description", "input_schema"?, "server"?, "server_description"?}, …]} and answers '
        '{"ready": true}; then, for each {"query": "…", "k": 10}, answers {"names": […]}, best first. A line that '
        'cannot be used answers {"error": "…"}, and the rest goes on.',
        "callgate tools rank --jsonl < lines.jsonl",
    )
    rank.add_argument("--jsonl", action="store_true", help="JSON lines in and out")
    rank.add_argument(
        "--embeddings",
        metavar="WHEN",
        type=one_of("auto", "on", "off"),
        default="auto",
        help="auto: with vectors if they are installed (default); on: only with them; off: by words alone",
    )
    validate = tools.command(
        "validate",
        "how the arguments of a call would be read and repaired",
        'Reads {"tool": {"name", "parameters": JSON Schema}, "raw": what the model wrote} and answers '
        '{"outcome": "accepted|repaired|rejected", "arguments", "repairs", "errors"}, a line each.',
    )
    validate.add_argument("--jsonl", action="store_true", help="JSON lines in and out")
    validate.add_argument("file", metavar="FILE", nargs="?", help="where to read from (default: standard input)")


def _check(path: str, parser: CommandParser, options: Namespace) -> None:
    """Checks combinations of options, which no single option's parser can see."""
    if path == "demo":
        options.speed = _speed(parser, options.speed)
        options.form = "json" if options.json else "plain" if options.no_color else "color"
    elif path == "answer":
        check_answer(parser, options)
    elif path == "changes":
        check_changes(parser, options)
    elif path == "undo":
        check_undo(parser, options)
    elif path.startswith("auth "):
        check_auth(path, parser, options)
    elif path.startswith("config "):
        check_config(path, parser, options)
    elif path.startswith("policy "):
        check_policy(path, parser, options)
    elif path == "sandbox run":
        options.words = options.words[1:] if options.words[:1] == ["--"] else options.words
        if not options.words:
            parser.error("say which command: callgate sandbox run -- COMMAND")
    elif path == "mcp serve":
        check_mcp_serve(parser, options)
    elif path.startswith("mcp "):
        check_mcp_servers(path, parser, options)
    elif path == "record":
        check_record(parser, options)
    elif path in ("tools rank", "tools validate") and not options.jsonl:
        parser.error("say --jsonl: JSON lines are the only format")
    elif path == "session verify" and options.all and (options.which or options.head):
        parser.error("say --all, or which one")
    elif path in ("session export", "audit") and options.force and options.output in (None, "-"):
        parser.error("--force is about a file: say which with --output")


def _speed(parser: CommandParser, given: str | None) -> float:
    name, text = ("--speed", given) if given is not None else ("CALLGATE_DEMO_SPEED", _from_environment())
    try:
        speed = float(text)
    except ValueError:
        speed = 0.0
    if not (isfinite(speed) and 0 < speed <= FASTEST):
        parser.error(f"{name} must be a number above 0 and up to {FASTEST:g}, not {text!r}")
    return speed


def _from_environment() -> str:
    return os.environ.get("CALLGATE_DEMO_SPEED") or "1"
