"""Decides whether a command could run a program that a deny or ask pattern names.

If this is uncertain, the pattern applies. Deny rules are a convenience, not a security boundary: text can always
hide the name of a program.
"""

import re
from collections.abc import Sequence
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Literal

from callgate.shell.analysis import analyse
from callgate.shell.command import Analysis, Word
from callgate.shell.command_patterns import LONE, Piece, ShellPattern, matches, stretch
from callgate.shell.programs.inner_commands import COPYING, CommandRun, find_inner_commands, known_as, name_of
from callgate.shell.programs.program_table import PROGRAMS, subcommand_at
from callgate.shell.programs.uses import text_of
from callgate.words.noun import noun


@noun
class Doubt:
    """The reason why the effect of a command is unknown.

    unread       the command could not be parsed, or the name of its program is an expansion
    interpreter  the command runs unknown code
    """

    kind: Literal["unread", "interpreter"]
    why: str


# Other names of the same option.
_SYNONYMS = {
    "-r": ("-R", "--recursive"),
    "-R": ("-r", "--recursive"),
    "-f": ("--force",),
    "-i": ("--in-place", "--interactive"),
    "-g": ("--global",),
    "--force": ("-f",),
    "--recursive": ("-r", "-R"),
    "--global": ("-g",),
}
_LONGEST = 50_000
_MANY = 20
_ANY_WORD = Word(None)
_REMOVERS = frozenset(("rm", "unlink", "shred", "rmdir"))
_TESTS = frozenset(("[", "[["))
_EMPTY = frozenset(("", ":", "true", "cat", "echo", "printf"))
_TRUSTED = re.compile(r"(?:/usr(?:/local)?)?/s?bin/[^/]+")
_DECODED = re.compile(r"\\x([0-9A-Fa-f]{1,2})|\\([0-7]{1,3})|\\u([0-9A-Fa-f]{1,4})")


def reaches(analysis: Analysis, pattern: ShellPattern) -> str | None:
    """Return why a deny or ask pattern applies to a command, or None."""
    started = find_inner_commands(analysis)
    if pattern.everything:
        return "the pattern matches every command"
    if started.over:
        return "commands are nested too deeply"
    named = started.named.get(_base(pattern).casefold(), ())
    for run in started.runs if pattern.program is None else (*named, *started.open):
        if why := _why_reached(run, pattern):
            return why
    for text in started.unread:
        if len(text) > _LONGEST:
            return "a part of the command is too long to check"
        if pattern.program is None or _names(text, pattern.program):
            return f"{pattern.program or 'any program'} may occur in text that cannot be parsed"
    words = [piece[0] for piece in pattern.pieces if len(piece) == 1]
    for text in [*started.texts, *([analysis.text] if started.blind else [])]:
        if words and all(_names(text, word.rpartition("/")[2]) for word in words):
            return f"{words[0]} occurs in code that the command runs"
    if _base(pattern) in _REMOVERS and len(pattern.pieces) == 1:
        return _removal(started.runs)
    return None


def doubt(analysis: Analysis) -> Doubt | None:
    """Return why the effect of a command is unknown, or None."""
    started = find_inner_commands(analysis)
    if started.unread:
        return Doubt("unread", analysis.fault or "a part of the command cannot be parsed")
    if started.over:
        return Doubt("unread", "commands are nested too deeply")
    for run in started.runs:
        if not run.words:
            continue
        program = run.words[0]
        if run.name is None or (program.globs and run.name not in _TESTS) or program.braces:
            return Doubt("unread", f"the program {program.raw} is known only when the command runs")
        if "/" in text_of(program) and not _TRUSTED.fullmatch(text_of(program)):
            return Doubt("interpreter", f"{text_of(program)} is an unknown program")
    return Doubt("interpreter", started.blind[0]) if started.blind else None


def _base(pattern: ShellPattern) -> str:
    return (pattern.program or "").rpartition("/")[2]


