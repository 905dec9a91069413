"""The words of ``callgate -p``."""

import argparse
from argparse import ArgumentTypeError, Namespace
from math import inf, isfinite
from typing import get_args

from callgate.cli.parsing import CommandParser, count, one_of
from callgate.cli.prompt_arguments import add_prompt_flags
from callgate.words.model import Effort
from callgate.words.modes import MODES

_FOR_EVER = "for ever"
FORMATS = ("text", "json", "stream-json")
_LATER = {
    "--mcp-config": "servers of tools (MCP) cannot be connected yet",
    "--strict-mcp-config": "servers of tools (MCP) cannot be connected yet",
    "--agent": "agents of one's own are not there yet",
    "--agents": "agents of one's own are not there yet",
}
"""Flags that people know from elsewhere, and that have nothing behind them yet."""


def read_headless(words: list[str]) -> Namespace:
    """Ends the program with a line about the first fault."""
    words = [*words]
    for at, word in enumerate(words):
        flag = word.partition("=")[0]
        if word == "--wait":
            words[at] = f"--wait={_FOR_EVER}"  # a value only with "=": the next word is the prompt
        if flag in _LATER:
            _parser().error(f"{flag} is not possible: {_LATER[flag]}")
        if word == "--":
            break
    parser = _parser()
    options, unknown = parser.parse_known_args(words)
    if unknown:
        extra = unknown[0]
        if extra.startswith("-"):
            parser.refuse(extra)
        parser.error(f"{extra!r} is one prompt too many: put the whole prompt in quotes")
    _check(parser, options)
    return options


def _parser() -> CommandParser:
    parser = CommandParser(
        "callgate -p",
        usage="callgate -p [PROMPT] [options]",
        description="Runs the agent once, without a terminal: it works until it is done, and prints its answer. It "
        "never asks: a question is kept, what does not depend on it is finished, and the exit code is 3.",
        epilog="exit codes: 0 done, 1 failed, 2 usage, 3 a question waits for a person, 4 a limit was reached, "
        "130 interrupted",
        allow_abbrev=False,
    )
    parser.add_argument("-p", "--print", action="store_true", help=argparse.SUPPRESS)
    parser.set_defaults(attended=False)
    parser.add_argument("prompt", metavar="PROMPT", nargs="?", help="what to do; standard input is added to it")
    parser.add_argument("--debug", action="store_true", help="show tracebacks")
    _add_formats(parser.add_argument_group("in and out"))
    model = parser.add_argument_group("the model")
    add_model_flags(model)
    add_prompt_flags(model)
    add_rules_flags(parser.add_argument_group("what it may do"))
    add_session_flags(parser.add_argument_group("the session"))
    return parser


_Group = argparse._ArgumentGroup  # pyright: ignore[reportPrivateUsage] - it has no public name


def _add_formats(group: _Group) -> None:
    group.add_argument(
        "--output-format",
        metavar="F",
        type=one_of(*FORMATS),
        default="text",
        help="text: the answer (default); json: one object at the end; stream-json: every event as a line of JSON",
    )
    group.add_argument(
        "--input-format",
        metavar="F",
        type=one_of("text", "stream-json"),
        default="text",
        help="stream-json: inputs as lines of JSON, such as prompts and answers, until standard input ends",
    )
    group.add_argument(
        "--json-schema", metavar="FILE|JSON", help="the answer must be JSON of this schema; it is sent back once"
    )
    group.add_argument(
        "--wait",
        metavar="S",
        type=_seconds,
        help="wait for answers to questions (callgate answer), and go on; --wait=S: at most S seconds for each",
    )


def add_model_flags(group: _Group) -> None:
    group.add_argument("--model", metavar="NAME", help="such as anthropic/claude-… or ollama/…")
    group.add_argument("--fallback-model", metavar="NAME", help="answers when the model is overloaded")
    group.add_argument("--effort", metavar="LEVEL", type=one_of(*get_args(Effort), "auto"), help="low … max, or auto")


def add_rules_flags(group: _Group) -> None:
    for effect, what in (("allow", "runs without a question"), ("ask", "is asked about"), ("deny", "never runs")):
        group.add_argument(
            f"--{effect}", metavar="RULE", action="append", default=[], help=f"{what}, such as 'Bash(npm test)'"
        )
    group.add_argument("--mode", metavar="MODE", type=one_of(*MODES), help=", ".join(MODES))
    group.add_argument("--tools", metavar="LIST", type=_tool_names, help="only these tools: Read,Grep; '' is none")
    group.add_argument("--add-dir", metavar="DIR", action="append", default=[], help="a further folder to read in")
    group.add_argument("--max-turns", metavar="N", type=count, help="stop after so many requests to the model")
    group.add_argument("--max-budget", metavar="DOLLARS", type=_dollars, help="stop before the session costs more")
    group.add_argument("--token-budget", metavar="N", type=count, help="tokens the model may write for this prompt")
    group.add_argument("--settings", metavar="FILE|JSON", help="settings above those in files")
    group.add_argument("--trust", action="store_true", help="trust this folder, this once, with its tools and hooks")
    group.add_argument("--bare", action="store_true", help="Bash, Read and Edit alone; no project files, hooks, skills")


def add_session_flags(group: _Group) -> None:
    group.add_argument(
        "-c", "--continue", dest="latest", action="store_true", help="go on with the newest session here"
    )
    group.add_argument("-r", "--resume", metavar="ID", help="go on with this one: an id, a title, words, or a log file")
    group.add_argument("--fork", action="store_true", help="on a copy of it, which leaves the original as it is")
    group.add_argument(
        "--resume-at", metavar="MESSAGE", help="from this message on, such as a3; what came later is left"
    )
    group.add_argument("--session-id", metavar="ID", help="the id of a new session")
    group.add_argument("--no-save", action="store_true", help="keep no record")


def _check(parser: CommandParser, options: Namespace) -> None:
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
    if options.json_schema is not None and options.input_format == "stream-json":
        parser.error("--json-schema is about one answer, and stream-json may bring several prompts")
    if options.prompt is not None and not options.prompt.strip():
        parser.error("the prompt is empty: say what to do")


def _given(options: Namespace, flag: str) -> bool:
    name = {"--continue": "latest"}.get(flag, flag.removeprefix("--").replace("-", "_"))
    return getattr(options, name) not in (None, False)


# ---- values -------------------------------------------------------------------------------------------------------


def _tool_names(text: str) -> tuple[str, ...]:
    """Names between commas or blanks; an empty text is no tool at all."""
    return tuple(text.replace(",", " ").split())


def _number(text: str, what: str) -> float:
    try:
        found = float(text)
    except ValueError:
        found = -1.0
    if not (isfinite(found) and found > 0):
        raise ArgumentTypeError(f"is {what} above 0, not {text!r}")
    return found


def _seconds(text: str) -> float:
    return inf if text == _FOR_EVER else _number(text, "a number of seconds")


def _dollars(text: str) -> float:
    return _number(text.removeprefix("$"), "a sum in dollars")
