"""Decides whether allow rules cover a whole command.

Every simple command needs a pattern that covers it. Exceptions are commands that only read files of the workspace,
change into a folder of the workspace, or run an inner command that a pattern covers.
"""

import re
from collections.abc import Callable, Sequence
from functools import cached_property

from callgate.shell.command import Analysis, Redirect, Simple, Word, names
from callgate.shell.command_patterns import ShellPattern
from callgate.shell.folders import MOVES, below, folders_of
from callgate.shell.programs.inner_commands import DEEPEST, LONGEST, known_as
from callgate.shell.programs.program_table import PROGRAMS, depends_on_folder, read, step_of
from callgate.shell.programs.uses import Use, text_of
from callgate.words.noun import noun

PathTest = Callable[[str], bool]
"""Return True if the path as written has a property such as "may be read"."""
Fills = Callable[[str], Sequence[str] | None]
"""Return the paths to which the shell expands a glob now; None if they are unknown."""


@noun
class Granted:
    """The result of ``grant`` if rules cover the command.

    used  the indices of the patterns that were needed
    free  at least one of the commands needs no rule
    """

    used: tuple[int, ...]
    free: bool = False


@noun
class NotGranted:
    """The result of ``grant`` if rules do not cover the command. ``why`` is the reason.

    by  the index of the pattern that ``why`` names, or None
    """

    why: str
    by: int | None = None


_VARIABLES = names("""
    LANG LANGUAGE LC_ALL LC_CTYPE LC_COLLATE LC_MESSAGES LC_NUMERIC LC_TIME TZ TERM NO_COLOR FORCE_COLOR CLICOLOR
    CLICOLOR_FORCE CI COLUMNS LINES NODE_ENV RUST_BACKTRACE RUST_LOG CARGO_TERM_COLOR PYTHONUNBUFFERED
    PYTHONDONTWRITEBYTECODE PYTHONHASHSEED PYTHONASYNCIODEBUG GOOS GOARCH CGO_ENABLED
""")
_PAGERS = frozenset(("PAGER", "GIT_PAGER", "MANPAGER"))
_VALUE = re.compile(r"[\w.@:+-]*|[\w+-]+(?:/[\w+-]+)+")
# Folders from which the code of a project is usually imported.
_FOLDERS = re.compile(r"(?:\./)?(?:\.|src|lib|app|tests?)(?::(?:\.|src|lib|app|tests?))*")
_MAY_LEAD_UP = re.compile(r"(?:^|/)\.[^/]*[*?[]")
_PATTERN = frozenset("*?[")
_DUPLICATE = re.compile(r"[0-9]+-?|-")
WRITES = frozenset((">", ">>", ">|", "&>", "&>>", ">&", "<>"))
_TEXTS = frozenset(("<<", "<<-", "<<<"))
_CHANGES = frozenset(("write", "move", "remove"))
# Programs that append words to the inner command.
_APPENDING = frozenset(("xargs", "parallel", "find", "gfind", "entr"))
_PATHS = frozenset(("read", "write", "move", "remove", "enter", "load", "code"))
_MOST_LOOKS = 1_500


def within_by_spelling(path: str) -> bool:
    """Return True if the path as written cannot lead out of the current folder. Links are not resolved here."""
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
    """Return True if the path as written names the folder in which the command starts."""
    return path[:1] != "/" and set(path.split("/")) <= {"", "."}


def folder_by_spelling(path: str) -> bool:
    """Return True if the path as written can only name a folder."""
    return path.rpartition("/")[2] in ("", ".", "..")


def safe_assignments(simple: Simple, variables: str = "") -> str | None:
    """Return why the first unsafe assignment is unsafe; None if all are safe. ``variables`` lists further variables
    that may be set to folders."""
    for name, value in simple.assignments:
        text = value.value
        if text is None or value.globs or value.tilde or value.braces:
            return f"the value of {name} is unknown"
        if name in _PAGERS and text in ("", "cat"):
            continue
        if name in variables.split() and _FOLDERS.fullmatch(text):
            continue
        if name not in _VARIABLES or not _VALUE.fullmatch(text) or ".." in text.split("/"):
            return f"{name} may change what the command does"
    return None


