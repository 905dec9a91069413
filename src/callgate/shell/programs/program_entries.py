"""The table of programs: the form of an entry, and how a text with one entry a line is read.

A line is ``names | operands | options | facts``, continued on lines that are indented; ``#`` starts a comment. A line
``$group = options`` names options that several entries share.

``grep,egrep`` are two programs, ``npm test|start`` two subcommands of one. Operands are kinds by position, the last one
for all that follow. Options: ``-abc`` are three flags without effect on a rule, ``-k=`` takes a value, ``-i?=`` may
have one glued to it, ``--arg==`` takes two words, ``--pre=run`` takes a value of the kind ``run``, ``-i!write`` is a
flag that writes. ``-#`` is a number as an option (``head -5``). The kinds are the roles of ``Use``, and those of
``arguments.GRANTED`` and ``arguments.CHECKED``. Facts are the fields of ``Program`` from ``last`` on: a word alone is
true, ``named=1`` a value, with commas for blanks.
"""

import re
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

from callgate.words.noun import noun

if TYPE_CHECKING:
    from callgate.shell.programs.program_arguments import Invocation
    from callgate.shell.programs.uses import Use

ValueForm = Literal["none", "required", "glued", "pair"]
_COLUMN = re.compile(r" \|(?= |$)")
_FORMS: dict[str, ValueForm] = {"==": "pair", "?=": "glued", "!": "none", "=": "required"}

ReadWords = Callable[["Invocation"], "list[Use]"]
"""Finds the uses of a command where an entry alone cannot say them."""


@noun
class Option:
    name: str
    kind: str
    value: ValueForm = "none"


@noun
class Program:
    """All that is known of a program, or of a subcommand of one (``npm run``).

    ``last`` is the kind of the last operand where there are two or more. ``instead``: with one of these options there
    is no first operand (``grep -e``). ``stops``: the first operand ends the options; otherwise they may stand anywhere.
    ``apart``: a letter with a value must end its word, for the letters behind it would be options.
    ``dash`` is ``-`` where long options have one dash. ``behind``: the options and operands of the words behind ``--``,
    where these are handed to another program; None where ``--`` only ends the options. ``steps``: the first operand is
    a subcommand with an entry of its own; ``alone``: the kind that comes with every use without a subcommand.
    ``also``: a kind that comes with every use. ``unless``: it writes its operands where none of these options is there
    (``black``). ``free``: no rule is needed where all it does is to read. ``settings``: it runs programs that settings
    of the workspace name. ``sweeps``: it reads whole folders with one of these options, or ``*`` always.
    ``variables``: those that may be set for it besides the usual
    ones, to folders of the workspace. ``through``: it runs the command in its words with the same rights, so a rule for
    that command is enough. ``tame``: no option of it, listed or not, runs or writes anything, so words that are not in
    sight do not matter. ``exactly``: "always" never offers a prefix of it. ``named``: how many operands belong to such
    a prefix. ``code`` reads what cannot be data."""

    names: str
    operands: str = "unknown"
    options: str = ""
    last: str = ""
    instead: str = ""
    stops: bool = False
    apart: bool = False
    dash: str = "--"
    behind: str | None = None
    steps: bool = False
    alone: str = ""
    also: str = ""
    unless: str = ""
    free: bool = False
    settings: bool = False
    sweeps: str = ""
    variables: str = ""
    through: bool = False
    tame: bool = False
    exactly: bool = False
    named: int = 0
    code: ReadWords | None = None


def programs_in(*tables: str, code: Mapping[str, ReadWords]) -> dict[str, Program]:
    """The entries of these texts by name; ``code`` reads the words of those it names. A second entry of a name is an
    error: one of the two would be forgotten."""
    groups: dict[str, str] = {}
    found: dict[str, Program] = {}
    for line in (line for table in tables for line in _lines(table)):
        if line.startswith("$"):
            name, _, options = line.partition(" = ")
            groups[name] = _filled(options, groups)
            continue
        names, operands, options, facts = (*(each.strip() for each in _COLUMN.split(line)), "", "", "")[:4]
        program = Program(
            names=names,
            operands=operands or "unknown",
            options=_filled(options, groups),
            code=code.get(names.partition(",")[0]),
            **_facts(facts, groups),
        )
        for each in names_in(names):
            if each in found:
                raise ValueError(f"{each} has two entries")
            found[each] = program
    return found


def _lines(table: str) -> list[str]:
    found: list[str] = []
    for line in table.splitlines():
        if line[:1] == " ":
            found[-1] += f" {line.strip()}"
        elif line and line[0] != "#":
            found.append(line)
    return found


def _filled(options: str, groups: Mapping[str, str]) -> str:
    return " ".join(groups[each] if each[:1] == "$" else each for each in options.split())


def _facts(text: str, groups: Mapping[str, str]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, sign, value in (each.partition("=") for each in text.split()):
        found[name] = _filled(value.replace(",", " "), groups) if sign else True
    return found | ({"named": int(found["named"])} if "named" in found else {})


def names_in(text: str) -> list[str]:
    """The names that an entry is for."""
    heads = [each.strip().rpartition(" ") for each in text.split(",")]
    return [f"{head}{blank}{last}" for head, blank, lasts in heads for last in lasts.split("|")]


class Grammar:
    """The operands and options of an entry, read once. ``above``: options of the programs it is a subcommand of."""

    def __init__(self, program: Program, above: str = "") -> None:
        self.program = program
        self.kinds = tuple(program.operands.split())
        self.instead = frozenset(program.instead.split())
        self._options = f"--help --version {above} {program.options}"

    @cached_property
    def table(self) -> Mapping[str, Option]:
        return options_in(self._options, self.program.dash)

    @cached_property
    def positional(self) -> bool:
        """An operand is written because of its position: words that may be several must not stand before it."""
        return len(self.kinds) > 1 and "write" in self.kinds


def options_in(text: str, dash: str = "--") -> dict[str, Option]:
    """The options a text stands for, by their names with dashes."""
    found: dict[str, Option] = {}
    for token in text.split():
        sign = next((sign for sign in _FORMS if sign in token), "")
        name, _, kind = token.partition(sign) if sign else (token, "", "")
        if dash == "-" and name[:2] == "--":
            name = name[1:]
        letters = dash == "--" and name[:2] != "--"
        if letters and sign and len(name) != 2:
            raise ValueError(f"{token}: one letter at a time")
        for each in [f"-{letter}" for letter in name[1:]] if letters else [name]:
            found[each] = Option(each, kind or "text", _FORMS.get(sign, "none"))
    return found
