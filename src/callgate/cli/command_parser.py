"""Builds argument parsers from the rows of commands. An error message is one line that says what to do next."""

import argparse
import re
import sys
from argparse import SUPPRESS, ArgumentTypeError
from collections.abc import Callable, Iterable, Sequence
from difflib import get_close_matches
from shutil import get_terminal_size
from textwrap import fill
from typing import Any, NoReturn

from callgate._version import __version__
from callgate.cli.command_rows import GROUPS, ArgumentRow, CommandMisuse, CommandRow
from callgate.cli.terminal import safe
from callgate.words.endings import EXIT_CODES_LINE

USAGE = 2
COLUMNS = 80
ELSEWHERE = {
    "version": "callgate --version",
    "resume": "callgate --resume",
    "continue": "callgate --continue",
    "run": "callgate -p PROMPT",
    "chat": "callgate, and nothing more",
    "login": "callgate auth set anthropic, or openai, or gemini",
    "logout": "callgate auth remove, and the name of the provider",
    "model": "callgate --model NAME; callgate config set models.default NAME keeps it",
    "models": "callgate --model NAME; callgate config set models.default NAME keeps it",
    "settings": "callgate config list",
    "permissions": "callgate policy list",
    "init": "/init in the terminal",
}
"""Commands of other programs, and the command lines that do the same here."""

_START = """\
usage: callgate [PROMPT] [options]     the agent in this terminal
       callgate -p PROMPT [options]    the agent without a terminal, for scripts
       callgate COMMAND ...

A coding agent for the terminal. It shows every change before it is made, and can undo it."""
_END = """\
options of the agent (all of them: callgate -p --help):
  -c, --continue     continue the newest session of this folder
  -r, --resume [ID]  continue a session; without ID, show a list
  --model NAME       such as anthropic/claude-opus-5-5 or ollama/qwen3
  --mode MODE        how calls are judged: default, plan, accept_edits, ...

  --version, --help (also of every command), --debug (tracebacks)
"""


