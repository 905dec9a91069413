"""Every command a script would start, those behind wrappers and in strings for other shells included."""

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache

from callgate.policy.shell.analyse import analyse
from callgate.policy.shell.command import Analysis, Redirect, Script, Word
from callgate.policy.shell.programs.table import UNKNOWN, program_named
from callgate.policy.shell.programs.uses import Use, said
from callgate.words.noun import noun

COPYING = frozenset(("ln", "cp", "mv", "install", "link", "cat", "dd", "rsync"))
"""Programs that can give another one a new name."""
DEEPEST = 8
"""How many commands may stand in each other."""
_LONGEST = 1_000
_WORDS = 3_000
_TEXTS = 40

_LOADER = re.compile(r"ld(?:-linux|-musl)?[-\w.]*\.so(?:\.\d+)?")
_PYTHON = re.compile(r"(?:python|pypy)[0-9.]*")
# Variables whose value is a command for whoever reads them.
_COMMAND_VARIABLE = re.compile(
    r"(?:.*_)?(?:PAGER|EDITOR|VISUAL|COMMAND|BROWSER|SSH|ASKPASS|SHELL|FSMONITOR|EXTERNAL_DIFF|PS4)"
)


@noun
class Run:
    """One command: its words, and what it would do with them. ``depth`` says how many others it stands in."""

    words: tuple[Word, ...]
    uses: tuple[Use, ...] = ()
    redirects: tuple[Redirect, ...] = ()
    depth: int = 0

    @property
    def name(self) -> str | None:
        """The program without the folder it is in; None if only the shell will know."""
        return name_of(self.words[0]) if self.words else ""

    @property
    def anywhere(self) -> bool:
        """It runs one of its words, and nobody can say which."""
        return any(use.role == "argv" and use.on >= len(self.words) for use in self.uses)


@noun
class Inside:
    """``texts`` are programs in other languages, ``unread`` shell text that nobody could read to its end. ``blind``
    says what runs that is not in sight. ``over``: too many or too deep to follow. ``named`` are the runs by the name
    of their program, in small letters; ``open`` those that may come to another program than they are named after."""

    runs: tuple[Run, ...]
    named: Mapping[str, Sequence[Run]]
    open: tuple[Run, ...]
    texts: tuple[str, ...] = ()
    unread: tuple[str, ...] = ()
    blind: tuple[str, ...] = ()
    over: bool = False


def name_of(word: Word) -> str | None:
    """The name of the program this word starts; None if an expansion has a part in it."""
    if word.value is None:
        tail = word.raw.rpartition("/")[2]
        return tail if "/" in word.raw and re.fullmatch(r"[\w.+-]+", tail) else None
    return word.value.rstrip("/").rpartition("/")[2]


def known_as(name: str) -> str:
    """The name under which the table has a program: loaders and versions of Python are many."""
    if _LOADER.fullmatch(name):
        return "ld.so"
    return "python3" if _PYTHON.fullmatch(name) else name


def uses_of(words: tuple[Word, ...]) -> tuple[Use, ...]:
    """What these words would do; nothing is known when the program is not."""
    name = name_of(words[0]) if words else None
    return tuple(program_named(known_as(name)).read(words)) if name else ()


class _Walk:
    """One walk; the limits are those of the whole walk."""

    def __init__(self) -> None:
        self.runs: list[Run] = []
        self.texts: list[str] = []
        self.unread: list[str] = []
        self.blind: list[str] = []
        self.words = 0
        self.analysed = 0
        self.over = False

    def script(self, script: Script, depth: int) -> None:
        for simple in script.commands:
            for name, value in simple.assignments:
                if _COMMAND_VARIABLE.fullmatch(name) and simple.words:
                    self.text(said(value), depth + 1)
            self.command(simple.words, depth, simple.redirects)

    def command(self, words: tuple[Word, ...], depth: int, redirects: tuple[Redirect, ...] = ()) -> None:
        self.words += len(words) + 1
        if depth > DEEPEST or self.words > _WORDS or len(words) > _LONGEST:
            self.over = True
            return
        uses = uses_of(words)
        self.runs.append(Run(words, uses, redirects, depth))
        for use in uses:
            if use.role == "argv" and use.on < len(words):
                self.command(_until_end(words[use.on :]), depth + 1)
            elif use.role == "run":
                self.text(use.text, depth + 1) if use.text else self.blind.append(use.why)
            elif use.role == "code":
                self.blind.append(use.why or "it runs code")
                self.texts += [use.text] if use.text else []
            elif use.role == "load" and "=" in use.text:
                # git -c alias.x=!command, and others that take a command as a setting.
                self.text(use.text.partition("=")[2].lstrip("!"), depth + 1)

    def text(self, text: str, depth: int) -> None:
        if depth > DEEPEST or self.analysed >= _TEXTS:
            self.over = True
            return
        self.analysed += 1
        if "\0" in text:
            self.blind.append("it runs text that only the shell will know")
            text = text.replace("\0", "$_")
        inner = analyse(text)
        if not inner.whole:
            self.unread.append(text)
        self.script(inner.script, depth)


def _until_end(words: tuple[Word, ...]) -> tuple[Word, ...]:
    """find ends the command inside with ``;`` or ``+``."""
    for at, word in enumerate(words):
        if said(word) in (";", "+"):
            return words[:at]
    return words


def _open(run: Run) -> bool:
    """It may start another program than its first word says."""
    if not run.words:
        return False
    name = run.name
    if name is None or run.words[0].globs or name in COPYING:
        return True
    return run.anywhere or program_named(known_as(name)) is UNKNOWN


@lru_cache(maxsize=256)
def _remembered(text: str) -> list[tuple[Analysis, Inside]]:
    """A place for the last answer about a text; to hash a whole analysis for each rule would cost too much."""
    return []


def inside(analysis: Analysis) -> Inside:
    """What a command would start, as far as it can be seen, in a bounded time."""
    place = _remembered(analysis.text)
    if place and place[0][0] is analysis:
        return place[0][1]
    walk = _Walk()
    walk.script(analysis.script, 0)
    unread = tuple(walk.unread) if analysis.whole else (analysis.text, *walk.unread)
    named: dict[str, list[Run]] = {}
    for run in walk.runs:
        named.setdefault((run.name or "").casefold(), []).append(run)
    loose = tuple(run for run in walk.runs if _open(run))
    seen = Inside(tuple(walk.runs), named, loose, tuple(walk.texts), unread, tuple(walk.blind), walk.over)
    place[:] = [(analysis, seen)]
    return seen