def _why_reached(run: CommandRun, pattern: ShellPattern) -> str | None:
    if not run.words:
        return None
    name, first = run.name, run.words[0]
    if name is None:
        return f"the program {first.raw} is known only when the command runs"
    wanted = _base(pattern)
    if pattern.program is None:
        return _matches_words(run.words, pattern, name)
    if first.globs and fnmatchcase(wanted, name):
        return f"{first.raw or name} may expand to {wanted}"
    if name.casefold() == wanted.casefold():
        words = (*run.words, _ANY_WORD) if run.more and _subcommand(pattern) else run.words
        if same := _matches_words(words, pattern, name):
            return same
    unknown = run.anywhere or run.unclear or PROGRAMS.get(known_as(name)) is None
    if unknown or run.starts:
        # The program may run any of its words as a command.
        step = subcommand_at(name, run.words) if (entry := PROGRAMS.get(name)) and entry.subcommands else 0
        meant = (wanted, None) if run.anywhere or entry is None else (wanted,)
        places = [at for at, word in enumerate(run.words) if at not in (0, step) and name_of(word) in meant]
        if len(places) > _MANY or any(_matches_words(run.words[at:], pattern, wanted) for at in places):
            return f"{name} may run {wanted}"
        if _as_text(run.words, pattern, wanted):
            return f"{name} may run text that names {wanted}"
    if name in COPYING and any(_TRUSTED.fullmatch(text_of(word)) and name_of(word) == wanted for word in run.words[1:]):
        return f"{name} gives {wanted} another name"
    return None


def _as_text(words: tuple[Word, ...], pattern: ShellPattern, wanted: str) -> bool:
    """Return True if one of the words is shell text with a command that matches the pattern."""
    texts = [text_of(word) for word in words[1:] if " " in text_of(word)][:_MANY]
    values = [text.partition("=")[2] for text in texts if "=" in text]
    for text in (*(each for each in texts if each[:1] != "-"), *values):
        inner = find_inner_commands(analyse(text))
        if any(_matches_words(run.words, pattern, wanted) for run in inner.named.get(wanted.casefold(), ())):
            return True
    return False


def _subcommand(pattern: ShellPattern) -> bool:
    """Return True if the second word of the pattern is literal and not an option. An unknown word of the command may
    be equal to that word."""
    return len(pattern.pieces) > 1 and len(pattern.pieces[1]) == 1 and not pattern.pieces[1][0].startswith("-")


def _matches_words(words: tuple[Word, ...], pattern: ShellPattern, name: str) -> str | None:
    """Return a description of the match if the words of a command match the pattern, otherwise None. Options may
    come between the words of the pattern."""
    rest = words[1:]
    if name == "git":
        sub = subcommand_at("git", words)
        rest = words[sub:] if _plain(pattern) else rest
    spoken = [None if word.value is None or word.globs else word.value for word in rest]
    pieces = pattern.pieces[1:]
    if pattern.kind == "wildcard":
        literal = [name, *("\0" if each is None else each for each in spoken)]
        bare = [name, *(each for each in literal[1:] if each[:1] != "-")]
        first: Piece = ("", "") if pattern.program is None else (name,)
        whole = (first, *pieces)
        wanted = {piece[0] for piece in whole if len(piece) == 1}
        found = wanted <= set(literal) and any(stretch(whole, each, least=0) is not None for each in (literal, bare))
        found = found or (None in spoken and _open(whole, literal))
    else:
        options = [piece[0] for piece in pieces if piece[0][:1] == "-" and len(piece[0]) > 1]
        plain = [piece[0] for piece in pieces if piece[0] not in options]
        found = _in_order(plain, spoken, exact=pattern.kind == "exact")
        found = found and all(_has_option(option, spoken) for option in options)
    shown = " ".join([name, *(each or "…" for each in spoken[:12])])[:80]
    return f"{shown} matches {pattern.content}" if found else None


def _plain(pattern: ShellPattern) -> bool:
    return len(pattern.pieces) > 1 and not pattern.pieces[1][0].startswith("-") and pattern.kind != "wildcard"


def _open(pieces: Sequence[Piece], words: Sequence[str]) -> bool:
    """Return True if the words before the first unknown word match the pattern, so that the unknown words could
    complete the match."""
    known = words[: words.index("\0")]
    return all(piece == LONE or matches(piece, word) for piece, word in zip(pieces, known, strict=False))


