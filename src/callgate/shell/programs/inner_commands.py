"""Finds every command that a script would start, including commands in the words of wrappers and in text for other
shells."""

import re
from collections.abc import Mapping, Sequence
from functools import cached_property, lru_cache
from itertools import pairwise

from callgate.shell.analysis import analyse
from callgate.shell.command import Analysis, Redirect, Script, Word
from callgate.shell.programs.program_table import PROGRAMS, anything, read
from callgate.shell.programs.uses import Use, text_of
from callgate.words.noun import noun

COPYING = frozenset(("ln", "cp", "mv", "install", "link", "cat", "dd", "rsync", "hash"))
"""Programs that can give another program a new name."""
DEEPEST = 8
"""The maximum depth of nested commands."""
LONGEST = 1_000
"""The maximum number of words of one command."""
_WORDS = 3_000
_TEXTS = 40
_PARTS = 20
_PART = 4

_LOADER = re.compile(r"ld(?:-linux|-musl)?[-\w.]*\.so(?:\.\d+)?")
_PYTHON = re.compile(r"(?:python|pypy)[0-9.]*")
# Variables whose value programs run as a command.
_COMMAND_VARIABLE = re.compile(
    r"(?:.*_)?(?:PAGER|EDITOR|VISUAL|COMMAND|BROWSER|SSH|ASKPASS|SHELL|FSMONITOR|EXTERNAL_DIFF|PS4)"
)
# Programs that run other programs, and the subcommands that do so.
_STARTING = frozenset(("docker", "podman", "kubectl"))
_STARTED_BY = frozenset(("exec", "run", "debug"))
_READS_INPUT = frozenset(("xargs", "parallel"))
_PRINTING = frozenset(("echo", "printf"))
# ``!command`` in arguments of editors and pagers.
_EDITORS = frozenset(("vim", "vi", "nvim", "view", "vimdiff", "gvim", "ex", "less", "more", "most", "man"))
_BANG = re.compile(r"\+?:?!\s*(.+)", re.DOTALL)
_BUILDERS = frozenset(("make", "gmake"))


@noun
class CommandRun:
    """One command and its effects.

    name      the name of the program without its folder; None if the name is an expansion
    depth     the number of commands that enclose the command
    step      the index of the enclosing simple command of the script
    more      the command gets further words, which are unknown
    anywhere  the command runs one of its words, but the index of the word is unknown
    unclear   the table does not describe one of the words
    """

    words: tuple[Word, ...]
    name: str | None
    uses: tuple[Use, ...]
    redirects: tuple[Redirect, ...]
    depth: int
    step: int
    more: bool
    anywhere: bool
    unclear: bool

    @property
    def starts(self) -> bool:
        """True if the command passes some of its words to another program."""
        return self.name in _STARTING and any(text_of(word) in _STARTED_BY for word in self.words)


def name_of(word: Word) -> str | None:
    """Return the name of the program that the word starts; None if the name contains an expansion."""
    if word.value is None:
        tail = word.raw.rpartition("/")[2]
        return tail if "/" in word.raw and re.fullmatch(r"[\w.+-]+", tail) else None
    return word.value.rstrip("/").rpartition("/")[2]


def known_as(name: str) -> str:
    """Return the name of the row for a program. All versions of Python share a row, and so do all dynamic loaders."""
    if _LOADER.fullmatch(name):
        return "busybox"
    return "python3" if _PYTHON.fullmatch(name) else name


def uses_of(words: tuple[Word, ...]) -> tuple[Use, ...]:
    """Return the effects of the words of a command; empty if the name of the program is unknown."""
    name = name_of(words[0]) if words else None
    uses = read(known_as(name), words) if name else ()
    if _unclear(uses):
        # An unknown word may take any other word as its value.
        uses = (*uses, *(use for use in anything(words) if use.role in ("read", "write") and use.guess))
    return uses


def _unclear(uses: tuple[Use, ...]) -> bool:
    return any(use.role == "unknown" and not use.guess for use in uses)