class _Paragraphs(argparse.HelpFormatter):
    """A help formatter that keeps line breaks, so that examples can be copied."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        hang = {True: f"{indent}    ", False: indent}
        return "\n".join(
            fill(line, width, initial_indent=indent, subsequent_indent=hang[line[:1] == " "], break_on_hyphens=False)
            for line in text.split("\n")
        )


class CommandParser(argparse.ArgumentParser):
    """The parser of one command. ``unknown`` is added to the error for an unknown option if there is no similar
    option."""

    unknown = ""

    def __init__(self, prog: str, **more: Any) -> None:
        super().__init__(prog, allow_abbrev=False, formatter_class=_Paragraphs, **more)
        self.add_argument("--debug", action="store_true", help="show tracebacks")

    def error(self, message: str) -> NoReturn:
        lacking = re.fullmatch(r"argument (\S+): expected one argument", message)
        action = None if lacking is None else self._option_string_actions.get(lacking[1].rpartition("/")[2])
        if action is not None:
            flag = action.option_strings[-1]
            message = f"{flag} needs a value: {flag} {action.metavar} ({action.help})"
        self.exit(USAGE, f"{self.prog}: {safe(message)}; see {self.prog} --help\n")

    def parse_words(self, words: Sequence[str]) -> dict[str, Any]:
        """Return the values by parameter name. An error ends the program with exit code 2.

        Unknown options are rejected before the words are parsed, so that their values are not parsed as arguments. A
        command that takes the words of another command skips this check.
        """
        if not any(action.nargs == argparse.REMAINDER for action in self._actions):
            for word in words[: words.index("--")] if "--" in words else words:
                if word.startswith("--") and word.partition("=")[0] not in self._option_string_actions:
                    self.refuse(word)
        values, unknown = self.parse_known_args(words)
        if unknown:
            self.refuse(unknown[0])
        return vars(values)

    def refuse(self, word: str) -> NoReturn:
        known = dict.fromkeys(re.findall(r"--[a-z][a-z-]*", self.format_help()))
        name, of_program = word.partition("=")[0], {"--version"} if self.prog == "callgate" else set[str]()
        close = get_close_matches(name.lower(), [*known, *of_program - {*known}], n=2, cutoff=0.75)
        if name in ("-v", "-V"):
            close = ["callgate --version"]
        self.error(f"{word} is not known here" + (f", did you mean {' or '.join(close)}" if close else self.unknown))

    def add_rows(self, rows: Iterable[ArgumentRow], title: str = "") -> None:
        """Add arguments to the parser; with a ``title``, as a section of the help."""
        section = self.add_argument_group(title) if title else self
        apart: dict[str, Any] = {}
        for row in rows:
            place = section
            if row.apart:
                place = apart.get(row.apart) or apart.setdefault(row.apart, section.add_mutually_exclusive_group())
            more: dict[str, Any] = {"help": row.help or SUPPRESS}
            if row.names:
                more |= {"dest": row.parameter, "required": row.required}
            if not row.value:
                place.add_argument(*row.names, action="store_true", **more)
                continue
            nargs = argparse.REMAINDER if row.count == "..." else row.count or None
            if row.many:
                more |= {"action": "append", "default": []}
            else:
                more |= {"nargs": nargs, "default": row.default}
            if row.const is not None:
                more["const"] = row.const
            read = one_of(row.choices) if row.choices else row.read or str
            place.add_argument(*(row.names or (row.parameter,)), metavar=row.value, type=read, **more)


class _Overview(CommandParser):
    """The parser of the program itself. Its help lists all groups of commands by topic."""

    def format_help(self) -> str:
        blocks = [_START]
        for topic in dict.fromkeys(group.topic for group in GROUPS.values()):
            rows = (f"  {each.name:<12}{each.help}" for each in GROUPS.values() if each.topic == topic)
            blocks.append("\n".join((f"{topic}:", *rows)))
        text = "\n\n".join((*blocks, f"{_END}{EXIT_CODES_LINE}\n"))
        room = min(COLUMNS, get_terminal_size().columns)
        return "\n".join(_fitted(line, room) for line in text.split("\n"))


def _fitted(line: str, room: int) -> str:
    """Wrap a line of the help. Continuation lines are indented to the second column of the line."""
    second = re.search(r"\S {2,}(?=\S)", line)
    indent = second.end() if second else 0
    return line if len(line) <= room else fill(line, max(room, indent + 20), subsequent_indent=" " * indent)


def run_command(words: Sequence[str]) -> int:
    """Call the command that the words name and return its exit code. A CommandMisuse is printed like an error of the
    parser."""
    command, values = read_command(words)
    try:
        return command.function(**values)
    except CommandMisuse as misuse:
        path = f"callgate {command.path}"
        print(f"{path}: {safe(str(misuse))}; see {path} --help", file=sys.stderr)
        return USAGE


def read_command(words: Sequence[str]) -> tuple[CommandRow, dict[str, Any]]:
    """Parse the words. Return the command and its arguments by parameter name. For a request for help or an error,
    print a text and exit the program."""
    if words[:1] == ["help"]:
        words = [*words[1:], "--help"]
    found, rest = _find(words)
    if isinstance(found, CommandRow):
        values = command_parser(found).parse_words(rest)
        if not any(row.parameter == "debug" for row in found.arguments):
            del values["debug"]
        return found, values
    parser = _group_parser(found)
    parser.parse_words(rest)
    parser.print_help(sys.stderr)
    raise SystemExit(USAGE)  # nothing was done: a script that lost its arguments gets an error


def _find(words: Sequence[str]) -> tuple[CommandRow | str, list[str]]:
    """Return the command that the words name, and the remaining words. If the words end at a group, return the name
    of the group instead. An unknown command ends the program."""
    group, known, rest = "", list[str](GROUPS), list[str]()
    for at, word in enumerate(words):
        if word.startswith("-"):
            rest.append(word)
            if word in ("-h", "--help", "--version"):
                break
            continue
        if word not in known:
            prog = f"callgate {group}".rstrip()
            print(f"{prog}: there is no command {safe(repr(word))}{safe(_hint(word, known, group))}", file=sys.stderr)
            raise SystemExit(USAGE)
        commands = GROUPS[group or word].commands
        if word in commands:
            return commands[word], [*rest, *words[at + 1 :]]
        group, known = word, [*commands]
    return group, rest


def _hint(word: str, known: Sequence[str], group: str) -> str:
    if not group and word in ELSEWHERE:
        return f"; say {ELSEWHERE[word]}"
    close = get_close_matches(word, known, n=1)
    if close:
        return f"; did you mean {close[0]}?"
    return f"; there are {', '.join(known)}" + ("" if group else f"; as a prompt: callgate -p {word!r}")


def command_parser(command: CommandRow) -> CommandParser:
    parser = CommandParser(
        f"callgate {command.path}", usage=command.usage or None, description=command.about, epilog=command.notes or None
    )
    parser.unknown = command.unknown
    parser.add_rows(row for row in command.arguments if row.parameter != "debug")
    return parser


def _group_parser(name: str) -> CommandParser:
    """Return the parser of a group, for a command line without a command; for an empty name, the parser of the
    program."""
    if not name:
        parser = _Overview("callgate")
        parser.add_argument("--version", action="version", version=f"callgate {__version__}")
        return parser
    commands = GROUPS[name].commands
    wide = max(map(len, commands))
    rows = (f"  {each:<{wide}}  {row.help}" for each, row in commands.items())
    return CommandParser(
        f"callgate {name}",
        usage=f"callgate {name} [-h] [--debug] COMMAND ...",
        description=GROUPS[name].about,
        epilog="\n".join(("commands:", *rows)),
    )


# ---- values of arguments ------------------------------------------------------------------------------------------


def one_of(names: tuple[str, ...]) -> Callable[[str], str]:
    def read(text: str) -> str:
        if text not in names:
            close = get_close_matches(text, names, n=1)
            hint = f"did you mean {close[0]}?" if close else f"there are {', '.join(names)}"
            raise ArgumentTypeError(f"there is no {text!r}; {hint}")
        return text

    return read


def count(text: str) -> int:
    """Parse a whole number above 0."""
    if not (text.isascii() and text.isdigit() and 0 < len(text) < 16 and int(text)):
        raise ArgumentTypeError(f"must be a whole number above 0, not {text!r}")
    return int(text)


def pair(sign: str) -> Callable[[str], tuple[str, str]]:
    """Return a function that parses NAME=VALUE or NAME: VALUE."""

    def read(text: str) -> tuple[str, str]:
        name, found, value = text.partition(sign)
        if not found or not name.strip():
            raise ArgumentTypeError(f"must be NAME{sign}VALUE, not {text!r}")
        return name.strip(), value.strip() if sign == ":" else value

    return read


def hexadecimal(what: str, digits: int = 32) -> Callable[[str], str]:
    """Return a function that parses a checksum. ``what`` is the beginning of its error message."""

    def read(text: str) -> str:
        if re.fullmatch(f"[0-9a-f]{{{digits}}}", text) is None:
            raise ArgumentTypeError(f"{what}, {digits} hexadecimal digits, not {text!r}")
        return text

    return read


def split_names(text: str) -> tuple[str, ...]:
    """Parse names that are separated by commas or blanks. The list may be empty."""
    return tuple(text.replace(",", " ").split())


def tool_names(text: str) -> tuple[str, ...]:
    """Parse a list of tool names, which must not be empty."""
    names = split_names(text)
    if not names:
        raise ArgumentTypeError("name the tools, such as Read,Grep")
    return names


def json_object(text: str) -> dict[str, Any]:
    """Parse a JSON object, or the content of the file after ``@``; ``@-`` is standard input."""
    from json import loads  # costly, and rarely needed

    try:
        if text == "@-":
            data: str | bytes = sys.stdin.buffer.read()
        elif text.startswith("@"):
            with open(text[1:], "rb") as file:
                data = file.read()
        else:
            data = text
        found: Any = loads(data, parse_constant=refuse_constant)
    except OSError as error:
        raise ArgumentTypeError(f"cannot be read from {text[1:]}: {error.strerror or error}") from None
    except (ValueError, RecursionError) as error:
        raise ArgumentTypeError(f"is not JSON: {error}") from None
    if not isinstance(found, dict):
        raise ArgumentTypeError(f"must be an object such as {{}}, not {type(found).__name__}")
    return found  # pyright: ignore[reportUnknownVariableType]


def refuse_constant(name: str) -> NoReturn:
    """Raise ValueError for NaN and infinity, which are not valid JSON."""
    raise ValueError(f"{name} is not JSON")


_UNITS = {"m": 60.0, "h": 3600.0, "d": 86400.0, "w": 7 * 86400.0}


def seconds_of(text: str, units: str) -> float | None:
    """Return the seconds of a duration such as 12h or 30d; None if the text is not a duration."""
    found = re.fullmatch(rf"(\d{{1,6}})([{units}])", text, re.ASCII)
    return None if found is None else int(found[1]) * _UNITS[found[2]]
