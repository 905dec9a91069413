"""Splits the words of a command into options and operands according to its row, and determines their effects."""

import re
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import cached_property
from typing import cast

from callgate.shell.command import Word
from callgate.shell.programs.program_entries import Grammar, Option
from callgate.shell.programs.uses import WHY, Role, Use, Words, text_of
from callgate.words.noun import noun

GRANTED: dict[str, Role] = {"change": "write", "drop": "remove", "moves": "move", "does": "alter", "runs": "code"}
"""Kinds of options and operands whose effect a rule for the program includes."""
# Names in jq that reveal the environment, load modules, or end with an error.
_JQ_REACHES = (
    r"\$(?:\s|#[^\n]*\n)*(?:ENV\b|__prog)|(?<![A-Za-z_])(?<!(?<!\.)\.)"
    r"(?:env|input_filename|import|include|modulemeta|get_search_list|halt_error)(?!\w)"
)
_VERSION = r"(?:===|[=<>!~]=|[<>]) ?[\w.*+]+"
CHECKED: dict[str, re.Pattern[str]] = {
    # A plain name of a goal, a container or a test; not a path, URL, assignment, option, or text with blanks.
    "name": re.compile(r"[\w.%+][\w.%+,~^\[\]-]*"),
    # A name that may contain colons: a test in a module, a task of a project, a script. The script ``env``, which every
    # package has, prints the environment.
    "task": re.compile(r"(?!env$)[\w.:][\w.:-]*"),
    # The phases of Maven: another goal may be any plugin.
    "phase": re.compile(r"clean|validate|(?:test-)?compile|test|package|verify|install|site|dependency:tree"),
    # A common script of a package: another word may be a program.
    "script": re.compile(r"(?:test|build|lint|dev|start|typecheck|format|check|ci|e2e)(?::[\w-]+)*"),
    # A package by name and version, or by URL; a folder only with a single name.
    "requirement": re.compile(
        rf"(?:git\+)?https://[\w./@%+#=&-]+"
        rf"|(?:@[\w.-]+/)?[\w.-]+(?:\[[\w,.-]+\])?(?:@[\w.^~]+| ?{_VERSION}(?:, ?{_VERSION})*)?"
    ),
    # A file of this machine.
    "local": re.compile(r"[^:@]*"),
    # A Go file, or a folder of this module; another word may be a module of another machine.
    "go-main": re.compile(r"\.(?:/[\w.-]+)*/?|[\w./-]+\.go"),
    # A repository, a pull request, a resource of a cluster, an image.
    "slug": re.compile(r"#?[\w.-]+(?:/[\w.-]+)?(?::[\w.-]+)?"),
    # Other formats of kubectl print a file.
    "output": re.compile(r"json|yaml|name|wide|(?:custom-columns|(?:go-)?template|jsonpath(?:-as-json)?)=.*", re.S),
    # The value of an option may be a setting instead of a file.
    "settings-file": re.compile(r"[^=]*"),
    "endpoint": re.compile(r"/?[\w-]+(?:/[\w.{}-]+)*(?:\?[\w=&%+-]*)?"),
    # An address may name a program (``ext::``) or another protocol.
    "address": re.compile(r"(?!-|file:)(?!.*(?:::|://-)).*", re.I | re.S),
    # The name of a remote; a URL or a path may lead anywhere, also to a repository of the workspace with its own hooks.
    "remote": re.compile(r"\w[\w.+-]*"),
    # A branch: with a plus first, or nothing before its colon, it discards commits.
    "ref": re.compile(r"[\w./@~^{}-]+(?::[\w./-]+)?"),
    "switch": re.compile(r"true|false|"),
    "tox": re.compile(r"r|run|p|run-parallel|l|list"),
    "plugin": re.compile(r"no:[\w.-]+"),
    # A category of warnings with a dot is imported as a module.
    "warning": re.compile(r"\w*(?::[^:]*(?::\w*(?::[^:]*(?::\d*)?)?)?)?"),
    "plain": re.compile(r"[\w-]*"),
    "number": re.compile(r"[0-9.]*"),
    # Variables of cmake that name no program and no file.
    "define": re.compile(
        r"(?:CMAKE_BUILD_TYPE|CMAKE_EXPORT_COMPILE_COMMANDS|CMAKE_VERBOSE_MAKEFILE|CMAKE_C(?:XX)?_STANDARD"
        r"|BUILD_SHARED_LIBS|BUILD_TESTING)(?::\w+)?=[\w.+]*"
    ),
    "config": re.compile(r"mypy\.ini|\.mypy\.ini|pyproject\.toml|setup\.cfg"),
    "report": re.compile(r"(?:term|html|xml|json|lcov|annotate)(?:-missing)?(?::skip-covered)?"),
    # For a signature in a format git runs the program that checks it.
    "format": re.compile(r"(?!.*(?:%[-+ ]?G|signature)).*", re.S),
    # With "diff" git runs in submodules, also in submodules of old commits.
    "submodule-format": re.compile(r"|log|short"),
    "filter": re.compile(rf"(?!.*(?:{_JQ_REACHES})).*", re.S),
    # Another operand of date sets the clock.
    "time-format": re.compile(r"\+.*", re.S),
    # In BSD style an ``e`` among the letters shows the environment of processes with its secrets.
    "processes": re.compile(r"[^eE]*"),
    "process-format": re.compile(r"(?!.*env).*", re.I | re.S),
}
"""Kinds whose value is harmless if the expression matches the whole value. For any other value the rule must
contain the words."""
_NAMES = frozenset(("name", "config", "settings-file", "requirement", "address", "local", "go-main"))
"""Kinds whose value may also be the path of a file."""
_DESTINATIONS = frozenset(("address", "requirement", "remote"))
"""Kinds of places that the program contacts. A rule that contains such a place covers no other place."""
# A longer word is not split into single letters, which limits the run time.
_LONGEST = 400
_MOST_USES = 500
_COMMANDS = frozenset(("argv", "shell"))


