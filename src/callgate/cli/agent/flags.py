"""Flags that ``callgate`` in a terminal and ``callgate -p`` share: model, rules, session."""

import argparse
from argparse import ArgumentTypeError, Namespace
from math import isfinite
from typing import get_args

from callgate.cli.parsing import CommandParser, count, one_of
from callgate.words.model import Effort
from callgate.words.modes import MODES

FlagGroup = argparse._ArgumentGroup  # pyright: ignore[reportPrivateUsage] - it has no public name
_LATER = {
    "--agent": "agents of one's own are not there yet",
    "--agents": "agents of one's own are not there yet",
}
"""Flags that people know from elsewhere, and that have nothing behind them yet."""


def add_model_flags(group: FlagGroup) -> None:
    group.add_argument("--model", metavar="NAME", help="such as anthropic/claude-… or ollama/…")
    group.add_argument("--fallback-model", metavar="NAME", help="answers when the model is overloaded")
    group.add_argument("--effort", metavar="LEVEL", type=one_of(*get_args(Effort), "auto"), help="low … max, or auto")


def add_rules_flags(group: FlagGroup) -> None:
    for effect, what in (("allow", "runs without a question"), ("ask", "is asked about"), ("deny", "never runs")):
        group.add_argument(
            f"--{effect}", metavar="RULE", action="append", default=[], help=f"{what}, such as 'Bash(npm test)'"
        )
    group.add_argument("--mode", metavar="MODE", type=one_of(*MODES), help=", ".join(MODES))
    group.add_argument("--tools", metavar="LIST", type=_tool_names, help="only these tools: Read,Grep; '' is none")
    group.add_argument(
        "--add-dir",
        metavar="DIR",
        action="append",
        default=[],
        help="a further folder to read in; file tools change the workspace alone",
    )
    group.add_argument("--max-turns", metavar="N", type=count, help="stop after so many requests to the model")
    group.add_argument("--max-budget", metavar="DOLLARS", type=_dollars, help="stop before the session costs more")
    group.add_argument("--token-budget", metavar="N", type=count, help="tokens the model may write for this prompt")
    group.add_argument("--settings", metavar="FILE|JSON", help="settings above those in files")
    group.add_argument("--trust", action="store_true", help="trust this folder, this once, with its tools and hooks")
    group.add_argument("--bare", action="store_true", help="Bash, Read and Edit alone; no project files, hooks, skills")


def add_server_flags(group: FlagGroup) -> None:
    group.add_argument(
        "--mcp-config", metavar="FILE|JSON", action="append", default=[], help="MCP servers beside those of files"
    )
    group.add_argument("--strict-mcp-config", action="store_true", help="only the servers of --mcp-config")


def add_session_flags(group: FlagGroup) -> None:
    group.add_argument(
        "-c", "--continue", dest="latest", action="store_true", help="go on with the newest session here"
    )
    group.add_argument(
        "-r",
        "--resume",
        metavar="ID",
        help="go on with this one: an id, a title, words, or a log file; in a terminal without one: a list",
    )
    group.add_argument("--fork", action="store_true", help="on a copy of it, which leaves the original as it is")
    group.add_argument(
        "--resume-at", metavar="MESSAGE", help="from this message on, such as a3; what came later is left"
    )
    group.add_argument("--session-id", metavar="ID", help="the id of a new session")
    group.add_argument("--no-save", action="store_true", help="keep no record")


def refuse_later(parser: CommandParser, words: list[str]) -> None:
    """Ends the program at a flag that has nothing behind it yet."""
    for word in words[: words.index("--")] if "--" in words else words:
        flag = word.partition("=")[0]
        if flag in _LATER:
            parser.error(f"leave out {flag}: {_LATER[flag]}")


def check_session_flags(parser: CommandParser, options: Namespace) -> None:
    """Checks combinations of the flags about the session and the prompt."""
    resumes = options.latest or options.resume is not None
    for first, second in (
        ("--continue", "--resume"),
        ("--no-save", "--continue"),
        ("--no-save", "--resume"),
        ("--no-save", "--session-id"),
    ):
        if _given(options, first) and _given(options, second):
            parser.error(f"say {first} or {second}, not both")
    for flag in ("--fork", "--resume-at"):
        if _given(options, flag) and not resumes:
            parser.error(f"{flag} is about an earlier session: say --continue or --resume ID too")
    if options.session_id is not None and resumes and not options.fork:
        parser.error("--session-id is for a new session: say --fork too, to go on in a copy with that id")
    if options.prompt is not None and not options.prompt.strip():
        parser.error("the prompt is empty: say what to do")


def _given(options: Namespace, flag: str) -> bool:
    name = {"--continue": "latest"}.get(flag, flag.removeprefix("--").replace("-", "_"))
    return getattr(options, name) not in (None, False)


# ---- values -------------------------------------------------------------------------------------------------------


def _tool_names(text: str) -> tuple[str, ...]:
    """Names between commas or blanks; an empty text is no tool at all."""
    return tuple(text.replace(",", " ").split())


def positive(text: str, what: str) -> float:
    """A finite number above 0; ``what`` names it in the error."""
    try:
        found = float(text)
    except ValueError:
        found = -1.0
    if not (isfinite(found) and found > 0):
        raise ArgumentTypeError(f"must be {what} above 0, not {text!r}")
    return found


def _dollars(text: str) -> float:
    return positive(text.removeprefix("$"), "a sum in dollars")
