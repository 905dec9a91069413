"""Argument parsers whose faults are one line that says what to do next."""

import argparse
import re
from argparse import ArgumentTypeError
from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from typing import NoReturn

from callgate.cli.terminal import safe

USAGE = 2
DATA_FOLDER = "Sessions are kept in $CALLGATE_DATA_DIR (default: ~/.local/share/callgate)."


class CommandParser(argparse.ArgumentParser):
    """One command, or a group of commands. ``unknown`` is said of a flag that is not known and close to none."""

    unknown = ""

    def error(self, message: str) -> NoReturn:
        lacking = re.fullmatch(r"argument (\S+): expected one argument", message)
        action = None if lacking is None else self._option_string_actions.get(lacking[1].rpartition("/")[2])
        if action is not None:
            flag = action.option_strings[-1]
            message = f"{flag} needs a value: {flag} {action.metavar} ({action.help})"
        self.exit(USAGE, f"{self.prog}: {safe(message)}; see {self.prog} --help\n")

    def refuse_unknown(self, words: Sequence[str]) -> None:
        """Refuses the first flag that is not known, before its value is taken for an argument. Not where words of
        another command follow."""
        if any(action.nargs == argparse.REMAINDER for action in self._actions):
            return
        for word in words:
            if word == "--":
                return
            if word.startswith("--") and word.partition("=")[0] not in self._option_string_actions:
                self.refuse(word)

    def refuse(self, word: str) -> NoReturn:
        known = dict.fromkeys(re.findall(r"--[a-z][a-z-]*", self.format_help()))
        close = get_close_matches(word.partition("=")[0], known, n=2, cutoff=0.75)
        self.error(f"{word} is not known here" + (f", did you mean {' or '.join(close)}" if close else self.unknown))


class _GroupFormatter(argparse.HelpFormatter):
    """Lists the commands of a group without a line for their common name."""

    def _format_action(self, action: argparse.Action) -> str:
        text = super()._format_action(action)
        if not isinstance(action, argparse._SubParsersAction):  # pyright: ignore[reportPrivateUsage]
            return text
        return "".join(line.removeprefix("  ") for line in text.splitlines(True)[1:])


class Group:
    """Commands of one name: ``commands`` holds parsers and further groups by their word. ``elsewhere`` are words that
    people try, and the command lines that do what they mean."""

    def __init__(self, parser: CommandParser, *, dest: str, elsewhere: Mapping[str, str] | None = None) -> None:
        self.parser = parser
        parser.formatter_class = _GroupFormatter
        self._elsewhere = elsewhere or {}
        self.commands: dict[str, CommandParser | Group] = {}
        self.summaries: dict[str, str] = {}
        self._common = CommandParser(add_help=False)
        self._common.add_argument("--debug", action="store_true", default=argparse.SUPPRESS, help="show tracebacks")
        self._parsers = parser.add_subparsers(
            dest=dest, metavar="COMMAND", title="commands", parser_class=CommandParser
        )

    def command(self, name: str, what: str, description: str, *, more: str = "") -> CommandParser:
        """A new command; ``what`` is its line in the help of the group, ``more`` stands below its own."""
        made = self._new(name, what, description, more)
        self.commands[name] = made
        return made

    def group(self, name: str, what: str, description: str) -> "Group":
        made = Group(self._new(name, what, description, ""), dest=f"{name}_command")
        self.commands[name] = made
        return made

    def find(self, words: Sequence[str]) -> "tuple[str, CommandParser | Group]":
        """The command that these words lead to, or the group where they end or something else than a word begins. A
        misspelt command ends the program."""
        at, path = self, ""
        for word in words:
            if word.startswith("-"):
                if word in ("-h", "--help", "--version"):
                    break
                continue
            found = at.commands.get(word)
            if found is None:
                at.parser.exit(USAGE, f"{at.parser.prog}: there is no command {word!r}{at._hint(word)}\n")
            path = f"{path} {word}".strip()
            if isinstance(found, CommandParser):
                return path, found
            at = found
        return path, at

    def _hint(self, word: str) -> str:
        if word in self._elsewhere:
            return f"; say {self._elsewhere[word]}"
        close = get_close_matches(word, self.commands, n=1)
        if close:
            return f"; did you mean {close[0]}?"
        prompt = f"; as a prompt: callgate -p {word!r}" if self._elsewhere else ""
        return f"; there are {', '.join(self.commands)}{prompt}"

    def _new(self, name: str, what: str, description: str, more: str) -> CommandParser:
        self.summaries[name] = what
        return self._parsers.add_parser(
            name,
            help=what,
            description=description,
            epilog=more or None,
            parents=[self._common],
            allow_abbrev=False,
        )


# ---- values -------------------------------------------------------------------------------------------------------


def count(text: str) -> int:
    """A whole number above 0."""
    if not (text.isascii() and text.isdigit() and 0 < len(text) < 16 and int(text)):
        raise ArgumentTypeError(f"must be a whole number above 0, not {text!r}")
    return int(text)


_UNITS = {"h": 3600.0, "d": 86400.0, "w": 7 * 86400.0}


def age(text: str) -> float:
    """Seconds: 12h, 30d, 6w."""
    found = re.fullmatch(r"(\d{1,6})([hdw])", text, re.ASCII)
    if found is None:
        raise ArgumentTypeError(f"must be a number of hours, days or weeks such as 12h, 30d or 6w, not {text!r}")
    return int(found[1]) * _UNITS[found[2]]


def checksum(text: str) -> str:
    """A sum as a log has it."""
    if re.fullmatch(r"[0-9a-f]{32}", text) is None:
        raise ArgumentTypeError(f"must be a head that verify printed, 32 hexadecimal digits, not {text!r}")
    return text


class OneOf:
    """A reader of one of these names. ``names`` are offered by the completion of shells too."""

    def __init__(self, *names: str) -> None:
        self.names = names

    def __call__(self, text: str) -> str:
        if text not in self.names:
            close = get_close_matches(text, self.names, n=1)
            hint = f"did you mean {close[0]}?" if close else f"there are {', '.join(self.names)}"
            raise ArgumentTypeError(f"there is no {text!r}; {hint}")
        return text


def one_of(*names: str) -> OneOf:
    return OneOf(*names)


class Offered:
    """A reader of any text, for which completion offers names that are known. They are looked up by ``find`` when the
    script of a shell is written, not when the command line is read."""

    def __init__(self, find: Callable[[], Sequence[str]]) -> None:
        self._find = find

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self._find())

    def __call__(self, text: str) -> str:
        return text