@noun
class Argument:
    """An option with its value, or an operand. The name of an operand is empty.

    at  the index of the word of the option
    on  the index of the word with the value

    If the value of an option looks like an option, a second Argument is created for it, with a question mark before
    its name.
    """

    name: str
    text: str
    at: int
    on: int
    option: Option | None = None

    def included(self, role: Role, text: str | None = None, *, guess: bool = False, flat: bool = False) -> Use:
        """Return an effect that a rule for the program includes."""
        shown = self.text if text is None else text
        return Use(role=role, text=shown, at=self.at, on=self.on, granted=True, guess=guess, flat=flat)

    def beyond(self, role: Role, why: str, text: str | None = None, *, target: bool = False) -> Use:
        """Return an effect that only a rule with exactly these words covers."""
        shown = self.text if text is None else text
        return Use(role=role, text=shown, at=self.at, on=self.on, why=why, target=target)


WHOLE = Argument("", "", 0, 0)
"""The placeholder for the whole command."""


def operands_in(words: Words, start: int) -> list[Argument]:
    """Return each word from ``start`` on as an operand, including words that begin with a dash."""
    return [Argument("", text_of(word), at, at) for at, word in enumerate(words[start:], start)]


ReadProgram = Callable[[str, tuple[Word, ...]], tuple[Use, ...]]


