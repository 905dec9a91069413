"""Every program that is known, by its name, and how the words of a command are read by its entry.

A program that has no entry is granted by its exact command alone: each of its words is a use that no rule covers
without writing it out.
"""

import re
from collections.abc import Mapping
from functools import cache, lru_cache

from callgate.shell.command import Word
from callgate.shell.programs.builders import BUILDERS
from callgate.shell.programs.changing import CHANGING
from callgate.shell.programs.entries import Entry, Found, Grammar, loose, of_kind, scan, unknown, uses_in
from callgate.shell.programs.git import GIT
from callgate.shell.programs.languages import LANGUAGES
from callgate.shell.programs.reading import READING
from callgate.shell.programs.services import SERVICES
from callgate.shell.programs.uses import Role, Use, Words, pieces, text_of, unsure
from callgate.shell.programs.wrappers import WRAPPERS, commands

_REMOVES = re.compile(r"--(?:del|delete|rm|remove|unlink|purge)")
# A packed file gives one without the ending.
_PACKED = re.compile(r"(.+)\.(?:gz|bz2|xz|zst|Z)")


def names_in(text: str) -> list[str]:
    """``grep,egrep`` are two programs, ``npm test|start`` two subcommands of one."""
    heads = [each.rpartition(" ") for each in text.split(",")]
    return [f"{head}{blank}{last}" for head, blank, lasts in heads for last in lasts.split("|")]


def named(*tables: tuple[Entry, ...]) -> dict[str, Entry]:
    """The entries by name. A second entry of a name is an error: one of the two would be forgotten."""
    found: dict[str, Entry] = {}
    for entry in (each for table in tables for each in table):
        for name in names_in(entry.names):
            if name in found:
                raise ValueError(f"{name} has two entries")
            found[name] = entry
    return found


PROGRAMS: Mapping[str, Entry] = named(READING, CHANGING, GIT, BUILDERS, SERVICES, LANGUAGES, WRAPPERS)


@cache
def grammar_of(name: str) -> Grammar:
    """The grammar of a program or subcommand; the options of a program count behind its subcommands, too."""
    above = [PROGRAMS[head].options for head in _heads(name) if head in PROGRAMS]
    return Grammar(PROGRAMS[name], " ".join(above))


def _heads(name: str) -> list[str]:
    words = name.split()
    return [" ".join(words[:count]) for count in range(1, len(words))]


def entry_of(name: str) -> Entry | None:
    return PROGRAMS.get(name)


def read(name: str, words: Words, start: int = 1) -> tuple[Use, ...]:
    """The uses of a command of this program, from the word ``start`` on."""
    return _read(name, tuple(words), start)


@lru_cache(maxsize=64)
def _read(name: str, words: tuple[Word, ...], start: int) -> tuple[Use, ...]:
    """One decision asks for the same command several times."""
    return tuple(_uses(name, words, start))


def _uses(name: str, words: Words, start: int) -> list[Use]:
    entry = PROGRAMS.get(name)
    if entry is None:
        return anything(words)
    if [text_of(word) for word in words[start:]] == ["--version"]:
        return []
    if entry.code is not None:
        return entry.code(entry, words, start)
    if entry.steps:
        return _steps(name, words, start)
    grammar = grammar_of(name)
    uses = [] if entry.tame else loose(words, start, positional=grammar.positional)
    end = _behind(entry, words, start)
    found = scan(grammar, words[:end], start)
    uses += uses_in(grammar, found) + _commands(name, grammar, words[:end], found)
    if entry.also:
        uses += of_kind(entry.also, Found("", "", start - 1, start - 1))
    if end < len(words):
        rest = grammar_behind(entry.behind or "")
        uses += uses_in(rest, scan(rest, words, end + 1))
    return uses


def step_of(name: str, words: Words, start: int = 1) -> tuple[str, int]:
    """The full name of the subcommand that these words name, and where its own words start; the name of the program
    where it has no subcommands or none is named."""
    entry = PROGRAMS.get(name)
    while entry is not None and entry.steps:
        found = scan(grammar_of(name), words, start, head=True)
        if not found or found[-1].name or f"{name} {found[-1].text}" not in PROGRAMS:
            break
        name, start = f"{name} {found[-1].text}", found[-1].at + 1
        entry = PROGRAMS[name]
    return name, start


def subcommand_at(name: str, words: Words) -> int:
    """The place of the first operand; past the end if there is none."""
    found = scan(grammar_of(name), words, head=True)
    return found[-1].at if found and not found[-1].name else len(words)


def _steps(name: str, words: Words, start: int) -> list[Use]:
    grammar = grammar_of(name)
    found = scan(grammar, words, start, head=True)
    uses = uses_in(grammar, [each for each in found if each.name])
    step = next((each for each in found if not each.name), None)
    if step is None:
        alone = PROGRAMS.get(f"{name} ")
        return uses + loose(words, start) + (of_kind(alone.also, Found("", "", 0, 0)) if alone else [])
    if f"{name} {step.text}" in PROGRAMS and not unsure(words[step.at]):
        return uses + loose(words[: step.at], start) + _uses(f"{name} {step.text}", words, step.at + 1)
    return [*uses, *_each(words, step.at, f"{name} {step.text} is not known")]


def _behind(entry: Entry, words: Words, start: int) -> int:
    """The index of the ``--`` behind which words are handed to another program; past the end if there is none."""
    if entry.behind is None:
        return len(words)
    return next((at for at, word in enumerate(words[start:], start) if text_of(word) == "--"), len(words))


@cache
def grammar_behind(spec: str) -> Grammar:
    """Its last word is the kind of the operands, if it is no option; without one they are not known."""
    *options, last = spec.split() or [""]
    operands = "" if last[:1] == "-" else last
    return Grammar(Entry("", operands, " ".join(options if operands else [*options, last])))


def _commands(name: str, grammar: Grammar, words: Words, found: list[Found]) -> list[Use]:
    """The command in the words of a wrapper."""
    kinds = [kind for kind in grammar.kinds if kind in ("argv", "shell")]
    if not kinds:
        return []
    uses = commands(words, found, grammar.kinds.index(kinds[0]), name, shell_text=kinds[0] == "shell")
    return uses or [Use(role="code", text="", at=0, on=0, why=f"{name} alone runs what it reads")]


def _each(words: Words, start: int, why: str) -> list[Use]:
    return [unknown(Found("", text_of(word), at, at), why) for at, word in enumerate(words[start:], start)]


def anything(words: Words) -> list[Use]:
    """A program without an entry: every word may be a path it reads or writes, a part after ``=`` too."""
    uses = [Use("alter", "", 0, 0, granted=True)]
    removes = any(_REMOVES.match(text_of(word)) for word in words[1:])
    roles: tuple[Role, ...] = ("read", "write", "remove") if removes else ("read", "write")
    for at, word in enumerate(words[1:], 1):
        text = text_of(word)
        uses.append(
            Use(
                role="unknown",
                text=text,
                at=at,
                on=at,
                why=f"{text} is not known: there is no entry for {text_of(words[0])}",
            )
        )
        if text[:1] == "-":
            _, given, value = text.partition("=")
            text = value if given else text[2:] if text[2:3] in ("/", "~", ".") else ""
        packed = _PACKED.fullmatch(text)
        for path in (*pieces(text), *(packed.groups() if packed else ())):
            uses += [Use(role, path, at, at, granted=True, guess=True) for role in roles]
    return uses
