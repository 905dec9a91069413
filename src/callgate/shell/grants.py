"""The allow side: whether rules cover a command, all of it."""

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property

from callgate.shell.command import Analysis, Redirect, Simple, Word
from callgate.shell.folders import below, whereabouts
from callgate.shell.patterns import ShellPattern
from callgate.shell.programs import Use, program_named
from callgate.shell.programs.inner import known_as
from callgate.shell.programs.uses import said
from callgate.shell.programs.wrappers import TRANSPARENT
from callgate.words.noun import noun

Permits = Callable[[str], bool]
"""Whether a path, as spelled, may be read or written."""


@noun
class Granted:
    """Rules cover it; ``used`` are the indices of the patterns that were needed."""

    used: tuple[int, ...]


@noun
class Refused:
    why: str


_VARIABLES = frozenset(
    "LANG LANGUAGE LC_ALL LC_CTYPE LC_COLLATE LC_MESSAGES LC_NUMERIC LC_TIME TZ TERM NO_COLOR FORCE_COLOR CLICOLOR "  # noqa: SIM905
    "CLICOLOR_FORCE CI COLUMNS LINES NODE_ENV RUST_BACKTRACE RUST_LOG CARGO_TERM_COLOR PYTHONUNBUFFERED "
    "PYTHONDONTWRITEBYTECODE PYTHONHASHSEED PYTHONASYNCIODEBUG GOOS GOARCH CGO_ENABLED".split()
)
_PAGERS = frozenset(("PAGER", "GIT_PAGER", "MANPAGER"))
_VALUE = re.compile(r"[\w.@:+-]*|[\w+-]+(?:/[\w+-]+)+")
_MAY_LEAD_UP = re.compile(r"(?:^|/)\.[^/]*[*?[]")
_PATTERN = frozenset("*?[")
_DUPLICATE = re.compile(r"[0-9]+-?|-")
_WRITES = frozenset((">", ">>", ">|", "&>", "&>>", ">&", "<>"))
_TEXTS = frozenset(("<<", "<<-", "<<<"))
# They need no rule of their own beside a command that has one.
_FREE = frozenset(("cd", "time", "timeout", "nice", "ionice", "stdbuf"))
# They add words of their own to the command they run.
_APPENDING = frozenset(("xargs", "parallel", "find", "gfind", "fd", "fdfind", "entr"))
_DEEPEST = 8
_LONGEST = 1_000
_MOST_LOOKS = 1_500


def within_by_spelling(path: str) -> bool:
    """A path that by its letters cannot lead out of the folder one is in. Links are the resolver's business."""
    if path[:1] in ("/", "~"):
        return path == "/dev/null"
    depth = 0
    for part in path.split("/"):
        if part == "..":
            depth -= 1
        elif part not in ("", "."):
            depth += 1
        if depth < 0:
            return False
    return True


def here_by_spelling(path: str) -> bool:
    """A folder that by its letters is the one a command starts in."""
    return path[:1] != "/" and set(path.split("/")) <= {"", "."}


def safe_assignments(simple: Simple) -> str | None:
    """Why the environment of a command is not harmless; None if it is."""
    for name, value in simple.assignments:
        text = value.value
        if text is None or value.globs or value.tilde or value.braces:
            return f"{name} is set to something that is not known"
        if name in _PAGERS and text in ("", "cat"):
            continue
        if name not in _VARIABLES or not _VALUE.fullmatch(text) or ".." in text.split("/"):
            return f"{name} may change what the command does"
    return None


@noun
class _Desk:
    """What a decision is made of; ``here`` are the folders the command may be in by now."""

    patterns: tuple[ShellPattern, ...]
    may_write: Permits
    may_read: Permits
    stays: Permits
    here: tuple[str, ...] = ("",)

    @property
    def moved(self) -> bool:
        return self.here != ("",) and not all(map(self.stays, self.here))

    def enters(self, path: str) -> bool:
        """Whether it leads to another folder than the first one."""
        return not all(self.stays(below(folder, path)) for folder in self.here)

    def reads(self, path: str, *, globs: bool = False) -> bool:
        """``globs``: the shell fills the word in, and one with a dot first may become ``..``."""
        if path == "/dev/null" or path in ("", "-"):
            return True
        if globs and _MAY_LEAD_UP.search(path):
            return False
        return not path.startswith("/dev/") and all(self.may_read(below(folder, path)) for folder in self.here)


def grant(
    analysis: Analysis,
    patterns: Sequence[ShellPattern],
    may_write: Permits,
    may_read: Permits = within_by_spelling,
    stays: Permits = here_by_spelling,
) -> Granted | Refused:
    """Whether the patterns cover every simple command, and nothing else happens on the way.

    ``may_write`` is asked for targets of redirections and for files that are written like them, ``may_read`` for every
    path a known program would read or change, and for the words of an unknown one, ``stays`` for folders: whether it
    is the one the command starts in.
    """
    if analysis.fault is not None:
        return Refused(analysis.fault)
    if analysis.script.expands:
        return Refused("an expansion is not known before it runs")
    if not analysis.script.commands:
        return Refused("there is no command in it")
    desk = _Desk(tuple(patterns), may_write, may_read, stays)
    used: list[int] = []
    for simple, where in zip(analysis.script.commands, whereabouts(analysis), strict=True):
        if where.lost:
            return Refused("the folder it goes to is not known")
        answer = _simple(simple, replace(desk, here=where.here))
        if isinstance(answer, Refused):
            return answer
        used += answer
    if not used:
        return Refused("no rule covers it")
    return Granted(tuple(sorted(set(used))))


