"""Asks git which settings are in effect, and decides whether git may run a program when it only reads (GATE-20).

Git is asked in the folder and the environment in which the command will run, because only git knows where it finds a
repository and which files have its settings. In this environment some settings are overridden (``quiet_git``), and
git must report that they are. Every other setting of the repository must be in the table of harmless keys.
"""

import os
import subprocess
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from time import monotonic

from callgate.host.environment import GIT_OVERRIDES, command_environment, find_program, known_first, quiet_git
from callgate.policy.shorten import brief
from callgate.words.noun import noun

# Section → keys that name no program and no further file; under * the sections of which no key does. A section with a
# subsection has a line of its own ("remote.*"). This is so for git's commands that read; others may run more.
_HARMLESS: Mapping[str, str] = {
    "core": """repositoryformatversion filemode bare logallrefupdates ignorecase precomposeunicode symlinks autocrlf eol
        safecrlf quotepath abbrev compression loosecompression bigfilethreshold preloadindex untrackedcache splitindex
        sharedrepository trustctime checkstat commentchar whitespace protecthfs protectntfs longpaths fscache
        sparsecheckout sparsecheckoutcone multipackindex commitgraph warnambiguousrefs hookspath""",
    "remote.*": "url pushurl fetch push tagopt prune prunetags skipdefaultupdate skipfetchall gh-resolved lfsurl",
    "remote": "pushdefault",
    "submodule": "active recurse fetchjobs propagatebranches",
    "submodule.*": "url active path branch ignore fetchrecursesubmodules shallow",
    "diff": "algorithm renames renamelimit colormoved mnemonicprefix noprefix context indentheuristic",
    "status": """short branch showstash showuntrackedfiles renames renamelimit aheadbehind relativepaths
        displaycommentprefix""",
    "merge": "ff conflictstyle renames log stat",
    "log": "date decorate abbrevcommit follow",
    "commit": "gpgsign verbose",
    "tag": "gpgsign sort",
    "gpg": "format",
    "extensions": "objectformat worktreeconfig refstorage relativeworktrees preciousobjects",
    "http": "postbuffer version extraheader",
    "http.*": "extraheader",
    "init": "defaultbranch",
    "gc": "auto autodetach",
    "maintenance": "auto strategy",
    "feature": "manyfiles experimental",
    "rerere": "enabled autoupdate",
    "checkout": "defaultremote guess workers",
    "lfs": "repositoryformatversion url pushurl locksverify concurrenttransfers fetchinclude fetchexclude",
    "lfs.*": "access locksverify",
    "*": """branch branch.* user author committer color color.* advice pull push rebase fetch index pack i18n gui
        gitflow gitflow.*""",
}
_KNOWN = {section: frozenset(keys.split()) for section, keys in _HARMLESS.items()}
# Keys that are harmless with these values: the usual settings of Git LFS, and a file of the workspace.
_VALUES = {
    "core.fsmonitor": frozenset(("true", "false", "")),
    "diff.submodule": frozenset(("log", "short")),  # diff enters submodules of old commits
    "filter.lfs.clean": frozenset(("git-lfs clean -- %f",)),
    "filter.lfs.smudge": frozenset(("git-lfs smudge -- %f",)),
    "filter.lfs.process": frozenset(("git-lfs filter-process",)),
    "filter.lfs.required": frozenset(("true",)),
    "blame.ignorerevsfile": frozenset((".git-blame-ignore-revs",)),
}
_HOOK = "post-index-change"  # the hook that runs when the index is refreshed
_WORKTREE = "core.worktree"
_OWN = frozenset(("local", "worktree"))  # the scopes of settings of a repository
_TRUSTED = frozenset(("system", "global", "command"))
_LINK = "160000 "  # begins the line of a submodule in the index
# Git sets or removes these variables for its commands in submodules.
_REPOSITORY_VARIABLES = """
    GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE GIT_COMMON_DIR GIT_OBJECT_DIRECTORY GIT_ALTERNATE_OBJECT_DIRECTORIES
    GIT_PREFIX GIT_GRAFT_FILE GIT_SHALLOW_FILE GIT_IMPLICIT_WORK_TREE GIT_CONFIG GIT_INTERNAL_SUPER_PREFIX
"""
_MOST_MODULES = 64
_SECONDS = 3.0

PathTest = Callable[[str], bool]


@noun
class Workspace:
    """The places with which answers of git are compared.

    root       programs below this folder are not started
    can_write  returns True if a tool may write the file of a path without a question about protected places
    """

    root: str
    can_write: PathTest


def runs_programs(folder: str, workspace: Workspace) -> str | None:
    """Return why git may run a program, or read elsewhere, when it reads in the folder, or None."""
    environment = quiet_git(command_environment(os.environ))
    program = find_program("git", known_first(environment["PATH"], workspace.root), avoid=workspace.root)
    if program is None:
        return "git was not found, so its settings are not known"
    try:
        return _Questions(program, workspace, monotonic() + _SECONDS).fault(folder, environment)
    except (OSError, ValueError, subprocess.SubprocessError) as error:
        return f"the settings of git in {brief(folder)} cannot be read: {error}"


