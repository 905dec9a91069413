"""What the tables of programs say, word for word: for every program, what each option and each step of it comes to.

    python -m tests.shell.listing     writes tests/data/programs/ anew

The tables are most of what the gate knows, and one lost word in them is one more thing that runs unasked. So what they
come to is kept beside the tests, where a change of it has to be looked at, and cannot happen by accident.
"""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path

from callgate.shell.command import Word
from callgate.shell.programs.table import PROGRAMS, program_named
from callgate.shell.programs.uses import Program, Use

LISTINGS = Path(__file__).parents[2] / "data" / "programs"
PACKAGE = "callgate.shell.programs"
# The part of the table, and where its words are.
PARTS: dict[str, tuple[str, ...]] = {
    "callgate.shell.programs.awk": (),
    "callgate.shell.programs.builders": ("callgate.shell.programs.builders_options",),
    "callgate.shell.programs.builtins": (),
    "callgate.shell.programs.changing": (),
    "callgate.shell.programs.git": ("callgate.shell.programs.git_options",),
    "callgate.shell.programs.interpreters": (),
    "callgate.shell.programs.network": (),
    "callgate.shell.programs.queries": (),
    "callgate.shell.programs.reading": (),
    "callgate.shell.programs.search": (),
    "callgate.shell.programs.sed": (),
    "callgate.shell.programs.services": (),
    "callgate.shell.programs.wrappers": (),
}
UNASKED = "callgate.shell.programs.unasked"
NEITHER_LONG, NEITHER_SHORT, NEITHER_WORD = "--zz-other", "-~", "zzother"
OPERANDS = ((), ("aa",), ("aa", "bb", "cc"), ("aa=bb",), ("@aa",), ("+aa",), ("/aa",), ("--", "-aa"))
_OPTION = re.compile(r"-[\w.#+-]+")
_STEP = re.compile(r"[A-Za-z][\w.:+-]*")


def listing(part: str) -> str:
    """One paragraph for each program of a part."""
    source = Source(part, *PARTS[part])
    unasked = Source(UNASKED)
    names = getattr(import_module(part), part.rpartition(".")[2].upper())
    return "\n".join(_paragraph(name, source, unasked) for name in sorted(names))


class Source:
    """The texts of a part of the table, and which of them are about what."""

    def __init__(self, *modules: str) -> None:
        self._keyed: defaultdict[str, set[str]] = defaultdict(set)
        """By the name a line of a table is for."""
        self._named: dict[str, ast.expr] = {}
        self._in_lines: set[int] = set()
        common: set[str] = set()
        trees = [ast.parse(Path(import_module(name).__file__ or "").read_text(encoding="utf-8")) for name in modules]
        for node in (node for tree in trees for node in tree.body):
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                self._named[node.targets[0].id] = node.value
        for tree in trees:
            prose = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
            in_lines = self._in_lines
            for table in (node for node in ast.walk(tree) if isinstance(node, ast.Dict)):
                for key, value in zip(table.keys, table.values, strict=True):
                    if isinstance(key, ast.Constant) and isinstance(key.value, str):
                        in_lines.update(map(id, ast.walk(value)))
                        for name in key.value.split():
                            self._keyed[name] |= self._words(value)
            other = prose | in_lines
            for node in ast.walk(tree):
                if id(node) not in other:
                    common |= self._words(node, deep=False)
        self._common = common

    @property
    def names(self) -> set[str]:
        return {name for name in self._keyed if _STEP.fullmatch(name)}

    def about(self, name: str) -> set[str]:
        """The words that stand in lines for this name."""
        return self._keyed.get(name, set())

    def around(self, name: str) -> set[str]:
        """And those that stand in none, but for the names of other programs."""
        return self.about(name) | (self._common - PROGRAMS.keys())

    def _words(self, node: ast.AST, *, deep: bool = True) -> set[str]:
        found: set[str] = set()
        for each in ast.walk(node) if deep else (node,):
            if isinstance(each, ast.Constant) and isinstance(each.value, str):
                found.update(word for token in each.value.split() for word in _meant_by(token))
            elif deep and isinstance(each, ast.Name) and each.id in self._named:
                meant = self._named[each.id]
                self._in_lines.update(map(id, ast.walk(meant)))
                found |= self._words(meant)
        return found


def _meant_by(token: str) -> Iterator[str]:
    name = re.split(r"\?=|!|=", token, maxsplit=1)[0]
    if _OPTION.fullmatch(name):
        yield name
        if name[1] != "-":
            yield from (f"-{letter}" for letter in name[1:])
    elif _STEP.fullmatch(token):
        yield token


def _paragraph(name: str, source: Source, unasked: Source) -> str:
    program = program_named(name)
    lines = [f"{name}:{' quiet' if program.quiet else ''}{' tame' if program.tame else ''}"]
    lines += [f"  ({' '.join(given)})  {outcome(program, name, *given)}" for given in OPERANDS]
    words = source.around(name) | (unasked.about(name) if program.quiet else set())
    lines += _grouped(program, (name,), words)
    # Some of its steps are called like other programs.
    steps = source.names if name == "git" else {word for word in words if word[0] != "-" and word not in PROGRAMS}
    for step in sorted(steps):
        lines += _grouped(program, (name, step), source.about(step))
    return "\n".join(lines) + "\n"


def _grouped(program: Program, before: tuple[str, ...], words: set[str]) -> list[str]:
    """What comes of each word behind these, where it is not what comes of any other."""
    found: defaultdict[str, list[str]] = defaultdict(list)
    clusters = len(program.read([*map(_word, before), _word("-zyx")])) > len(
        program.read([*map(_word, before), _word("-z")])
    )
    for word in sorted(words):
        if clusters and len(word) > 2 and word[0] == "-" != word[1]:
            continue
        for spelt, other in _spellings(word):
            came = outcome(program, *before, *spelt, own=word)
            if came != outcome(program, *before, *other[1:], own=other[0]):
                found[came].append(" ".join(spelt[:-1]))
    return [f"  {' '.join(before)}: {came or 'nothing'}\n    " + ", ".join(found[came]) for came in sorted(found)]


def _spellings(word: str) -> Iterator[tuple[tuple[str, ...], tuple[str, ...]]]:
    """With a value behind it and glued to it; and the same with a word that no table has."""
    if word[0] != "-":
        yield (word, "aa"), (NEITHER_WORD, NEITHER_WORD, "aa")
        return
    other = NEITHER_LONG if len(word) > 2 else NEITHER_SHORT
    yield (word, "vv", "aa"), (other, other, "vv", "aa")
    glue = "=" if len(word) > 2 else ""
    yield (f"{word}{glue}vv", "aa"), (other, f"{other}{glue}vv", "aa")


@cache
def _word(text: str) -> Word:
    return Word(text, text)


def outcome(program: Program, *words: str, own: str = "") -> str:
    """``own``: the word it is about, and all that begins with it, has a sign instead of its text."""
    return " ".join(_use(use, own) for use in program.read([_word(word) for word in words]))


def _use(use: Use, own: str) -> str:
    flags = "".join(letter for letter, has in (("!", use.meant), (">", use.target), ("?", use.guess)) if has)
    text = "·" if own and use.text.startswith(own) else use.text
    return f"{use.role}{flags}({text}@{use.at}/{use.on})"


if __name__ == "__main__":
    LISTINGS.mkdir(exist_ok=True)
    for each in PARTS:
        (LISTINGS / f"{each.rpartition('.')[2]}.txt").write_text(listing(each), encoding="utf-8")