def _in_order(wanted: list[str], spoken: list[str | None], *, exact: bool) -> bool:
    """Return True if the words begin with the wanted words. Options between them, with or without a value, are
    skipped."""
    places = {0}
    for word in wanted:
        reached: set[int] = set()
        for at in _skipping(places, spoken):
            if at < len(spoken) and (spoken[at] is None or spoken[at] == word):
                reached.add(at + 1)
        if not reached:
            return any(at < len(spoken) and spoken[at] is None for at in _skipping(places, spoken))
        places = reached
    if not exact:
        return True
    return any(at == len(spoken) or spoken[at] is None for at in _skipping(places, spoken))


def _skipping(places: set[int], spoken: list[str | None]) -> set[int]:
    """Return the indices that can follow after any number of options with or without a value."""
    reached = set(places)
    todo = list(places)
    while todo:
        at = todo.pop()
        word = spoken[at] if at < len(spoken) else ""
        if word and len(word) > 1 and word[0] in "-+":
            ahead = {at + 1} if "=" in word or word == "--" else {at + 1, min(at + 2, len(spoken))}
            todo += ahead - reached
            reached |= ahead
    return reached


def _has_option(option: str, spoken: list[str | None]) -> bool:
    """Return True if the words contain the option: as its own word, in a cluster, abbreviated, or under another
    name."""
    if None in spoken:
        return True
    given = [word for word in spoken if word and word[:1] == "-"]
    if option.startswith("--"):
        names = [word.partition("=")[0] for word in given]
        found = any(len(name) > 3 and option.startswith(name) for name in names)
        return found or any(_has_letter(other[1], given) for other in _SYNONYMS.get(option, ()))
    return all(
        _has_letter(letter, given) or any(_alias(other, given) for other in _SYNONYMS.get(f"-{letter}", ()))
        for letter in option[1:]
    ) or any(word.partition("=")[0] == option for word in given)


def _alias(option: str, given: list[str]) -> bool:
    if not option.startswith("--"):
        return _has_letter(option[1], given)
    return any(len(word) > 3 and option.startswith(word.partition("=")[0]) for word in given)


def _has_letter(letter: str, given: list[str]) -> bool:
    return any(letter in word[1:] for word in given if word[:2] != "--")


def _removal(runs: Sequence[CommandRun]) -> str | None:
    """Return a reason if the commands remove or empty a file with a program that the pattern does not name, otherwise
    None."""
    for run in runs:
        for use in run.uses:
            if use.role == "remove":
                return f"{run.name} removes {use.text or 'files'}"
        if run.name in _EMPTY and any(each.operator in (">", ">|", "&>") for each in run.redirects):
            target = next(text_of(each.target) for each in run.redirects if each.operator in (">", ">|", "&>"))
            if target != "/dev/null" and all(text_of(word)[:1] in ("", "-", "/") for word in run.words[1:]):
                return f"the command empties {target}"
    return None


def _names(text: str, name: str) -> bool:
    """Return True if the name occurs in the text as a word, in any quotes."""
    wanted = name.casefold()
    texts = [each for each in _readings(text) if wanted in each]
    return bool(texts) and any(re.search(rf"(?<![\w-]){re.escape(wanted)}(?![\w-])", each) for each in texts)


@lru_cache(maxsize=64)
def _readings(text: str) -> tuple[str, ...]:
    """Return the text as written, and the forms that the text may have after quotes are removed and expansions are
    applied."""
    joined = re.sub(r"\\\r?\n", "", text)
    decoded = _DECODED.sub(_decode, joined)
    bare = [re.sub(r"\$\{?[@*]\}?|\$\(\s*\)|``|['\"\\]|\$(?=['\"])", "", each) for each in (joined, decoded)]
    emptied = [re.sub(r"\$\{[^}$]{0,80}\}|\$\w+", "", each) for each in bare]
    return tuple(dict.fromkeys(each.casefold() for each in [text, joined, decoded, *bare, *emptied]))


def _decode(found: re.Match[str]) -> str:
    hexadecimal, octal, unicode = found.groups()
    number = int(octal, 8) if octal else int(hexadecimal or unicode, 16)
    return chr(number)