@noun
class FileTests:
    """Callbacks that test paths as written. The defaults do not read the file system and allow no writes.

    may_write    return True if a redirection may write to the path
    may_read     return True if a program with a row in the table may read or change the path
    stays        return True if the path is the folder in which the command starts
    folder       return True if the path is a folder
    expand_glob  return the paths to which a glob expands, or None if they are unknown
    project_file return a file with settings of a build in the folder, or in a folder between it and the workspace
    elsewhere    the command starts in another folder than the workspace
    """

    may_write: PathTest = lambda path: False
    may_read: PathTest = within_by_spelling
    stays: PathTest = here_by_spelling
    folder: PathTest = folder_by_spelling
    expand_glob: Fills = lambda path: (path,)
    project_file: Callable[[str], str | None] = lambda path: None
    elsewhere: bool = False


_LEXICAL = FileTests()


@noun
class _Judge:
    """The patterns, the file tests, and the folders ``here`` in which the command may run."""

    patterns: tuple[ShellPattern, ...]
    files: FileTests
    answers: dict[tuple[tuple[str, ...], str, bool], bool]
    here: tuple[str, ...] = ("",)

    @property
    def moved(self) -> bool:
        return self.here != ("",) and not all(map(self.files.stays, self.here))

    def enters(self, path: str) -> bool:
        """Return True if the path may be a folder other than the one in which the command starts."""
        return not all(self.files.stays(below(folder, path)) for folder in self.here)

    def reads(self, path: str, *, globs: bool = False) -> bool:
        """Return True if the command may read the path.

        globs  the shell expands the path; a glob that begins with a dot may match ``..``
        """
        if path == "/dev/null" or path in ("", "-"):
            return True
        key = (self.here, path, globs)
        if key not in self.answers:
            self.answers[key] = self._reads(path, globs=globs)
        return self.answers[key]

    def _reads(self, path: str, *, globs: bool) -> bool:
        if path.startswith("/dev/") or (globs and _MAY_LEAD_UP.search(path)):
            return False
        paths = [below(folder, path) for folder in self.here]
        if not globs:
            return all(map(self.files.may_read, paths))
        filled = [self.files.expand_glob(path) for path in paths]
        return all(each is not None and all(map(self.files.may_read, each)) for each in (paths, *filled))

    def is_folder(self, path: str) -> bool:
        return any(self.files.folder(below(folder, path)) for folder in self.here)


def grant(analysis: Analysis, patterns: Sequence[ShellPattern], files: FileTests = _LEXICAL) -> Granted | NotGranted:
    """Decide whether the patterns cover every simple command and every redirection."""
    if analysis.fault is not None:
        return NotGranted(analysis.fault)
    if analysis.script.expands:
        return NotGranted("an expansion is known only when the command runs")
    if not analysis.script.commands:
        return NotGranted("the text contains no command")
    rules, answers = tuple(patterns), dict[tuple[tuple[str, ...], str, bool], bool]()
    used: list[int] = []
    free = False
    for simple, where in zip(analysis.script.commands, folders_of(analysis), strict=True):
        if where.lost:
            return NotGranted("the folder to which the command changes is unknown")
        answer = _simple(simple, _Judge(rules, files, answers, where.here))
        if isinstance(answer, NotGranted):
            return answer
        free = free or not answer
        used += answer
    if not used:
        return NotGranted("no rule covers the command")
    return Granted(tuple(sorted(set(used))), free)


