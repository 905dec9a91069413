"""Options and operands as data: a line of text that says what each option of a program does.

``-abc`` are three flags without danger, ``-k=text`` takes a value, ``-i?=write`` may have one glued to it,
``--pre=run`` takes a command, ``-i!write`` is a flag that writes. The word after ``=`` or ``!`` is the kind of use;
``text`` means none at all, ``change`` and ``drop`` are writing and removing that the program is there for, ``file`` is
one file that is written, and nothing else; ``word`` may be a path or anything else. ``-#`` is a number as an option
(``head -5``).
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import cache
from types import MappingProxyType
from typing import Literal, cast

from callgate.shell.programs.uses import WHY, Program, Role, Use, Words, said
from callgate.words.noun import noun

Value = Literal["none", "required", "glued"]

_MEANT: dict[str, Role] = {"change": "write", "drop": "remove", "moves": "move", "does": "alter", "runs": "code"}
_HARMLESS = ("text", "read", "word")
# A cluster of more letters than there are is meant to tire whoever reads it; but a glued value may be as long.
_LONGEST = 400
# More than anybody needs of letters, or of options that mean something for every operand.
_MOST_USES = 500


@noun
class Option:
    """``kind`` is a role, ``text``, or a word of the table for a role that is meant."""

    name: str
    kind: str
    value: Value = "none"


def names(text: str) -> frozenset[str]:
    """The words of a text, for a table."""
    return frozenset(text.split())


_SAFE = Option("", "text")


def options_in(spec: str, dash: str = "--") -> dict[str, Option]:
    """The table a specification stands for, by the option's name with its dashes."""
    found: dict[str, Option] = {}
    for token in spec.split():
        name, mark, kind = token, "", "text"
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
            found[each] = Option(each, kind, value)
    return found


@noun
class Grammar:
    """How the words of one program are read. ``operands`` are kinds by position, the last one for all that follow;
    ``last`` is the kind of the last operand where there are two or more. ``instead``: with one of these options
    there is no first operand (``grep -e``). ``lenient``: an option that is not in the table is taken for
    harmless unless it could be short for one that is not. ``dash`` is ``-`` where long options have one dash.
    ``stops``: the first operand ends the options."""

    table: dict[str, Option]
    operands: tuple[str, ...] = ("text",)
    last: str = ""
    instead: frozenset[str] = frozenset()
    lenient: bool = False
    dash: str = "--"
    stops: bool = False

    @property
    def tame(self) -> bool:
        kinds = [option.kind for option in self.table.values()] + [*self.operands, self.last or "text"]
        return not self.lenient and all(kind in _HARMLESS for kind in kinds)


@noun
class Found:
    """An option with its value, or an operand (no name). A value that looks like an option may be one: then there is
    a second one for it, with a question mark before its name."""

    name: str
    text: str
    at: int
    on: int
    option: Option | None = None


def scan(grammar: Grammar, words: Words, start: int = 1, *, head: bool = False) -> list[Found]:
    """Options and operands in the order of the words. An operand's name is empty; an option that is not in the table
    has no ``option``. ``head``: up to the first operand."""
    found: list[Found] = []
    at, ended, doubted = start, False, False
    while at < len(words):
        text = said(words[at])
        if ended or len(text) < 2 or text[0] != "-":
            found.append(Found("", text, at, at))
            found += _perhaps(grammar, words, at) if doubted else []
            if head:
                return found
            ended = ended or grammar.stops
        elif text == "--":
            ended = True
            # The option before it may have taken it for its value.
            doubted = at > start and said(words[at - 1])[:1] == "-" and not grammar.stops
        else:
            last = _option(grammar, words, at, found)
            if last > at:
                found += _perhaps(grammar, words, last)
            at = last
        at += 1
    return found


def _option(grammar: Grammar, words: Words, at: int, found: list[Found]) -> int:
    read = _long if grammar.dash == "-" or said(words[at]).startswith("--") else _cluster
    return read(grammar, words, at, found)


def _perhaps(grammar: Grammar, words: Words, at: int) -> list[Found]:
    """What a word that is no option here would ask for if it were one after all: programs differ in that, and a table
    may be wrong."""
    text = said(words[at]) if at < len(words) else ""
    if len(text) < 2 or text[0] != "-" or text == "--":
        return []
    found: list[Found] = []
    _option(grammar, words, at, found)
    return [replace(each, name=f"?{each.name}") for each in found if each.option and each.option.kind != "text"]


def _long(grammar: Grammar, words: Words, at: int, found: list[Found]) -> int:
    name, given, value = said(words[at]).partition("=")
    if grammar.dash == "-" and name.startswith("--"):
        name = name[1:]
    option = grammar.table.get(name) or (grammar.table.get(name.lower()) if grammar.lenient else None)
    if option is None:
        found.append(Found(name, value, at, at))
    elif given or option.value != "required":
        found.append(Found(name, value, at, at, option))
    else:
        at += 1
        found.append(Found(name, said(words[at]) if at < len(words) else "", at - 1, at, option))
    return at


