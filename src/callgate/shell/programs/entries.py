"""The form of a table entry, and how the words of a command are read by one.

Options are a line of text: ``-abc`` are three flags without effect on a rule, ``-k=`` takes a value, ``-i?=`` may have
one glued to it, ``--pre=run`` takes a value of the kind ``run``, ``-i!write`` is a flag that writes. The kinds are the
roles of ``Use``, and those of ``_GRANTED`` and ``CHECKED``. ``-#`` is a number as an option (``head -5``).
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import cached_property
from typing import Literal, cast

from callgate.shell.programs.uses import WHY, Role, Use, Words, text_of
from callgate.words.noun import noun

Value = Literal["none", "required", "glued"]

_GRANTED: dict[str, Role] = {"change": "write", "drop": "remove", "moves": "move", "does": "alter", "runs": "code"}
"""Kinds that a rule for the program includes."""
CHECKED: dict[str, re.Pattern[str]] = {
    # A plain name of a goal, a script, a package, a test; no assignment, no option, no text with blanks.
    "name": re.compile(r"[\w@.%+:/][\w@.%+:/,~^\[\]-]*"),
    # A script of a package; ``env`` is one that every package has, and it prints the environment.
    "script-name": re.compile(r"(?!env$)[\w@.][\w@.:/-]*"),
    # A script of a package that is usually there: any other word may be a program.
    "script": re.compile(r"(?:test|build|lint|dev|start|typecheck|format|check|ci|e2e)(?::[\w-]+)*"),
    "requirement": re.compile(r"[\w.+:/@-]+(?:\[[\w,.-]+\])?(?: ?[=<>!~]=? ?[\w.*+!-]+,? ?)*"),
    "endpoint": re.compile(r"/?[\w-]+(?:/[\w.{}-]+)*(?:\?[\w=&%+-]*)?"),
    "switch": re.compile(r"true|false|"),
    "tox": re.compile(r"r|run|p|run-parallel|l|list"),
    "plugin": re.compile(r"no:[\w.-]+"),
    # A category of warnings with a dot in it is a module that is imported.
    "warning": re.compile(r"\w*(?::[^:]*(?::\w*(?::[^:]*(?::\d*)?)?)?)?"),
    "reporter": re.compile(r"[\w-]*"),
    "number": re.compile(r"[0-9.]*"),
    # Of the variables of cmake these name no program and no file.
    "define": re.compile(
        r"(?:CMAKE_BUILD_TYPE|CMAKE_EXPORT_COMPILE_COMMANDS|CMAKE_VERBOSE_MAKEFILE|CMAKE_C(?:XX)?_STANDARD"
        r"|BUILD_SHARED_LIBS|BUILD_TESTING)(?::\w+)?=[\w.+]*"
    ),
    "config": re.compile(r"mypy\.ini|\.mypy\.ini|pyproject\.toml|setup\.cfg"),
    "report": re.compile(r"(?:term|html|xml|json|lcov|annotate)(?:-missing)?(?::skip-covered)?"),
    # A signature in a format has git run the program that checks it.
    "format": re.compile(r"(?!.*(?:%[-+ ]?G|signature)).*", re.S),
}
"""Kinds whose value is harmless when all of it matches; any other value loads something."""
_NAMES = frozenset(("name", "config", "requirement"))
"""Those that may be the path of a file as well."""
# A cluster of more letters than there are options is meant to take long; but a glued value may be as long.
_LONGEST = 400
_MOST_USES = 500
_COMMANDS = frozenset(("argv", "shell"))


@noun
class Option:
    name: str
    kind: str
    value: Value = "none"


@noun
class Found:
    """An option with its value, or an operand (no name). A value that looks like an option may be one: then there is
    a second one for it, with a question mark before its name."""

    name: str
    text: str
    at: int
    on: int
    option: Option | None = None


Reader = Callable[["Entry", Words, int], list[Use]]
"""Reads the words of a command from a place on, where an entry alone cannot say it."""


@noun
class Entry:
    """All that is known of a program, or of a subcommand of one (``npm run``).

    ``operands`` are kinds by position, the last one for all that follow; ``last`` is the kind of the last operand where
    there are two or more. ``instead``: with one of these options there is no first operand (``grep -e``). ``stops``:
    the first operand ends the options; otherwise they may stand anywhere. ``dash`` is ``-`` where long options have
    one dash. ``behind``: the options and operands of the words behind ``--``, where these are handed to another
    program; None where ``--`` only ends the options. ``steps``: the first operand is a subcommand with an entry of its
    own. ``also``: a kind that comes with every use. ``unless``: it writes its operands where none of these options is
    there (``black``). ``free``: no rule is needed where all it does is to read.
    ``settings``: it runs programs that settings of the workspace name. ``sweeps``: it reads whole folders with one of
    these options, or ``*`` always; ``hidden``: with one of these also files that begin with a dot. ``variables``:
    those that may be set for it besides the usual ones, to folders of the workspace. ``through``: it runs the command
    in its words with the same rights, so a rule for that command is enough. ``tame``: no
    option of it, listed or not, runs or writes anything, so words that are not in sight do not matter. ``exactly``:
    "always" never offers a prefix of it. ``named``: how many operands belong to such a prefix. ``code`` reads what
    cannot be data."""

    names: str
    operands: str = "unknown"
    options: str = ""
    last: str = ""
    instead: str = ""
    stops: bool = False
    dash: str = "--"
    behind: str | None = None
    steps: bool = False
    also: str = ""
    unless: str = ""
    free: bool = False
    settings: bool = False
    sweeps: str = ""
    hidden: str = ""
    variables: str = ""
    through: bool = False
    tame: bool = False
    exactly: bool = False
    named: int = 0
    code: Reader | None = None


class Grammar:
    """An entry, read once."""

    def __init__(self, entry: Entry, above: str = "") -> None:
        self.entry = entry
        self.kinds = tuple(entry.operands.split()) or ("unknown",)
        self.instead = frozenset(entry.instead.split())
        self._spec = f"--help --version {above} {entry.options}"

    @cached_property
    def table(self) -> Mapping[str, Option]:
        return options_in(self._spec, self.entry.dash)

    @cached_property
    def positional(self) -> bool:
        """An operand is written because of its position: words that may be several must not stand before it."""
        return len(self.kinds) > 1 and "write" in self.kinds


_GRAMMARS: dict[str, Grammar] = {}


def grammar_for(entry: Entry) -> Grammar:
    """The grammar of an entry that is read by code, made once."""
    if entry.names not in _GRAMMARS:
        _GRAMMARS[entry.names] = Grammar(entry)
    return _GRAMMARS[entry.names]


def options_in(spec: str, dash: str = "--") -> dict[str, Option]:
    """The options a specification stands for, by their names with dashes."""
    found: dict[str, Option] = {}
    for token in spec.split():
        name, mark, kind = token, "", ""
        for sign in ("?=", "!", "="):
            before, cut, after = token.partition(sign)
            if cut:
                name, mark, kind = before, cut, after
                break
        value: Value = "required" if mark == "=" else "glued" if mark == "?=" else "none"
        if dash == "-" and name[:2] == "--":
            name = name[1:]
        single = dash == "--" and name[:2] != "--"
        if single and mark and len(name) != 2:
            raise ValueError(f"{token}: one letter at a time")
        for each in [f"-{letter}" for letter in name[1:]] if single else [name]:
            found[each] = Option(each, kind or "text", value)
    return found


def scan(grammar: Grammar, words: Words, start: int = 1, *, head: bool = False) -> list[Found]:
    """Options and operands in the order of the words. An operand's name is empty; an option that is not in the table
    has no ``option``. ``head``: up to the first operand."""
    found: list[Found] = []
    stops = grammar.entry.stops or grammar.entry.steps
    at, ended, doubted = start, False, False
    while at < len(words):
        text = text_of(words[at])
        if ended or len(text) < 2 or text[0] != "-":
            found.append(Found("", text, at, at))
            found += _perhaps(grammar, words, at) if doubted else []
            if head:
                return found
            ended = ended or stops
        elif text == "--":
            ended = True
            # The option before it may have taken it for its value.
            doubted = at > start and text_of(words[at - 1])[:1] == "-" and not stops
        else:
            last = _option(grammar, words, at, found)
            if last > at:
                found += _perhaps(grammar, words, last)
            at = last
        at += 1
    return found


def _option(grammar: Grammar, words: Words, at: int, found: list[Found]) -> int:
    read = _long if grammar.entry.dash == "-" or text_of(words[at]).startswith("--") else _cluster
    return read(grammar, words, at, found)


def _perhaps(grammar: Grammar, words: Words, at: int) -> list[Found]:
    """The options in a word that is a value here: programs differ in that, and a table may be wrong."""
    text = text_of(words[at]) if at < len(words) else ""
    if len(text) < 2 or text[0] != "-" or text == "--" or text[1:].isdigit():
        return []
    found: list[Found] = []
    _option(grammar, words, at, found)
    risky = [each for each in found if each.option is None or each.option.kind != "text"]
    return [] if grammar.entry.tame else [replace(each, name=f"?{each.name}") for each in risky]


def _long(grammar: Grammar, words: Words, at: int, found: list[Found]) -> int:
    name, given, value = text_of(words[at]).partition("=")
    if grammar.entry.dash == "-" and name.startswith("--"):
        name = name[1:]
    option = grammar.table.get(name)
    if option is None:
        found.append(Found(name, value, at, at))
    elif given or option.value != "required":
        found.append(Found(name, value, at, at, option))
    else:
        at += 1
        found.append(Found(name, text_of(words[at]) if at < len(words) else "", at - 1, at, option))
    return at


def _cluster(grammar: Grammar, words: Words, at: int, found: list[Found]) -> int:
    text = text_of(words[at])
    if len(text) > _LONGEST or len(found) > _MOST_USES:
        found.append(Found(text[:2], "=", at, at))
        return at
    number = len(text[1:]) - len(text[1:].lstrip("0123456789")) if "-#" in grammar.table else 0
    for place, letter in enumerate(text[1 + number :], 1 + number):
        name = f"-{letter}"
        option = grammar.table.get(name)
        rest = text[place + 1 :]
        if option is None:
            found.append(Found(name, rest, at, at))
        elif option.value == "none":
            found.append(Found(name, "", at, at, option))
        elif rest or option.value == "glued":
            found.append(Found(name, rest, at, at, option))
            return at
        else:
            at += 1
            found.append(Found(name, text_of(words[at]) if at < len(words) else "", at - 1, at, option))
            return at
    return at


def uses_in(grammar: Grammar, found: Iterable[Found]) -> list[Use]:
    """The effects of options and operands."""
    uses: list[Use] = []
    operands: list[Found] = []
    skip = 0
    for each in found:
        if not each.name:
            operands.append(each)
            continue
        skip = 1 if each.name in grammar.instead else skip
        if each.option:
            uses += of_kind(each.option.kind, each)
        else:
            uses.append(unknown(each, f"{each.name.lstrip('?')} is not an option known to be harmless"))
        if operands and grammar.positional and not grammar.entry.stops:
            # Where options end at the first operand, this one is a file that is written.
            uses.append(unknown(each, f"{each.name} stands behind a file"))
    last = grammar.entry.last
    for number, each in enumerate(operands):
        kind = grammar.kinds[min(number + skip, len(grammar.kinds) - 1)]
        if kind in _COMMANDS:
            break
        uses += of_kind(last if last and number and number == len(operands) - 1 else kind, each)
    return uses


def of_kind(kind: str, found: Found) -> list[Use]:
    """The effect of one option or operand of this kind."""
    text, at, on = found.text, found.at, found.on
    if kind == "text":
        return []
    if kind in _GRANTED:
        return [Use(_GRANTED[kind], text, at, on, granted=True)]
    if kind in ("read", "word", "flat"):
        if kind == "word" and text[:1] == "@":
            return [Use(role="load", text=text[1:], at=at, on=on, why="@ takes options from a file")]
        return [Use("read", text, at, on, granted=True, guess=kind == "word", flat=kind == "flat")]
    if kind == "rev":  # ``HEAD:path`` shows the file of that name
        return [Use("read", each, at, on, granted=True) for each in (text, text.partition(":")[2]) if each]
    if kind in CHECKED:
        if CHECKED[kind].fullmatch(text):
            return [Use("read", text, at, on, granted=True, guess=True)] if kind in _NAMES else []
        return [_loads(found) if found.name else unknown(found, f"{text} is more than a name")]
    role = cast(Role, "write" if kind in ("file", "place") else kind)
    what = "it" if role == "write" else text
    why = f"{found.name.lstrip('?') or what} {WHY[role]}"
    if role == "code":  # the option itself is what a rule has to spell
        on = at
    return [
        Use(role=role, text=text, at=at, on=on, why=why, target=kind == "file" or (role == "write" and not found.name))
    ]


def _loads(found: Found) -> Use:
    return Use(role="load", text=found.text, at=found.at, on=found.on, why=f"{found.name} {WHY['load']}")


def unknown(found: Found, why: str) -> Use:
    return Use(role="unknown", text=found.text, at=found.at, on=found.on, why=why)


def loose(words: Words, start: int = 1, *, positional: bool = False) -> list[Use]:
    """Words that only the shell will know, globs that could become an option when the shell fills them in, and where
    positions count, globs that could become several words."""
    uses: list[Use] = []
    ended = False
    for at, word in enumerate(words[start:], start):
        if word.value is None:
            uses.append(Use(role="unknown", text="", at=at, on=at, why="an expansion is not known", guess=True))
        elif word.globs and not ended and word.value[0] in "*?[-":
            uses.append(
                Use(
                    role="unknown",
                    text=word.value,
                    at=at,
                    on=at,
                    why=f"{word.value} could become an option",
                    guess=True,
                )
            )
        elif word.globs and positional:
            uses.append(
                Use(
                    role="unknown",
                    text=word.value,
                    at=at,
                    on=at,
                    why=f"{word.value} could become several files",
                    guess=True,
                )
            )
        ended = ended or word.value == "--"
    return uses