def _simple(simple: Simple, judge: _Judge) -> list[int] | NotGranted:
    if not simple.words:
        return NotGranted("an assignment or a redirection without a command")
    if set(simple.within) & {"function", "substitution", "control"}:
        return NotGranted("a command in a function, a substitution or a control structure")
    entry = PROGRAMS.get(text_of(simple.words[0]))
    if why := safe_assignments(simple, entry.folder_variables if entry else ""):
        return NotGranted(why)
    for redirect in simple.redirects:
        if why := _redirect(redirect, judge):
            return NotGranted(why)
    return _cover(simple.words, judge, 0)


def duplicates(redirect: Redirect) -> bool:
    """Return True if the redirection copies or closes a file descriptor."""
    return redirect.operator in (">&", "<&") and _DUPLICATE.fullmatch(text_of(redirect.target)) is not None


def _redirect(redirect: Redirect, judge: _Judge) -> str | None:
    target, operator = redirect.target, redirect.operator
    path = text_of(target)
    if operator in _TEXTS or path == "/dev/null" or duplicates(redirect):
        return None
    if target.value is None or target.globs or target.tilde or target.braces:
        return f"the target {target.raw or path} of a redirection is unknown"
    if operator == "<":
        return None if judge.reads(path) else f"the command reads {path}, outside the workspace"
    if operator not in WRITES:
        return f"the redirection operator {operator}"
    if judge.moved and not path.startswith("/"):
        return f"the command changes the folder and then writes {path}"
    return None if judge.files.may_write(path) else f"the command writes {path}, which no Edit rule covers"


def _cover(words: tuple[Word, ...], judge: _Judge, depth: int) -> list[int] | NotGranted:
    """Return the indices of the patterns that cover one command, or why no pattern covers it. The list is empty for
    a command that needs no rule."""
    if depth > DEEPEST:
        return NotGranted("commands are nested too deeply")
    program = words[0]
    if len(words) > LONGEST:
        return NotGranted(f"the command has more than {LONGEST:,} words")
    if program.value is None or program.globs or program.braces or program.tilde:
        return NotGranted(f"the program {program.raw or program.value} is not a literal name")
    if any(word.value is None for word in words):
        return NotGranted("an expansion is known only when the command runs")
    texts = [text_of(word) for word in words]
    act = _CommandUses(words)
    refusal: NotGranted | None = None
    for number, pattern in enumerate(judge.patterns):
        spelled = pattern.spelled(texts)
        if spelled is None or any(words[at].globs for at in spelled):
            continue
        answer = _objections(act, spelled, pattern, judge, depth)
        if not isinstance(answer, NotGranted):
            return [number, *answer]
        refusal = refusal or (answer if answer.by is not None else NotGranted(answer.why, number))
    if refusal is None and act.free:
        return _objections(act, frozenset(), None, judge, depth)
    return refusal or NotGranted(f"no rule covers {texts[0]}")


class _CommandUses:
    """The uses of one command, cached for all patterns."""

    def __init__(self, words: tuple[Word, ...]) -> None:
        self.words = words
        self.path = text_of(words[0])
        self.name = known_as(self.path.rpartition("/")[2])
        self.entry = PROGRAMS.get(self.name)

    @cached_property
    def uses(self) -> tuple[Use, ...]:
        return read(self.name, self.words)

    @cached_property
    def free(self) -> bool:
        """True if the command needs no rule: it only reads, or it is a wrapper whose inner command is checked
        separately."""
        if self.entry is None or "/" in self.path or self.entry.runs_settings:
            return False
        if self.entry.transparent:
            return True
        step = PROGRAMS.get(step_of(self.name, self.words)[0])
        return step is not None and step.read_only and all(use.role == "read" for use in self.uses)


