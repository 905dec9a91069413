"""Asks git which settings are in effect, and decides whether git may run a program when it only reads (GATE-20).

Git is asked in the folder and the environment in which the command will run, because only git knows where it finds a
repository and which files have its settings. In this environment some settings are overridden (``quiet_git``), and
git must report that they are. Every other setting of the repository must be in the table of harmless keys.
"""

import os
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from functools import cached_property
from subprocess import DEVNULL, PIPE, Popen
from time import monotonic

from callgate.host.environment import (
    GIT_OVERRIDES,
    command_environment,
    find_program,
    fixed_path,
    quiet_git,
    reading_environment,
    replaceable_program,
)
from callgate.policy.protected import is_beneath, is_secret
from callgate.policy.shorten import brief
from callgate.words.noun import noun

# Section → keys that name no program and no further file; under * the sections of which no key does. A section with a
# subsection has a line of its own ("remote.*"). This is so for git's commands that read; others may run more.
_HARMLESS: Mapping[str, str] = {
    "core": """repositoryformatversion filemode bare logallrefupdates ignorecase precomposeunicode symlinks autocrlf eol
        safecrlf quotepath abbrev compression loosecompression bigfilethreshold preloadindex untrackedcache splitindex
        sharedrepository trustctime checkstat commentchar whitespace protecthfs protectntfs longpaths fscache
        sparsecheckout sparsecheckoutcone multipackindex commitgraph warnambiguousrefs hookspath worktree""",
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
_DRIVERS = frozenset(("external", "command", "textconv", "clean", "smudge", "process", "program"))
_HOOK = "post-index-change"  # the hook that runs when the index is refreshed
_OWN = frozenset(("local", "worktree"))  # the scopes of settings of a repository
_TRUSTED = frozenset(("system", "global", "command"))
_LINK = "160000 "  # begins the line of a submodule in the index
# Git sets or removes these variables for its commands in submodules.
_REPOSITORY_VARIABLES = """
    GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE GIT_COMMON_DIR GIT_OBJECT_DIRECTORY GIT_ALTERNATE_OBJECT_DIRECTORIES
    GIT_PREFIX GIT_GRAFT_FILE GIT_SHALLOW_FILE GIT_IMPLICIT_WORK_TREE GIT_CONFIG GIT_INTERNAL_SUPER_PREFIX
"""
_MAY_BE_LINKS = frozenset(("hooks", "lfs", "annex"))  # they may contain links too
_MODULES = "modules"  # the git directories of submodules, which are checked separately
_LONGEST = 4_096
_MOST_MODULES = 64
_SECONDS = 3.0

PathTest = Callable[[str], bool]


class RepositoryReads:
    """The repositories that a command reads through git. Git is run when a property is first used.

    readers    the commands that show files of the repository without naming the files; with ``--untracked`` if
               untracked files are shown too
    folders    the folders in which git runs, or None if they are unknown
    places     the folders of the workspace, whose programs are not started
    can_write  returns True if a tool may write the file of a path without a question about protected places
    """

    def __init__(
        self, readers: Sequence[str], folders: tuple[str, ...] | None, places: Sequence[str], can_write: PathTest
    ) -> None:
        self.readers = tuple(readers)
        self.folders = folders
        self.unlisted: str | None = None
        """A repository whose files git could not list when they were requested."""
        self._places = places
        self._can_write = can_write

    @cached_property
    def fault(self) -> str | None:
        """The reason why a git command that only reads may run a program or read another repository; None if it may
        not."""
        if self.folders is None:
            return "git runs programs that settings of a repository name, and the repository is unknown"
        return next(filter(None, map(self._fault, filter(os.path.isdir, self.folders))), None)

    def _fault(self, folder: str) -> str | None:
        try:
            return _Questions(self._places, self._can_write).fault(folder, _environment(*self._places))
        except (OSError, ValueError, subprocess.SubprocessError) as error:
            return f"the settings of git in {brief(folder)} cannot be read: {error}"

    @cached_property
    def is_elsewhere(self) -> bool:
        """True if one of the folders is in no repository. In such a folder ``git diff`` compares any two folders."""
        return None in self._files

    @property
    def files(self) -> Iterator[str]:
        """The files that the readers may show."""
        return (path for files in self._files for path in files or ())

    @property
    def secrets(self) -> Iterator[str]:
        """The files with keys or passwords in which ``git grep`` searches."""
        if not any(each.startswith("git grep") for each in self.readers):
            return iter(())
        return (path for path in self.files if any(map(is_secret, path.split("/"))))

    @cached_property
    def _files(self) -> tuple[list[str] | None, ...]:
        # To list files, git may fetch them, by programs that settings name.
        return tuple(map(self._files_in, self.folders or ())) if self.readers and self.fault is None else ()

    def _files_in(self, folder: str) -> list[str] | None:
        """Return the paths of the files of a repository; None if the folder is in no repository. If git fails, set
        ``unlisted``."""
        untracked = any(each.endswith("--untracked") for each in self.readers)
        words = ("ls-files", "-z", *(("--cached", "--others", "--exclude-standard") if untracked else ()))
        top = _nearest(folder)  # git reported this folder, because there is no fault
        if not os.path.lexists(os.path.join(top, ".git")):
            return None
        found = None
        with suppress(OSError, ValueError, subprocess.SubprocessError):
            (found,) = _Questions(self._places, self._can_write).ask(top, _environment(*self._places), words)
        if found is None:
            self.unlisted = top
            return []
        return [os.path.join(top, each) for each in os.fsdecode(found).split("\0") if each]


def _environment(*places: str) -> Mapping[str, str]:
    return quiet_git(reading_environment(command_environment(os.environ), *places))


class _Questions:
    """Runs git to query its settings in a folder and its submodules. Raise TimeoutExpired if git takes too long, and
    ValueError if git is not found outside ``places``."""

    def __init__(self, places: Sequence[str], can_write: PathTest) -> None:
        self._path = _environment(*places)["PATH"]
        path = fixed_path(self._path, *places)
        program = None if replaceable_program("git", path, *places) else find_program("git", path)
        if program is None:
            raise ValueError("git was not found outside the workspace")
        self._places = tuple(map(os.path.realpath, places))
        self._program = program
        self._can_write = can_write
        self._deadline = monotonic() + _SECONDS
        self._modules = 0

    def fault(self, folder: str, environment: Mapping[str, str]) -> str | None:
        settings, places = self.ask(
            folder,
            environment,
            ("config", "--list", "-z", "--show-scope", "--show-origin"),
            ("rev-parse", "--absolute-git-dir", "--git-common-dir", "--show-toplevel"),
        )
        if settings is None:
            return f"git could not list its settings in {brief(folder)}"
        found, nearest = list(_settings(settings)), _nearest(folder)
        if places is None:
            return self._unknown(found) or self._refused(folder, nearest, environment)
        git, common, top = places.decode(errors="surrogateescape").removesuffix("\n").split("\n")
        if os.path.realpath(top) != nearest:
            return f"in {brief(folder)}, git uses the repository of {brief(top)} instead of {brief(nearest)}"
        git, common = os.path.realpath(git), os.path.realpath(os.path.join(folder, common))
        if (why := self._elsewhere(git, common, top, found)) is not None:
            return why
        for each in found:  # git prints a line of this file that it does not understand
            if each.key == "blame.ignorerevsfile" and os.path.islink(os.path.join(top, each.value)):
                return f"git would read the link {brief(each.value)}"
        for each in ("hooks", *(each.value for each in found if each.key == "core.hookspath")):
            hook = os.path.join(common if each == "hooks" else top, os.path.expanduser(each), _HOOK)
            if os.path.lexists(hook):
                return f"git would run {brief(hook)}"
        # Git may have to fetch parts of the index, by programs that settings name: it is read after the settings.
        return self._unknown(found) or self._modules_fault(top, environment)

    def _elsewhere(self, git: str, common: str, top: str, found: "list[_Setting]") -> str | None:
        """Return why git would read the repository of another working tree, or a repository that tools can write;
        None if it would not. Archives may contain links and files that lead to other repositories of the user."""
        if git != os.path.join(os.path.realpath(top), ".git") and not (
            _leads_back(git, top) or any(each.key == "core.worktree" for each in found)
        ):
            return f"git would read the repository {brief(git)} of another working tree than {brief(top)}"
        if git != common and os.path.dirname(git) != os.path.join(common, "worktrees"):
            return f"git would read the other repository {brief(common)} because of {brief(git)}"
        link = next(filter(None, map(self._link_in, dict.fromkeys((git, common)))), None)
        if link is not None:
            return f"the repository contains the link {brief(link)}"
        for folder in (git, common, os.path.join(common, "objects")):
            if self._can_write(os.path.join(folder, "config")):
                return f"git would read its settings in {brief(folder)}, which is part of the workspace"
        alternates = os.path.join(common, "objects", "info", "alternates")
        return f"{brief(alternates)} refers to another repository" if os.path.lexists(alternates) else None

    def _link_in(self, folder: str) -> str | None:
        """Return a link in a git directory, or None. Git prints files such as ``rebase-merge/done`` and
        ``worktrees/x/locked``, and follows links to files outside the repository. Raise TimeoutExpired if the search
        takes too long."""
        whole = {os.path.join(folder, name) for name in ("objects", _MODULES)}
        todo = [folder]
        while todo:
            if monotonic() > self._deadline:
                raise subprocess.TimeoutExpired("the search for links", _SECONDS)
            here = todo.pop()
            with os.scandir(here) as entries:
                for each in entries:
                    if here == folder and each.name in _MAY_BE_LINKS:
                        continue
                    if each.is_symlink():
                        return each.path
                    if each.is_dir() and here not in whole:
                        todo.append(each.path)
        return None

    def _refused(self, folder: str, nearest: str, environment: Mapping[str, str]) -> str | None:
        """Return why git does not use the repository of a folder; None if the folder is in no repository."""
        if os.path.lexists(os.path.join(nearest, ".git")):
            return f"git refuses to use the repository of {brief(nearest)}"
        plain = {**environment, "GIT_CONFIG_PARAMETERS": ""}
        (bare,) = self.ask(folder, plain, ("rev-parse", "--absolute-git-dir"))
        if bare is None:
            return None
        return f"{brief(folder)} looks like a repository without a working tree: name it with --git-dir"

    def _unknown(self, found: list["_Setting"]) -> str | None:
        """Return why git may use a program or file named by a setting that is not known to be harmless, or why the
        overrides have no effect; None if neither is the case."""
        for each in found:
            where = brief(each.origin.removeprefix("file:"))
            if not each.is_harmless and (each.scope in _OWN or self._is_inside(each.origin.removeprefix("file:"))):
                return f"git may run a program or read a file named by {each.key} in {where}"
            if each.scope not in _OWN and (each.scope not in _TRUSTED or not self._is_users(each.origin)):
                return f"git would read settings in {where}, which is part of the workspace"
            if self._runs_replaceable(each):
                return f"commands can change the program named by {each.key} in {where}"
        last = {each.key: each for each in found}
        for key, value in GIT_OVERRIDES.items():
            setting = last.get(key.lower())
            if setting is None or (setting.scope, setting.value) != ("command", value):
                return f"this version of git ignores {key} in the environment"
        return None

    def _runs_replaceable(self, setting: "_Setting") -> bool:
        """Return True if a setting names a program in the workspace. Settings of the user are checked too."""
        word = next(iter(setting.value.split()), "")
        if setting.key.rpartition(".")[2] not in _DRIVERS or not word:
            return False
        if "/" in word:
            return self._is_inside(word) or not word.startswith(("/", "~"))
        return replaceable_program(word, self._path, *self._places) is not None

    def _is_inside(self, path: str) -> bool:
        return os.path.isabs(path) and any(is_beneath(os.path.realpath(path), each) for each in self._places)

    def _is_users(self, origin: str) -> bool:
        """Return True if settings come from a command line, or from a file that no tool can write."""
        kind, _, path = origin.partition(":")
        return kind == "command line" or (kind == "file" and os.path.isabs(path) and not self._can_write(path))

    def _modules_fault(self, top: str, environment: Mapping[str, str]) -> str | None:
        """Return why git may run a program in a submodule, or None. Many git commands also run in submodules."""
        (index,) = self.ask(top, environment, ("ls-files", "-sz"))
        if index is None:
            return f"git could not list the submodules of {brief(top)}"
        if _LINK.encode() not in index:
            return None
        inner = {name: value for name, value in environment.items() if name not in _REPOSITORY_VARIABLES.split()}
        for line in index.decode(errors="surrogateescape").split("\0"):
            path = os.path.join(top, line.partition("\t")[2])
            if not line.startswith(_LINK) or not os.path.lexists(os.path.join(path, ".git")):
                continue
            self._modules += 1
            if self._modules > _MOST_MODULES:
                return "there are too many submodules to check"
            if (why := self.fault(path, {**inner, "GIT_DIR": ".git"})) is not None:
                return why
        return None

    def ask(self, folder: str, environment: Mapping[str, str], *questions: tuple[str, ...]) -> list[bytes | None]:
        """Return the outputs of commands of git, which run at the same time; None for a command that fails."""
        with ExitStack() as stack:
            started: list[Popen[bytes]] = []
            for words in questions:
                command = (self._program, *words)
                process = Popen(command, cwd=folder, env=environment, stdin=DEVNULL, stdout=PIPE, stderr=DEVNULL)
                started.append(stack.enter_context(process))
                stack.callback(process.kill)
            outputs = [each.communicate(timeout=max(0.0, self._deadline - monotonic()))[0] for each in started]
            return [None if each.returncode else output for each, output in zip(started, outputs, strict=True)]


def _leads_back(git: str, top: str) -> bool:
    """Return True if the git directory of a linked working tree names this working tree."""
    try:
        with open(os.path.join(git, "gitdir"), encoding="utf-8", errors="surrogateescape") as file:
            named = file.read(_LONGEST).removesuffix("\n")
    except OSError:
        return False
    return os.path.realpath(os.path.join(git, named)) == os.path.join(os.path.realpath(top), ".git")


def _nearest(folder: str) -> str:
    """Return the folder itself or the nearest folder above it that contains an entry ``.git``; without such a
    folder, return the topmost folder."""
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
        raise ValueError("git returned an incomplete list of settings")
    for scope, origin, setting in zip(fields[::3], fields[1::3], fields[2::3], strict=True):
        key, _, value = setting.partition("\n")
        yield _Setting(scope, origin, key, value)