class Invocation:
    """A command whose words are split according to the grammar of its program. The words before ``start`` name the
    program.

    read_program  returns the effects of a command of another program of the table
    """

    def __init__(self, grammar: Grammar, words: Words, start: int, read_program: ReadProgram) -> None:
        self.grammar = grammar
        self.program = grammar.program
        self.words = words
        self.start = start
        self.read_program = read_program

    @cached_property
    def arguments(self) -> list[Argument]:
        return scan(self.grammar, self.words, self.start)

    @property
    def options(self) -> list[Argument]:
        return [each for each in self.arguments if each.name]

    @property
    def operands(self) -> list[Argument]:
        return [each for each in self.arguments if not each.name]

    def matching(self, *names: str) -> list[Argument]:
        return [each for each in self.arguments if each.name in names]

    def uses(self, arguments: Iterable[Argument] | None = None) -> list[Use]:
        """Return the effects of the arguments (default: all arguments of the command) and of unknown words."""
        chosen = self.arguments if arguments is None else arguments
        return uses_in(self.grammar, chosen) + loose(self.words, self.start)


def scan(grammar: Grammar, words: Words, start: int = 1, *, head: bool = False) -> list[Argument]:
    """Return the options and operands in the order of the words. The field ``option`` is None for an option that the
    row does not list.

    head  stop after the first operand
    """
    found: list[Argument] = []
    stops = grammar.program.options_first or grammar.program.subcommands
    at, ended = start, False
    while at < len(words):
        text = text_of(words[at])
        if ended or len(text) < 2 or text[0] != "-":
            found.append(Argument("", text, at, at))
            if head:
                return found
            ended = ended or stops
        elif text == "--":
            ended = True
        else:
            last = _option(grammar, words, at, found)
            if last > at:
                found += _perhaps(grammar, words, last)
            at = last
        at += 1
    return found


def _option(grammar: Grammar, words: Words, at: int, found: list[Argument]) -> int:
    read = _long if grammar.program.long_dash == "-" or text_of(words[at]).startswith("--") else _cluster
    return read(grammar, words, at, found)


def _perhaps(grammar: Grammar, words: Words, at: int) -> list[Argument]:
    """Return the options in a word that was parsed as a value. The installed program may differ from the table and
    parse the word as an option."""
    text = text_of(words[at]) if at < len(words) else ""
    if len(text) < 2 or text[0] != "-" or text == "--" or text[1:].isdigit():
        return []
    found: list[Argument] = []
    _option(grammar, words, at, found)
    risky = [each for each in found if each.option is None or each.option.kind != "text"]
    return [] if grammar.program.safe_options else [replace(each, name=f"?{each.name}") for each in risky]


def _long(grammar: Grammar, words: Words, at: int, found: list[Argument]) -> int:
    name, sign, value = text_of(words[at]).partition("=")
    if grammar.program.long_dash == "-" and name.startswith("--"):
        name = name[1:]
    option = grammar.table.get(name)
    if option is not None and option.value == "pair":
        found.append(Argument(name, "", at, at, option))
        return at + 2
    if option is None or sign or option.value != "required":
        found.append(Argument(name, value, at, at, option))
        return at
    found.append(_with_next(option, words, at))
    return at + 1


def _with_next(option: Option, words: Words, at: int) -> Argument:
    return Argument(option.name, text_of(words[at + 1]) if at + 1 < len(words) else "", at, at + 1, option)


def _cluster(grammar: Grammar, words: Words, at: int, found: list[Argument]) -> int:
    text = text_of(words[at])
    if len(text) > _LONGEST or len(found) > _MOST_USES:
        found.append(Argument(text[:2], "=", at, at))
        return at
    number = len(text[1:]) - len(text[1:].lstrip("0123456789")) if "-#" in grammar.table else 0
    for place, letter in enumerate(text[1 + number :], 1 + number):
        option = grammar.table.get(f"-{letter}")
        rest = text[place + 1 :]
        if option is None:
            found.append(Argument(f"-{letter}", rest, at, at))
        elif option.value == "none":
            found.append(Argument(option.name, "", at, at, option))
        elif rest and grammar.program.separate_value:
            found.append(Argument(option.name, rest, at, at))
            return at
        elif rest or option.value == "glued":
            found.append(Argument(option.name, rest, at, at, option))
            return at
        else:
            found.append(_with_next(option, words, at))
            return at + 1
    return at


