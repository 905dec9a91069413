"""What may stand on the command line. A fault is one line that says what to do next."""

import argparse
import os
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from math import isfinite
from typing import Any, Literal, NoReturn

from callgate._version import __version__
from callgate.cli.terminal import safe

USAGE = 2
FASTEST = 1000.0
Form = Literal["screen", "lines", "json"]
"""How a command shows what happens: ``screen`` redraws, where the terminal can; ``lines`` never does."""

_COMMANDS: Mapping[str, Any] = {"demo": None, "tools": {"validate": None}}


@dataclass(frozen=True, slots=True)
class Given:
    """A command and its options, checked."""

    command: Literal["demo", "tools validate"]
    speed: float = 1.0
    form: Form = "screen"
    file: str | None = None


def read_arguments(words: list[str]) -> Given | int:
    """The command that was asked for, or the exit code when there is nothing left to do."""
    parser, parsers = _parsers()
    try:
        short = _unfinished(words, parser, parsers)
        if short is not None:
            # Nothing was done, so it is not 0: a script that lost its arguments should notice.
            short.print_help(sys.stderr)
            return USAGE
        found, unknown = parser.parse_known_args(words)
        if unknown:
            name = " ".join(each for each in (found.command, getattr(found, "about", None)) if each)
            _refuse(parsers[name] if name else parser, unknown[0])
        if found.command == "demo":
            form: Form = "json" if found.json else "lines" if found.no_color else "screen"
            return Given("demo", _speed(parsers["demo"], found.speed), form)
        if not found.jsonl:
            parsers["tools validate"].error("say --jsonl: JSON lines are the one form there is")
        return Given("tools validate", file=found.file)
    except SystemExit as end:
        return int(end.code or 0)


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        self.exit(USAGE, f"{self.prog}: {message}; see {self.prog} --help\n")


def _parsers() -> tuple[_Parser, dict[str, _Parser]]:
    common = _Parser(add_help=False)
    common.add_argument("--debug", action="store_true", default=argparse.SUPPRESS, help="show tracebacks")
    parser = _Parser(
        "callgate",
        description="The gate between a model and its tools.",
        epilog="exit codes: 0 done, 1 failed, 2 usage, 130 interrupted",
        parents=[common],
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"callgate {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", title="commands")

    demo = commands.add_parser(
        "demo",
        help="watch a scripted session: no key, no network, nothing left behind",
        description="A scripted model works on real files in a temporary folder that is removed at the end. "
        "Shows what the runtime promises, then checks it against the events: 1 if a promise was not kept.",
        parents=[common],
        allow_abbrev=False,
    )
    demo.add_argument("--json", action="store_true", help="print every event as a line of JSON, and nothing else")
    demo.add_argument("--speed", metavar="X", help="so many times faster (default 1, or $CALLGATE_DEMO_SPEED)")
    demo.add_argument("--no-color", action="store_true", help="plain lines, nothing redrawn (so does $NO_COLOR)")

    tools = commands.add_parser(
        "tools", help="about tools: validate", description="About tools.", parents=[common], allow_abbrev=False
    )
    about = tools.add_subparsers(dest="about", metavar="COMMAND", title="commands")
    validate = about.add_parser(
        "validate",
        help="what would become of a call's arguments",
        description='Reads {"tool": {"name", "parameters": JSON Schema}, "raw": what the model wrote} and answers '
        '{"outcome": "accepted|repaired|rejected", "arguments", "repairs", "errors"}, a line each.',
        parents=[common],
        allow_abbrev=False,
    )
    validate.add_argument("--jsonl", action="store_true", help="JSON lines in and out")
    validate.add_argument("file", metavar="FILE", nargs="?", help="where to read from (default: standard input)")
    return parser, {"demo": demo, "tools": tools, "tools validate": validate}


def _unfinished(words: list[str], parser: _Parser, parsers: Mapping[str, _Parser]) -> _Parser | None:
    """The parser whose help to show because no command was given. A misspelt command is an error of its own."""
    known, path = _COMMANDS, ""
    for word in words:
        if word.startswith("-"):
            if word in ("-h", "--help", "--version"):
                return None
            continue
        if word not in known:
            close = get_close_matches(word, known, n=1, cutoff=0.5)
            hint = f"; did you mean {close[0]}?" if close else f"; there are {', '.join(known)}"
            (parsers[path] if path else parser).exit(USAGE, f"{_prog(path)}: there is no command {word!r}{hint}\n")
        path = f"{path} {word}".strip()
        if known[word] is None:
            return None
        known = known[word]
    stray = next((word for word in words if word.startswith("-") and word != "--debug"), None)
    if stray is not None:
        return None  # argparse knows what is wrong with it
    return parsers[path] if path else parser


def _refuse(parser: _Parser, word: str) -> NoReturn:
    close = get_close_matches(word, re.findall(r"--[a-z][a-z-]*", parser.format_help()), n=1)
    parser.error(f"{safe(word)} is not known here" + (f", did you mean {close[0]}" if close else ""))


def _prog(path: str) -> str:
    return f"callgate {path}".strip()


def _speed(parser: _Parser, given: str | None) -> float:
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