def _simple(simple: Simple, desk: _Desk) -> list[int] | Refused:
    if not simple.words:
        return Refused("an assignment or a redirection without a command")
    if set(simple.within) & {"function", "substitution", "control"}:
        return Refused("a command inside another form")
    if why := safe_assignments(simple):
        return Refused(why)
    for redirect in simple.redirects:
        if why := _redirect(redirect, desk):
            return Refused(why)
    return _cover(simple.words, desk, 0)


def duplicates(redirect: Redirect) -> bool:
    """It is about another descriptor, or closes one."""
    return redirect.operator in (">&", "<&") and _DUPLICATE.fullmatch(said(redirect.target)) is not None


def _redirect(redirect: Redirect, desk: _Desk) -> str | None:
    target, operator = redirect.target, redirect.operator
    path = said(target)
    if operator in _TEXTS or path == "/dev/null":
        return None
    if duplicates(redirect):
        return None
    if target.value is None or target.globs or target.tilde or target.braces:
        return f"the target {target.raw or path} is not known"
    if operator == "<":
        return None if desk.reads(path) else f"it reads {path}, which is outside"
    if operator not in _WRITES:
        return f"the redirection {operator}"
    if desk.moved and not path.startswith("/"):
        return f"it changes the folder and then writes {path}"
    return None if desk.may_write(path) else f"it writes {path}, which no Edit rule covers"


def _cover(words: tuple[Word, ...], desk: _Desk, depth: int) -> list[int] | Refused:
    """The patterns that cover one command, or why none does."""
    if depth > _DEEPEST:
        return Refused("too many commands in each other")
    program = words[0]
    if len(words) > _LONGEST:
        return Refused(f"more than {_LONGEST:,} words")
    if program.value is None or program.globs or program.braces or program.tilde:
        return Refused(f"the program {program.raw or program.value} is not a plain name")
    if any(word.value is None for word in words):
        return Refused("an expansion is not known before it runs")
    texts = [said(word) for word in words]
    act = _Act(words)
    refusal: Refused | None = None
    for number, pattern in enumerate(desk.patterns):
        spelled = pattern.spelled(texts)
        if spelled is None or any(words[at].globs for at in spelled):
            continue
        answer = _objections(act, spelled, pattern, desk, depth)
        if not isinstance(answer, Refused):
            return [number, *answer]
        refusal = refusal or answer
    if refusal is None and texts[0] in _FREE:
        return _objections(act, frozenset(), None, desk, depth)
    return refusal or Refused(f"no rule covers {texts[0]}")


class _Act:
    """One command and what its program would do; worked out once for all patterns."""

    def __init__(self, words: tuple[Word, ...]) -> None:
        self.words = words
        self.path = said(words[0])
        self.name = known_as(self.path.rpartition("/")[2])
        self.program = program_named(self.name)

    @cached_property
    def uses(self) -> list[Use]:
        return self.program.read(self.words)


def _objections(
    act: _Act, spelled: frozenset[int], pattern: ShellPattern | None, desk: _Desk, depth: int
) -> list[int] | Refused:
    """What of a command goes beyond the pattern that covers its words; the patterns used for commands inside."""
    if len(act.uses) * len(desk.here) > _MOST_LOOKS:
        return Refused("it names more places than can be looked at")
    used: list[int] = []
    exact = pattern is not None and pattern.kind == "exact"
    for use in act.uses:
        if use.role == "argv" and not use.meant:
            answer = _inside(act, use, spelled, pattern, desk, depth)
            if isinstance(answer, Refused):
                return answer
            used += answer
        elif why := _against(use, act.words, spelled, desk, exact=exact):
            return Refused(f"{act.path}: {why}")
    if desk.moved:
        quiet = act.program.quiet and act.name != "git" and all(use.role in ("read", "argv") for use in act.uses)
        if not quiet or "/" in act.path:
            return Refused(f"it changes the folder and then runs {act.path}")
    return used


def _against(use: Use, words: tuple[Word, ...], spelled: frozenset[int], desk: _Desk, *, exact: bool) -> str | None:
    """Why a use is not covered; None if it is."""
    if use.role == "read" or (use.meant and use.role in ("write", "move", "remove")):
        globs = use.on < len(words) and words[use.on].globs
        return None if use.on in spelled or desk.reads(use.text, globs=globs) else f"{use.text} is outside"
    if use.meant:
        return None
    if use.role == "code" and not use.text:
        return use.why
    if use.role == "enter" and not desk.enters(use.text):
        return None
    if exact if use.on == 0 else all(at in spelled for at in range(use.at, use.on + 1)):
        return None
    if use.target and use.text:
        # A pattern may come to files that nobody named.
        covered = not _PATTERN & set(use.text) and desk.may_write(use.text)
        return None if covered else f"{use.why.removesuffix(' a file')} {use.text}, which no Edit rule covers"
    return use.why


def _inside(
    act: _Act, use: Use, spelled: frozenset[int], pattern: ShellPattern | None, desk: _Desk, depth: int
) -> list[int] | Refused:
    """A command inside another: the rule writes out its program, or it has a rule of its own."""
    name, inner = act.name, act.words[use.on :]
    exact = pattern is not None and pattern.kind == "exact"
    if not inner:
        return Refused(use.why)
    if all(at in spelled for at in range(use.at, use.on + 1)):
        if name in _APPENDING and not program_named(said(inner[0])).tame and not exact:
            return Refused(f"{name} adds words to {said(inner[0])} that are not known")
        moved = frozenset(at - use.on for at in spelled if at >= use.on)
        return _objections(_Act(inner), moved, pattern, desk, depth + 1)
    if name not in TRANSPARENT:
        return Refused(use.why)
    return _cover(inner, desk, depth + 1)