def uses_in(grammar: Grammar, arguments: Iterable[Argument]) -> list[Use]:
    uses: list[Use] = []
    operands: list[Argument] = []
    skip = 0
    for each in arguments:
        if not each.name:
            operands.append(each)
            continue
        skip = 1 if each.name in grammar.replaces_first else skip
        if grammar.program.argument_files and each.on > each.at and each.text[:1] == "@":
            uses.append(each.beyond("load", "@ takes options from a file", each.text[1:]))
        if each.option:
            uses += of_kind(each.option.kind, each)
        else:
            uses.append(each.beyond("unknown", f"{each.name.lstrip('?')} is not an option known to be harmless"))
        if operands and grammar.positional and not grammar.program.options_first:
            # where options end at the first operand, this operand is a file that is written
            uses.append(each.beyond("unknown", f"{each.name} follows a file name"))
    last = grammar.program.last_operand
    for number, each in enumerate(operands):
        kind = grammar.kinds[min(number + skip, len(grammar.kinds) - 1)]
        if kind in _COMMANDS:
            break
        uses += of_kind(last if last and number and number == len(operands) - 1 else kind, each)
        dashed = each.text[:1] == "-" and len(each.text) > 1 and kind != "text"
        if dashed and not (grammar.program.safe_options or grammar.program.options_first):
            uses.append(each.beyond("unknown", f"{each.text} after -- may still be an option"))
    return uses


def of_kind(kind: str, argument: Argument) -> list[Use]:
    text = argument.text
    if kind == "text":
        return []
    if kind in GRANTED:
        return [argument.included(GRANTED[kind])]
    if kind == "word" and text[:1] == "@":
        return [argument.beyond("load", "@ takes options from a file", text[1:])]
    if kind == "word":  # ``tests/a.py::name`` is a test in a file
        paths = dict.fromkeys((text, text.partition("::")[0]))
        return [argument.included("read", each, guess=True) for each in paths]
    if kind in ("read", "flat"):
        return [argument.included("read", flat=kind == "flat")]
    if kind == "rev":  # ``HEAD:path`` shows the file of that name
        return [argument.included("read", each) for each in (text, text.partition(":")[2]) if each]
    if kind == "range":  # ``-L 1,5:path`` shows lines of the file
        return [argument.included("read", text.rpartition(":")[2])] if ":" in text else []
    if kind in CHECKED:
        if CHECKED[kind].fullmatch(text):
            contacted = [argument.included("send", flat=kind == "remote")] if kind in _DESTINATIONS else []
            return contacted + ([argument.included("read", guess=True)] if kind in _NAMES else [])
        if kind == "remote":
            return [argument.beyond("send", f"{text} is not the name of a remote")]
        if argument.name:
            return [argument.beyond("load", f"{argument.name} {WHY['load']}")]
        return [argument.beyond("unknown", f"{text} is more than a {kind}")]
    role = cast(Role, "write" if kind in ("file", "place") else kind)
    why = f"{argument.name.lstrip('?') or ('it' if role == 'write' else text)} {WHY[role]}"
    if role == "code":  # the rule must contain the option
        argument = replace(argument, on=argument.at)
    return [argument.beyond(role, why, target=kind == "file" or (role == "write" and not argument.name))]


def loose(words: Words, start: int = 1, *, positional: bool = False) -> list[Use]:
    """Return effects for unknown words and for globs that could expand to an option. If ``positional`` is set, also
    return effects for globs that could expand to several words."""
    uses: list[Use] = []
    ended = False
    for at, word in enumerate(words[start:], start):
        text, why = word.value or "", ""
        if word.value is None:
            why = "the value of an expansion is unknown"
        elif word.globs and not ended and text[0] in "*?[-":
            why = f"{text} could expand to an option"
        elif word.globs and positional:
            why = f"{text} could expand to several files"
        if why:
            uses.append(Use(role="unknown", text=text, at=at, on=at, why=why, guess=True))
        ended = ended or text == "--"
    return uses