class InnerCommands:
    """Every command that a command would start.

    texts   programs in other languages
    unread  shell texts that could not be parsed completely
    blind   reasons why the command runs unknown code
    over    a limit on the number or depth of commands was exceeded
    """

    def __init__(self, analysis: Analysis) -> None:
        self.runs: list[CommandRun] = []
        self.texts: list[str] = []
        self.unread = [] if analysis.whole else [analysis.text]
        self.blind: list[str] = []
        self.over = False
        self._words = 0
        self._analysed = 0
        self._step = 0
        self._fed: tuple[Word, ...] = ()
        self._script(analysis.script, 0)

    @cached_property
    def named(self) -> Mapping[str, Sequence[CommandRun]]:
        """The runs of each program, by its name in lower case."""
        found: dict[str, list[CommandRun]] = {}
        for run in self.runs:
            found.setdefault((run.name or "").casefold(), []).append(run)
        return found

    @cached_property
    def open(self) -> Sequence[CommandRun]:
        return [run for run in self.runs if _open(run)]

    def _script(self, script: Script, depth: int) -> None:
        fed = _printed(script)
        for number, simple in enumerate(script.commands):
            self._fed = fed
            self._step = self._step if depth else number
            for name, value in simple.assignments:
                if _COMMAND_VARIABLE.fullmatch(name) and simple.words:
                    self._text(text_of(value), depth + 1)
            self._command(simple.words, depth, simple.redirects)

    def _command(
        self, words: tuple[Word, ...], depth: int, redirects: tuple[Redirect, ...] = (), *, more: bool = False
    ) -> None:
        feeds = bool(words) and name_of(words[0]) in _READS_INPUT
        if not feeds or not self._fed:
            self._started(words, depth, redirects, more=more, unseen=feeds)
            return
        self._started(_with_input(words, self._fed), depth, redirects, more=more, unseen=len(self._fed) > _PARTS)
        # xargs and parallel start any number of commands, each with some of the input words.
        for at in range(1, min(len(self._fed), _PARTS)):
            self._started(_with_input(words, self._fed[at : at + _PART]), depth, redirects, more=more)

    def _started(
        self, words: tuple[Word, ...], depth: int, redirects: tuple[Redirect, ...], *, more: bool, unseen: bool = False
    ) -> None:
        """Add a command and the commands that it starts.

        unseen  the inner commands get further words, which are unknown
        """
        self._words += len(words) + 1
        if depth > DEEPEST or self._words > _WORDS or len(words) > LONGEST:
            self.over = True
            return
        uses = uses_of(words)
        run = CommandRun(
            words=words,
            name=name_of(words[0]) if words else "",
            uses=uses,
            redirects=redirects,
            depth=depth,
            step=self._step,
            more=more,
            anywhere=any(use.role == "argv" and use.on >= len(words) for use in uses),
            unclear=_unclear(uses),
        )
        self.runs.append(run)
        self._hidden_commands(run, depth + 1)
        for use in uses:
            if use.role == "argv" and use.on < len(words):
                self._command(_until_end(words[use.on :]), depth + 1, more=unseen)
            elif use.role == "run":
                self._text(use.text, depth + 1) if use.text else self.blind.append(use.why)
            elif use.role == "code":
                self.blind.append(use.why or "it runs code")
                self.texts += [use.text] if use.text else []
            elif use.role == "load" and "=" in use.text:
                # git -c core.pager=command, and other settings with a command.
                name, _, value = use.text.partition("=")
                self._setting(name, value, depth + 1)

    def _hidden_commands(self, run: CommandRun, depth: int) -> None:
        """Yield commands inside arguments that the table treats as safe: a git alias, or ``!command`` in an editor."""
        texts = [text_of(word) for word in run.words[1:]]
        if run.name == "git":
            for name, value in pairwise(texts):
                if name.startswith("alias."):
                    self._setting(name, value, depth)
        elif run.name in _EDITORS:
            for text in texts:
                if found := _BANG.fullmatch(text):
                    self._text(found[1], depth)
        elif run.name in _BUILDERS and any(each.operator.startswith("<<") for each in run.redirects):
            self.blind.append(f"{run.name} runs the text of its input")

    def _setting(self, name: str, value: str, depth: int) -> None:
        """Add the command in the value of a git setting. The value of an alias is a subcommand of git, or a shell
        command after ``!``."""
        subcommand = name.startswith("alias.") and value[:1] != "!"
        self._text(f"git {value}" if subcommand else value.lstrip("!"), depth)

    def _text(self, text: str, depth: int) -> None:
        if depth > DEEPEST or self._analysed >= _TEXTS:
            self.over = True
            return
        self._analysed += 1
        text = text.removeprefix("exec=")  # tar writes the command as exec=command
        if "\0" in text:
            self.blind.append("it runs text that is known only when the command runs")
            text = text.replace("\0", "$_")
        inner = analyse(text)
        if not inner.whole:
            self.unread.append(text)
        self._script(inner.script, depth)