def _cluster(grammar: Grammar, words: Words, at: int, found: list[Found]) -> int:
    text = said(words[at])
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
            if grammar.lenient:
                # The rest may be its value or more letters; either way a dangerous letter counts.
                found += [
                    Found(f"-{other}", "", at, at, grammar.table[f"-{other}"])
                    for other in rest
                    if grammar.table.get(f"-{other}", _SAFE).kind not in _HARMLESS
                ]
                return at
        elif option.value == "none":
            found.append(Found(name, "", at, at, option))
        elif rest or option.value == "glued":
            found.append(Found(name, rest, at, at, option))
            return at
        else:
            at += 1
            found.append(Found(name, said(words[at]) if at < len(words) else "", at - 1, at, option))
            return at
    return at


Meaning = Callable[[Found], list[Use]]
Special = Mapping[str, Meaning]
"""Kinds that only one program has, and what its options and operands of that kind come to."""


def uses_in(grammar: Grammar, found: Iterable[Found], special: Special = MappingProxyType({})) -> list[Use]:
    """What the options and operands come to."""
    uses: list[Use] = []
    operands: list[Found] = []
    skip = 0
    for each in found:
        if not each.name:
            operands.append(each)
        elif each.option:
            skip = 1 if each.name in grammar.instead else skip
            known = len(uses) < _MOST_USES or each.option.kind not in special
            uses += _of_kind(each.option.kind, each, special) if known else [_one_too_many(each)]
        else:
            uses += _unknown(grammar, each)
    for number, each in enumerate(operands):
        kinds = grammar.operands
        kind = kinds[min(number + skip, len(kinds) - 1)]
        if grammar.last and number and number == len(operands) - 1:
            kind = grammar.last
        uses += _of_kind(kind, each, special)
    return uses


def _one_too_many(found: Found) -> Use:
    return Use("odd", found.text, found.at, found.on, f"{found.name} stands there too often for all its files")


def _of_kind(kind: str, found: Found, special: Special) -> list[Use]:
    if kind in special:
        return special[kind](found)
    if kind == "text":
        return []
    role = _MEANT.get(kind)
    if role:
        return [Use(role, found.text, found.at, found.on, meant=True)]
    if kind in ("read", "word"):
        return [Use("read", found.text, found.at, found.on, meant=True, guess=kind == "word")]
    role = cast(Role, "write" if kind == "file" else kind)
    what = "it" if role == "write" else found.text
    why = f"{found.name.lstrip('?') or what} {WHY[role]}"
    return [Use(role, found.text, found.at, found.on, why, target=kind == "file" or not found.name)]


def _unknown(grammar: Grammar, found: Found) -> list[Use]:
    short = not found.name.startswith("--") and grammar.dash == "--"
    if grammar.lenient:
        # One dash before a long name is read in as many ways as there are programs.
        risky = "=" in found.text if short else _may_be_short_for_danger(grammar, found.name)
        if not risky:
            return [Use("read", found.text, found.at, found.on, meant=True, guess=True)] if found.text else []
    return [Use("odd", found.text, found.at, found.on, f"{found.name} is not an option known to be harmless")]


def _may_be_short_for_danger(grammar: Grammar, name: str) -> bool:
    """Some programs take a part of a name for the whole, some do not care for capitals and dashes."""
    part = _bare(name)
    return any(option.kind not in _HARMLESS and _bare(full).startswith(part) for full, option in grammar.table.items())


def _bare(name: str) -> str:
    return name.replace("-", "").replace("_", "").casefold()


def loose(words: Words, start: int = 1) -> list[Use]:
    """Words that only the shell will know, and globs that could become an option when the shell fills them in."""
    uses: list[Use] = []
    ended = False
    for at, word in enumerate(words[start:], start):
        if word.value is None:
            uses.append(Use("odd", "", at, at, "an expansion is not known"))
        elif word.globs and not ended and word.value[0] in "*?[-":
            uses.append(Use("odd", word.value, at, at, f"{word.value} could become an option"))
        ended = ended or word.value == "--"
    return uses


@cache
def grammar(
    spec: str = "",
    *operands: str,
    last: str = "",
    instead: str = "",
    lenient: bool = False,
    dash: str = "--",
    stops: bool = False,
) -> Grammar:
    """The grammar a specification stands for. Every program says who it is and how it is used."""
    table = options_in("--help --version " + spec, dash)
    return Grammar(table, operands or ("text",), last, frozenset(instead.split()), lenient, dash, stops)


def program(
    spec: str = "",
    *operands: str,
    last: str = "",
    instead: str = "",
    lenient: bool = False,
    dash: str = "--",
    stops: bool = False,
    also: tuple[Use, ...] = (),
) -> Program:
    """A program of the table. ``also`` are uses that come with every call of it."""
    rules = grammar(spec, *operands, last=last, instead=instead, lenient=lenient, dash=dash, stops=stops)
    tame = rules.tame and not also

    def read(words: Words) -> list[Use]:
        uses = uses_in(rules, scan(rules, words))
        return [*also, *uses] if tame else [*also, *uses, *loose(words)]

    return Program(read, tame=tame)