def _objections(
    act: _CommandUses, spelled: frozenset[int], pattern: ShellPattern | None, judge: _Judge, depth: int
) -> list[int] | NotGranted:
    """Return why the pattern does not cover the command, or the indices of the patterns that cover its inner
    commands."""
    if len(act.uses) * len(judge.here) > _MOST_LOOKS:
        return NotGranted("the command names too many paths")
    used: list[int] = []
    exact = pattern is not None and pattern.kind == "exact"
    places = {use.on for use in act.uses if use.role == "send" and use.granted}
    if places & spelled and not places <= spelled:
        return NotGranted(f"{act.path}: the rule covers only the target that it names", None)
    for use in act.uses:
        if use.role == "argv" and not use.granted:
            answer = _inside(act, use, spelled, pattern, judge, depth)
            if isinstance(answer, NotGranted):
                return answer
            used += answer
        elif why := _against(use, act.words, spelled, judge, exact=exact):
            return NotGranted(f"{act.path}: {why}")
    if judge.moved and act.name not in MOVES:
        changes = any(use.role in _CHANGES for use in act.uses)
        settings = act.entry is None or act.entry.runs_settings
        if changes or settings or "/" in act.path:
            return NotGranted(f"the command changes the folder and then runs {act.path}")
    if (judge.moved or judge.files.elsewhere) and act.name not in MOVES and (why := _in_folder(act, spelled, judge)):
        return NotGranted(f"{act.path}: {why}")
    return used


def _in_folder(act: _CommandUses, spelled: frozenset[int], judge: _Judge) -> str | None:
    """Return why the pattern does not cover the command in a folder below the workspace, or None."""
    meant = (use for use in act.uses if use.on and use.on in spelled and use.role in _PATHS)
    relative = next((use.text for use in meant if use.text and use.text[0] not in "/~-"), None)
    if relative is not None:
        return f"the rule refers to {relative} in the workspace, but the command runs in another folder"
    if not depends_on_folder(act.name, act.words):
        return None
    file = next(filter(None, map(judge.files.project_file, judge.here)), None)
    return file and f"the effect of the command depends on {file}"


def _against(use: Use, words: tuple[Word, ...], spelled: frozenset[int], judge: _Judge, *, exact: bool) -> str | None:
    """Return why the pattern does not cover this use, or None."""
    if use.role == "read" or (use.granted and use.role in _CHANGES):
        if use.flat and judge.is_folder(use.text):
            return f"{use.text} is a folder, and the command follows links in it"
        if use.on in spelled:
            return None
        globs = use.on < len(words) and words[use.on].globs
        return None if judge.reads(use.text, globs=globs) else f"{use.text} is outside the workspace"
    if use.granted:
        is_repository = use.role == "send" and use.flat and use.on not in spelled and judge.is_folder(use.text)
        return f"{use.text} is a folder, and its hooks would run" if is_repository else None
    if use.role == "code" and not use.text and use.on == 0:
        return use.why
    if use.role == "enter" and not judge.enters(use.text):
        return None
    if exact if use.on == 0 else all(at in spelled for at in range(use.at, use.on + 1)):
        return None
    if use.target and use.text:
        # a glob may expand to files that no word names
        covered = not _PATTERN & set(use.text) and judge.files.may_write(use.text)
        return None if covered else f"{use.why.removesuffix(' a file')} {use.text}, which no Edit rule covers"
    return use.why


def _inside(
    act: _CommandUses, use: Use, spelled: frozenset[int], pattern: ShellPattern | None, judge: _Judge, depth: int
) -> list[int] | NotGranted:
    """Return the indices of the patterns that cover an inner command, or why no pattern covers it. If the current
    pattern contains the name of the inner program, no further pattern is needed for that program."""
    inner = act.words[use.on :]
    exact = pattern is not None and pattern.kind == "exact"
    if not inner:
        return NotGranted(use.why)
    if all(at in spelled for at in range(use.at, use.on + 1)):
        started = PROGRAMS.get(text_of(inner[0]))
        if act.name in _APPENDING and not (started and started.safe_options) and not exact:
            return NotGranted(f"{act.name} adds unknown arguments to {text_of(inner[0])}")
        moved = frozenset(at - use.on for at in spelled if at >= use.on)
        return _objections(_CommandUses(inner), moved, pattern, judge, depth + 1)
    if act.entry is None or not act.entry.transparent:
        return NotGranted(use.why)
    return _cover(inner, judge, depth + 1)