def _printed(script: Script) -> tuple[Word, ...]:
    """Return the words that may become input of a command of the script: printed words, here-strings and
    here-documents. The list is empty if no command reads words from its input."""
    if not any(command.words and name_of(command.words[0]) in _READS_INPUT for command in script.commands):
        return ()
    found: list[Word] = []
    for command in script.commands:
        if command.words and name_of(command.words[0]) in _PRINTING:
            found += command.words[1:]
        found += [each.target for each in command.redirects if each.operator == "<<<"]
        bodies = [each.body for each in command.redirects if each.body]
        found += [Word(line, line) for body in bodies for line in body.splitlines()]
    return tuple(piece for word in found[:LONGEST] for piece in _split(word))


def _split(word: Word) -> list[Word]:
    if word.value is None:
        return [word]
    texts = re.split(r"\s+|\\[nt0]", word.value)
    return [Word(text, text) for text in texts if text not in ("", "-n", "-e", "%s")]


def _with_input(words: tuple[Word, ...], fed: tuple[Word, ...]) -> tuple[Word, ...]:
    """Return the words of an ``xargs`` command with the input words in place of its placeholder, or at the end."""
    texts = [text_of(word) for word in words]
    marks = [text[2:] or after for text, after in zip(texts, [*texts[1:], ""], strict=True) if text[:2] == "-I"]
    mark = marks[0] if marks else "{}"
    own = [text.startswith("-I") or before == "-I" for text, before in zip(texts, ["", *texts], strict=False)]
    at = next((at for at, text in enumerate(texts) if mark and mark in text and not own[at]), None)
    if at is None:
        return (*words, *fed)
    whole = [each if each.value is None else Word(texts[at].replace(mark, each.value), texts[at]) for each in fed]
    return (*words[:at], *(fed if texts[at] == mark else whole), *words[at + 1 :])


def _until_end(words: tuple[Word, ...]) -> tuple[Word, ...]:
    for at, word in enumerate(words):
        if text_of(word) in (";", "+"):
            return words[:at]
    return words


def _open(run: CommandRun) -> bool:
    if not run.words:
        return False
    name = run.name
    if name is None or run.words[0].globs or name in COPYING:
        return True
    return run.anywhere or run.starts or run.unclear or PROGRAMS.get(known_as(name)) is None


@lru_cache(maxsize=256)
def _remembered(text: str) -> list[tuple[Analysis, InnerCommands]]:
    """Return the cache entry of a text: a list that contains the last result or nothing. The key is the text,
    because hashing a whole analysis for each rule would be slow."""
    return []


def find_inner_commands(analysis: Analysis) -> InnerCommands:
    """Return every command that a command would start, directly, through wrappers or through shell text. The run
    time is limited."""
    place = _remembered(analysis.text)
    if place and place[0][0] is analysis:
        return place[0][1]
    place[:] = [(analysis, found := InnerCommands(analysis))]
    return found