class _Questions:
    """Questions to git about a folder and its submodules.

    deadline  the value of ``monotonic`` after which TimeoutExpired is raised
    """

    def __init__(self, program: str, workspace: Workspace, deadline: float) -> None:
        self._program = program
        self._workspace = workspace
        self._deadline = deadline
        self._modules = 0

    def fault(self, folder: str, environment: Mapping[str, str]) -> str | None:
        settings, places = self._ask(
            folder,
            environment,
            ("config", "--list", "-z", "--show-scope", "--show-origin"),
            ("rev-parse", "--absolute-git-dir", "--git-common-dir", "--show-toplevel"),
        )
        if settings is None:
            return f"git cannot list its settings in {brief(folder)}"
        found = list(_settings(settings))
        if places is None:
            return self._unknown(found, folder, "") or self._refused(folder, found, environment)
        git, common, top = places.decode(errors="surrogateescape").removesuffix("\n").split("\n")
        git, common = os.path.realpath(git), os.path.realpath(os.path.join(folder, common))
        for each in (git, common):
            if self._workspace.can_write(os.path.join(each, "config")):
                return f"git would read its settings in {brief(each)}, which is part of the workspace"
        for each in ("hooks", *(each.value for each in found if each.key == "core.hookspath")):
            hook = os.path.join(common if each == "hooks" else top, os.path.expanduser(each), _HOOK)
            if os.path.lexists(hook):
                return f"git would run {brief(hook)}"
        # Git may have to fetch parts of the index, by programs that settings name: it is read after the settings.
        return self._unknown(found, folder, git) or self._modules_fault(top, environment)

    def _refused(self, folder: str, found: "list[_Setting]", environment: Mapping[str, str]) -> str | None:
        """Return why git does not use the repository of a folder; None if the folder is in no repository."""
        if any(each.scope in _OWN for each in found):
            return f"git refuses the repository of {brief(folder)}"
        plain = {**environment, "GIT_CONFIG_PARAMETERS": ""}
        (bare,) = self._ask(folder, plain, ("rev-parse", "--absolute-git-dir"))
        if bare is None:
            return None
        return f"{brief(folder)} looks like a repository without a working tree: name it with --git-dir"

    def _unknown(self, found: list["_Setting"], folder: str, git: str) -> str | None:
        """Return why a setting may name a program or a file elsewhere, or why the overrides have no effect, or None."""
        for each in found:
            where = brief(each.origin.removeprefix("file:"))
            if each.scope in _OWN:
                tree = os.path.realpath(os.path.join(git, each.value))
                if not each.is_harmless and (each.key != _WORKTREE or tree != _found_from(folder)):
                    return f"git may run or read what {each.key} in {where} names"
            elif each.scope not in _TRUSTED or not self._is_users(each.origin):
                return f"git would read settings in {where}, which is part of the workspace"
        last = {each.key: each for each in found}
        for key, value in GIT_OVERRIDES.items():
            setting = last.get(key.lower())
            if setting is None or (setting.scope, setting.value) != ("command", value):
                return f"this version of git does not accept {key} from its environment"
        return None

    def _is_users(self, origin: str) -> bool:
        """Return True if settings come from a command line, or from a file that no tool can write."""
        kind, _, path = origin.partition(":")
        return kind == "command line" or (
            kind == "file" and os.path.isabs(path) and not self._workspace.can_write(path)
        )

    def _modules_fault(self, top: str, environment: Mapping[str, str]) -> str | None:
        """Return why git may run a program in a submodule, because many commands enter submodules, or None."""
        (index,) = self._ask(top, environment, ("ls-files", "-sz"))
        if index is None:
            return f"git cannot list the submodules of {brief(top)}"
        if _LINK.encode() not in index:
            return None
        inner = {name: value for name, value in environment.items() if name not in _REPOSITORY_VARIABLES.split()}
        for line in index.decode(errors="surrogateescape").split("\0"):
            path = os.path.join(top, line.partition("\t")[2])
            if not line.startswith(_LINK) or not os.path.lexists(os.path.join(path, ".git")):
                continue
            self._modules += 1
            if self._modules > _MOST_MODULES:
                return "there are too many submodules to look at"
            if (why := self.fault(path, {**inner, "GIT_DIR": ".git"})) is not None:
                return why
        return None

    def _ask(self, folder: str, environment: Mapping[str, str], *questions: tuple[str, ...]) -> list[bytes | None]:
        """Return the outputs of commands of git, which run at the same time; None for a command that fails."""
        with ExitStack() as stack:
            started = [stack.enter_context(self._start(words, folder, environment)) for words in questions]
            outputs = [each.communicate(timeout=max(0.0, self._deadline - monotonic()))[0] for each in started]
            return [None if each.returncode else output for each, output in zip(started, outputs, strict=True)]

    @contextmanager
    def _start(
        self, words: tuple[str, ...], folder: str, environment: Mapping[str, str]
    ) -> "Generator[subprocess.Popen[bytes]]":
        with subprocess.Popen(
            (self._program, *words),
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        ) as process:
            try:
                yield process
            finally:
                process.kill()


def _found_from(folder: str) -> str:
    """Return the nearest folder with an entry ``.git``, from the folder upwards, or the topmost folder."""
    folder = os.path.realpath(folder)
    while not os.path.lexists(os.path.join(folder, ".git")) and folder != os.path.dirname(folder):
        folder = os.path.dirname(folder)
    return folder


@noun
class _Setting:
    scope: str
    origin: str
    key: str
    value: str

    @property
    def is_harmless(self) -> bool:
        section, _, rest = self.key.partition(".")
        _, dot, name = rest.rpartition(".")
        whole = f"{section}.*" if dot else section
        if whole in _KNOWN["*"] or name in _KNOWN.get(whole, ()):
            return True
        return self.value in _VALUES.get(self.key, ())


def _settings(listed: bytes) -> Iterator[_Setting]:
    """Return the settings that ``git config --list -z --show-scope --show-origin`` printed."""
    fields = listed.decode(errors="surrogateescape").split("\0")
    if fields.pop() or len(fields) % 3:
        raise ValueError("the list of settings is incomplete")
    for scope, origin, setting in zip(fields[::3], fields[1::3], fields[2::3], strict=True):
        key, _, value = setting.partition("\n")
        yield _Setting(scope, origin, key, value)
