"""The row of a program in the table, and the parser of the rows.

A row is ``names | operands | options | fields``. Indented lines continue a row; ``#`` starts a comment. A line ``$group
= options`` defines options that several rows use.

names     ``grep,egrep`` are two programs, ``npm test|start`` two subcommands
operands  the kinds of the operands by position; the last kind is repeated
options   see the list of forms below
fields    fields of ``Program``: a name alone means True, ``prefix_operands=1`` sets a value; commas in a value mean
          blanks

Forms of options:

``-abc``       three flags without effect on a rule
``-k=``        takes a value
``-i?=``       may have a value in the same word
``--arg==``    takes two words
``--pre=run``  takes a value of the kind ``run``
``-i!write``   a flag that writes
``-#``         a number as an option (``head -5``)

A kind is a role of ``Use``, or a key of ``GRANTED`` or ``CHECKED`` in ``program_arguments``.
"""

import re
from collections.abc import Mapping
from functools import cached_property
from typing import Any, Literal

from callgate.words.noun import noun

ValueForm = Literal["none", "required", "glued", "pair"]
_COLUMN = re.compile(r" \|(?= |$)")
_FORMS: dict[str, ValueForm] = {"==": "pair", "?=": "glued", "!": "none", "=": "required"}


@noun
class Option:
    name: str
    kind: str
    value: ValueForm = "none"


@noun
class Program:
    """A row of the table: a program or a subcommand (``npm run``). The text after each field begins with an example
    of a row."""

    names: str
    operands: str = "unknown"
    options: str = ""
    parser: str = ""
    """``cp | … | parser=copy``: the function that returns the uses, which options and operands do not describe."""
    last_operand: str = ""
    """``cp | read | … | last_operand=change``: the kind of the last of two or more operands."""
    replaces_first: str = ""
    """``grep | text read | … | replaces_first=-e,-f``: with one of these options there is no first operand."""
    options_first: bool = False
    """``timeout | text argv | … | options_first``: the first operand ends the options. Default: they stand anywhere."""
    separate_value: bool = False
    """``sh | … | separate_value``: the value of a letter is the next word; in ``-cx`` the letter ``x`` is an option."""
    long_dash: str = "--"
    """``go test | … | long_dash=-``: long options have one dash."""
    after_dashes: str | None = None
    """``cargo fmt | … | after_dashes=--check,-l``: options and operands after ``--``, which another program gets. None:
    ``--`` only ends the options."""
    subcommands: bool = False
    """``git | … | subcommands``: the first operand is a subcommand, which has a row of its own."""
    without_subcommand: str = ""
    """``git stash | … | subcommands without_subcommand=does``: the kind of use if no subcommand is given."""
    always: str = ""
    """``git add | read | … | always=does``: a kind of use that every command has."""
    writes_unless: str = ""
    """``black | word | … | writes_unless=--check,--diff``: it writes its operands without one of these options."""
    read_only: bool = False
    """``cat | read | … | read_only``: no rule is needed for a command whose uses are all reads."""
    runs_settings: bool = False
    """``git | … | runs_settings``: it runs programs that settings of the workspace name."""
    recursive: str = ""
    """``grep | … | recursive=-r``: it reads whole folders with one of these options; ``*`` always, ``argv`` if it
    runs a command (``find -exec``)."""
    shows_repository: str = ""
    """``git diff | … | shows_repository=*``: it shows files of the repository that it does not name, with one of these
    options; ``*`` always."""
    folder_variables: str = ""
    """``pytest | … | folder_variables=PYTHONPATH``: variables that may be set to folders of the workspace."""
    transparent: bool = False
    """``timeout | … | transparent``: it runs the command in its words with the same rights; a rule for that command is
    enough."""
    argument_files: bool = False
    """``strings | … | argument_files``: a word ``@file`` anywhere is replaced by the words in the file."""
    safe_options: bool = False
    """``wc | … | safe_options``: no option, listed or not, runs or writes anything: unknown words are allowed."""
    no_prefix: bool = False
    """``rm | … | no_prefix``: the answer "always" offers no prefix rule."""
    prefix_operands: int = 0
    """``npm run | … | prefix_operands=1``: the number of operands in a prefix rule."""


def programs_in(*tables: str) -> dict[str, Program]:
    """Return the rows of the tables by name. Raise ValueError if two rows have the same name."""
    groups: dict[str, str] = {}
    found: dict[str, Program] = {}
    for line in (line for table in tables for line in _lines(table)):
        if line.startswith("$"):
            name, _, options = line.partition(" = ")
            groups[name] = _filled(options, groups)
            continue
        names, operands, options, fields = (*(each.strip() for each in _COLUMN.split(line)), "", "", "")[:4]
        program = Program(names, operands or "unknown", _filled(options, groups), **_fields(fields, groups))
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


def _fields(text: str, groups: Mapping[str, str]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, sign, value in (each.partition("=") for each in text.split()):
        found[name] = _filled(value.replace(",", " "), groups) if sign else True
    return found | ({"prefix_operands": int(found["prefix_operands"])} if "prefix_operands" in found else {})


def names_in(text: str) -> list[str]:
    heads = [each.strip().rpartition(" ") for each in text.split(",")]
    return [f"{head}{blank}{last}" for head, blank, lasts in heads for last in lasts.split("|")]


class Grammar:
    """The parsed operands and options of a row in the table of programs.

    above  options of the enclosing programs, which a subcommand accepts too
    """

    def __init__(self, program: Program, above: str = "") -> None:
        self.program = program
        self.kinds = tuple(program.operands.split())
        self.replaces_first = frozenset(program.replaces_first.split())
        self._options = f"--help --version {above} {program.options}"

    @cached_property
    def table(self) -> Mapping[str, Option]:
        return options_in(self._options, self.program.long_dash)

    @cached_property
    def positional(self) -> bool:
        """True if the position of an operand decides whether the operand is written. A glob before the operand could
        change its position."""
        return len(self.kinds) > 1 and "write" in self.kinds


def options_in(text: str, dash: str = "--") -> dict[str, Option]:
    """Return the options of a row's third column, by name with dashes."""
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
