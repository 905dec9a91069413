"""Determines the subject of a call for rules: its command, paths on this machine, host and agent.

The subject comes from the declaration of the tool (``words.declared``), never from the tool's name. Undeclared
arguments are classified by their names and content; this can only make a decision stricter.
"""

import os
import shlex
from collections.abc import Mapping
from functools import cached_property
from itertools import islice
from posixpath import dirname, join
from typing import TYPE_CHECKING, Any, Literal, cast

from callgate import shell
from callgate.core.capabilities import facts_of
from callgate.core.ports import Case
from callgate.formats.display import look_alikes
from callgate.policy.hosts import host_of, normal_host
from callgate.policy.implied_paths import expand_glob, may_be_path, nearest_project_file, paths_in, secrets_in, texts_in
from callgate.policy.protected import danger
from callgate.policy.shorten import brief
from callgate.words.declared import USUAL_NAMES
from callgate.words.noun import noun
from callgate.words.resolved_path import ResolvedPath
from callgate.words.traits import Effects

if TYPE_CHECKING:
    from callgate.policy.git_settings import RepositoryReads

Way = Literal["read", "write", "remove"]
Named = tuple[str, Way]

_MOST_PLACES = 250
"""The maximum number of paths of a command that are resolved. One command may name thousands of paths."""
_MOST_DECLARED = 10_000
"""The maximum number of paths that a tool may declare. More paths cannot be compared with all rules."""
_MOST_PATTERNS = 80
_MOST_CHARACTERS = 20_000
_MOST_TEXTS = 5_000
"""The maximum number of texts in undeclared arguments that are resolved. More texts are more than can be compared."""
_TELLING = frozenset[str]().union(*USUAL_NAMES.values())
_FOLDERS = ("cwd", "workdir", "working_directory", "directory", "dir", "folder")


@noun
class PathAccess:
    path: ResolvedPath
    way: Way


class Subject:
    """The subject of one case. Expensive attributes are computed at their first use and cached."""

    def __init__(self, case: Case, *, root: str, home: str) -> None:
        self.case = case
        self.root = root
        self.home = home
        self.declared = case.traits.declared
        self._places: dict[str, ResolvedPath] = {}
        self._filled: dict[str, tuple[str, ...] | None] = {}

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names of the tool that a deny or ask rule may use: its name and aliases. An allow rule must use the
        tool's own name."""
        return (self.case.name, *self.case.tool.aliases)

    def has(self, kind: str) -> bool:
        """Return True if the call has, or may have, a part of this kind. Used by deny and ask rules that apply to
        every tool with this kind of part."""
        if kind == "command":
            return self.command is not None or self._unread is not None
        if kind == "writes":
            return self.edits_files
        return kind in self.declared.kinds or (kind == "address" and self.address is not None)

    def is_just(self, kind: str) -> bool:
        """Return True if the tool declares a part of this kind, and no other part that an allow rule on this kind
        would not cover."""
        kinds = self.declared.kinds & {"command", "address", "agent"}
        return kinds == frozenset((kind,)) and (kind != "address" or self.case.traits.effects == "none")

    # ---- the command ----------------------------------------------------------------------------------------------

    @cached_property
    def command(self) -> str | None:
        return self._part("command", self.declared.command)

    def _part(self, kind: str, declared: str | None) -> str | None:
        """Return the declared value. If the tool declares no part of this kind, return the arguments that look like
        such a part, or None."""
        if kind in self.declared.kinds | self.declared.ruled_out or self.case.traits.own_state:
            return declared
        found: list[str] = []
        for name, value in self.case.arguments.items():
            if name in USUAL_NAMES[kind]:
                texts = [*texts_in(value)]  # a list may be the words of one command, or several commands
                found += texts if isinstance(value, str) else [shlex.join(texts), *texts]
        return "\n".join(filter(None, found)) or None

    @property
    def _unread(self) -> str | None:
        """Return why the declared command cannot be read; None if there is no command or no fault."""
        return self.declared.fault if "command" in self.declared.kinds else None

    @cached_property
    def analysis(self) -> "shell.Analysis | None":
        return None if self.command is None else shell.analyse(self.command)

    def analysis_of(self, field: str) -> "shell.Analysis | None":
        """Return the analysis of the declared command or of the text in this argument; None if there is no such
        text."""
        if not field or field in self.declared.names.get("command", ()):
            return self.analysis
        value = self.case.arguments.get(field)
        return shell.analyse(value) if isinstance(value, str) else None

    @cached_property
    def doubt(self) -> "shell.Doubt | None":
        """The reason why the effect of the command is unknown, or None."""
        if self._unread is not None:
            return shell.Doubt("unread", self._unread)
        found = None if self.analysis is None else shell.doubt(self.analysis)
        if found is None and self.replaced_program is not None:
            return shell.Doubt("interpreter", self.replaced_program)
        return found

    @cached_property
    def replaceable_programs(self) -> Mapping[str, str]:
        """The files of the command's programs that the agent can replace, by program name. PATH leads to these files
        in the workspace or through a link in the workspace."""
        return self.programs_on(os.environ.get("PATH", ""))

    def programs_on(self, path: str) -> Mapping[str, str]:
        """Find the programs of the command in ``path``, a value of PATH. Return the files that a command could replace,
        by program name."""
        from callgate.host.environment import replaceable_program  # only for commands

        places = tuple(each for each in (self.root, self.case.root) if each)
        names = () if self.analysis is None else shell.program_names(self.analysis)
        found = ((name, replaceable_program(name, path, *places)) for name in names)
        return {name: file for name, file in found if file is not None}

    @property
    def has_sandbox(self) -> bool:
        """True if a sandbox is in force for the tool. Programs in the workspace are then confined, and commands outside
        the sandbox get a PATH without folders of the workspace."""
        sandbox = facts_of(self.case.tool).sandbox
        return sandbox is not None and not sandbox.why_none

    @cached_property
    def replaced_program(self) -> str | None:
        """The reason why a program is not the known program of its name; None if there is no such program."""
        if not self.replaceable_programs or self.analysis is None:
            return None
        anywhere = shell.program_names(self.analysis)
        found = ((name, file) for name, file in self.replaceable_programs.items() if not anywhere[name])
        return next((f"{name} is {file}, which commands can change" for name, file in found), None)

    @cached_property
    def effects(self) -> Effects:
        """The effects of the command, the declared effects for a call without a command, or the stricter of both if
        the command is only guessed from arguments."""
        own = self.case.traits.effects
        if self._unread is not None:
            return "mutating"
        if self.analysis is None or ("command" not in self.declared.kinds and own != "none"):
            return own
        if self.unsafe_variable is not None or self.replaceable_programs:
            return "mutating"
        return shell.effects_of(self.analysis)

    @cached_property
    def unsafe_variable(self) -> str | None:
        """The first environment variable of the command, or argument next to it, that may change its effect; None if
        all are safe."""
        for name, value in self.declared.environment.items():
            if shell.effects_of(shell.analyse(f"{name}={shlex.quote(value)} true")) != "none":
                return name
        if "command" not in self.declared.kinds or "environment" in self.declared.ruled_out:
            return None
        beside = USUAL_NAMES["environment"].difference(*self.declared.names.values())
        values = self.case.arguments.items()
        return next(
            (name for name, value in values if value and name in beside and isinstance(value, _TEXT_TYPES)), None
        )

    @cached_property
    def hidden(self) -> str | None:
        """The reason why a read-only command may have other effects or read files that it does not name; None if its
        effects are fully known."""
        if self._unread is not None:
            return self._unread
        if self.analysis is None:
            return None
        script = self.analysis.script
        if self.analysis.fault is not None or script.expands:
            return "the expansions are known only when the command runs"
        named = self._touched[0]
        if any(self.expand_glob(path) is None for path in named.patterns):
            return "a pattern may match a link to any place"
        if (folder := next(filter(self.is_folder, named.flat), None)) is not None:
            return f"links in the folder {folder} would be followed"
        if self.git is None:
            return None
        if not facts_of(self.case.tool).quiets_git:
            return f"git runs programs that a repository's settings name, and {self.case.name} does not prevent this"
        for folder in self.git.folders or ():
            if not os.path.isdir(folder):
                return f"{brief(folder)} does not exist yet, so its git settings are unknown"
        return self.git.fault

    @cached_property
    def git(self) -> "RepositoryReads | None":
        """The repositories that the command reads through git; None for a command without git."""
        if self.analysis is None or shell.runs_settings(self.analysis) is None:
            return None
        from callgate.policy.git_settings import RepositoryReads  # only for such commands

        found = shell.settings_folders(self.analysis)
        folders = None if found is None else tuple(self.resolve_in_shell(each or ".").resolved for each in found)
        places = [each for each in (self.root, self.case.root, self.case.resolve_path(".").resolved) if each]
        return RepositoryReads(shell.repository_readers(self.analysis), folders, places, self._can_write)

    def _can_write(self, path: str) -> bool:
        place = self.case.resolve_path(path)
        return place.inside and self.danger_of(place, "write") is None

    @cached_property
    def not_granted(self) -> str | None:
        """The reason why no command rule covers the command in its folder and environment; None if there is no such
        reason. The words of the command are not considered."""
        if self.replaced_program is not None and not self.has_sandbox:
            return self.replaced_program
        if self.unsafe_variable is not None:
            return f"the argument or variable {self.unsafe_variable} may change what the command does"
        folder = self.folder or ("." if self.case.root else None)
        if self.git is None:
            return None
        if self.effects == "none" and facts_of(self.case.tool).quiets_git and self.git.fault is not None:
            return self.git.fault
        if folder is None:
            return None
        found, usual = self.case.resolve_path(folder).resolved, self.case.root or self.case.resolve_path(".").resolved
        shown = self.folder or found
        return f"the command runs in {shown}, whose settings may name programs" if found != usual else None

    @cached_property
    def folder_readers(self) -> tuple[str, ...]:
        """The commands that read whole folders, or the name of a tool that reads whole folders."""
        if self.analysis is not None:
            found = tuple(shell.folder_readers(self.analysis))
            if self.git and self.git.readers and any(map(_is_folder, self.accesses)) and self.git.is_elsewhere:
                found += self.git.readers
            return found
        folders = "reads" in self.declared.kinds and any(map(_is_folder, self.accesses))
        return (self.case.name,) if folders else ()

    @cached_property
    def read_folders(self) -> tuple[ResolvedPath, ...]:
        """The folders that the call reads as a whole; by default the folder in which the command runs."""
        found = tuple(access.path for access in self.accesses if access.way == "read" and access.path.kind != "file")
        return (found or (self.resolve_in_shell("."),)) if self.folder_readers else ()

    @cached_property
    def readable_secrets(self) -> tuple[str, ...]:
        """The files with keys or passwords in the folders that the call reads as a whole."""
        found = tuple(path for each in self.read_folders for path in secrets_in(each.resolved))
        return found if self.git is None else (*found, *self.git.secrets)

    @cached_property
    def folder(self) -> str | None:
        """The folder in which the command runs; None if the call names no folder."""
        if "folder" in self.declared.kinds | self.declared.ruled_out:
            return self.declared.folder
        arguments = self.case.arguments
        return next((text for name in _FOLDERS if isinstance(text := arguments.get(name), str)), None)

    # ---- places ---------------------------------------------------------------------------------------------------

    @cached_property
    def declares_paths(self) -> bool:
        """True if the tool declares the files that it accesses."""
        locks = self.case.traits.declared_locks
        if locks is not None and locks.scope != "shared":
            return locks.scope == "paths"  # an exclusive lock covers more than the paths it names
        return bool(self.declared.kinds & {"reads", "writes"})

    @cached_property
    def accesses(self) -> tuple[PathAccess, ...]:
        """The paths that the call is known to read, write or remove, up to a limit (``has_too_many_paths``)."""
        named = dict.fromkeys((*self._declared[:_MOST_DECLARED], *self._in_command[:_MOST_PLACES]))
        found = [PathAccess(self.case.resolve_path(path), way) for path, way in named]
        return (*found, *(access for access in self._guessed if (access.path.spelled, access.way) not in named))

    @cached_property
    def has_too_many_paths(self) -> bool:
        """True if the call names more paths than the limit on resolved paths."""
        paths = [path for path, _ in self._in_command]
        patterns = sum(1 for path in paths if "*" in path or "?" in path or "[" in path)
        long = sum(map(len, paths)) > _MOST_CHARACTERS
        too_many = len(paths) > _MOST_PLACES or patterns > _MOST_PATTERNS or len(self._undeclared) > _MOST_TEXTS
        return self.declares_too_many_paths or too_many or long

    @property
    def declares_too_many_paths(self) -> bool:
        """True if the call declares more paths than the limit on paths compared with rules."""
        return len(self._declared) > _MOST_DECLARED

    @cached_property
    def _declared(self) -> tuple[Named, ...]:
        found = self.declared
        locks = self.case.traits.declared_locks
        reads, writes = [*found.reads], [*found.writes]
        if locks is not None:
            reads, writes = [*reads, *locks.reads], [*writes, *locks.writes]
        if found.command is not None and self.folder is not None:
            reads.append(self.folder)
        elif self.case.root and (found.command is not None or (found.kinds and not reads and not writes)):
            reads.append(".")  # the folder of a nested session, which may be outside the root
        ways: tuple[tuple[Way, list[str]], ...] = (("read", reads), ("write", writes))
        return tuple(dict.fromkeys((each, way) for way, paths in ways for path in paths for each in self._both(path)))

    def _both(self, path: str) -> tuple[str, ...]:
        """Return the path in two forms: as written, and with ``~`` expanded, because some tools expand it."""
        return (path, self._in_shell(path)) if path.startswith("~") else (path,)

    @cached_property
    def _in_command(self) -> tuple[Named, ...]:
        """The paths that the command and its known expansions access, with the kind of access."""
        found: dict[Named, None] = {}
        for seen in self._touched:
            ways: tuple[tuple[Way, tuple[str, ...]], ...]
            ways = (("read", seen.reads), ("write", seen.writes), ("remove", seen.removes))
            for way, paths in ways:
                filled = (each for path in paths if path in seen.patterns for each in self.expand_glob(path) or ())
                named = (path for path in (*paths, *filled) if path != "/dev/null")
                found.update(((self._in_shell(path), way), None) for path in named)
        return tuple(found)

    @cached_property
    def _guessed(self) -> tuple[PathAccess, ...]:
        """The accesses guessed from undeclared arguments: texts in arguments with usual names of paths, and texts
        that name an existing file. For a tool that previews changes, missing files are included, because the tool
        may create them."""
        makes = self.case.tool.previews
        usual = frozenset[str]() if "reads" in self.declared.ruled_out else USUAL_NAMES["reads"]
        found: dict[str, ResolvedPath] = {}
        for name, text in self._undeclared[:_MOST_TEXTS]:
            for path in (each for spelled in paths_in(text) for each in self._both(spelled)):
                place = self.case.resolve_path(path)
                if makes or name in usual or place.kind != "missing":
                    found.setdefault(path, place)
        return tuple(PathAccess(place, "read" if self.effects == "none" else "write") for place in found.values())

    @cached_property
    def _undeclared(self) -> list[tuple[str, str]]:
        """The texts in undeclared arguments that may be paths, with the names of the arguments; at most the limit on
        resolved paths plus one. Empty if the tool declares its paths."""
        if self.case.traits.own_state or (self.declares_paths and self.declared.command is None):
            return []
        known = {name for names in self.declared.names.values() for name in names}
        arguments = {name: value for name, value in self.case.arguments.items() if name not in known}
        if self.command is not None:
            arguments = {name: value for name, value in arguments.items() if value != self.command}
        values = (*arguments.items(), ("", self.declared.environment))
        found = ((name, text) for name, value in values for text in texts_in(value) if may_be_path(text))
        return list(islice(found, _MOST_TEXTS + 1))

    @cached_property
    def _touched(self) -> "tuple[shell.NamedPaths, ...]":
        """The paths of the command, followed by the paths of each known expansion of the command."""
        if self.analysis is None:
            return ()
        return tuple(map(shell.named_paths, (self.analysis, *shell.known_expansions(self.analysis))))

    def _in_shell(self, path: str) -> str:
        """Return a path as the shell resolves it: ``~`` is the home folder, and a relative path starts at the
        working folder."""
        name, _, rest = path.partition("/")
        if name == "~":
            return join(self.home, rest)
        if name.startswith("~"):
            return join(dirname(self.home), name[1:], rest)
        return path if self.folder is None else join(self._in_home(self.folder), path)

    def _in_home(self, folder: str) -> str:
        return join(self.home, folder[2:]) if folder == "~" or folder.startswith("~/") else folder

    def resolve_in_shell(self, path: str) -> ResolvedPath:
        """Resolve a path of the command. The result is cached for the decision, so all rules use the same result."""
        if path not in self._places:
            self._places[path] = self.case.resolve_path(self._in_shell(path))
        return self._places[path]

    def is_folder(self, path: str) -> bool:
        return self.resolve_in_shell(path).kind == "folder"

    def project_file(self, folder: str) -> str | None:
        """Return a file with settings of a build in the folder, or in a folder between it and the workspace. A
        command in the folder uses this file, not the file of the workspace."""
        root = self.case.resolve_path(self.case.root or ".").resolved
        return nearest_project_file(self.resolve_in_shell(folder or ".").resolved, root)

    def expand_glob(self, pattern: str) -> tuple[str, ...] | None:
        """Return the paths to which the shell expands a glob now; None if they are unknown."""
        if pattern not in self._filled:
            self._filled[pattern] = expand_glob(pattern, self._listed)
        return self._filled[pattern]

    def _listed(self, path: str) -> list[str] | None:
        place = self.resolve_in_shell(path)
        if place.kind != "folder":
            return []
        try:
            return sorted(os.listdir(place.resolved)) if place.inside else None
        except OSError:
            return None

    @cached_property
    def outside(self) -> tuple[PathAccess, ...]:
        return tuple(access for access in self.accesses if not access.path.inside)

    @cached_property
    def danger(self) -> str | None:
        """The reason why the first protected place needs the user's approval; None if there is none."""
        if self.has_too_many_paths:
            return "the call names too many paths"
        return next((why for each in self.accesses if (why := self.danger_of(each.path, each.way))), None)

    def danger_of(self, place: ResolvedPath, way: Way) -> str | None:
        return danger(place, way, root=self.root, home=self.home)

    @property
    def edits_files(self) -> bool:
        """True if the tool changes files: it declares the files, or it previews changes."""
        return "writes" in self.declared.kinds or self.case.tool.previews

    # ---- the network and agents -----------------------------------------------------------------------------------

    @cached_property
    def address(self) -> str | None:
        return self._part("address", self.declared.address)

    @cached_property
    def host(self) -> str | None:
        """The host of the address; None if there is no address, or if programs could interpret it differently."""
        address = self.address
        if not address:
            return None
        names = self.declared.names.get("address", ("url",))
        is_url = "://" in address or bool(USUAL_NAMES["address"].intersection(names))
        return host_of(address) if is_url else normal_host(address)

    @cached_property
    def look_alike(self) -> str | None:
        """The reason why the name of a program or host may be confused with another name, or None."""
        runs = () if self.analysis is None else shell.find_inner_commands(self.analysis).runs
        names = [run.name or "" for run in runs]
        if self.address is not None:
            whole = self.address if "//" in self.address else f"//{self.address}"
            names.append(whole.partition("//")[2].partition("/")[0])
        return next((note for name in names if not name.isascii() and (note := look_alikes(name))), None)


def may_use_paths(case: Case) -> bool:
    """Return False if the call names no path, command or address. In this case the tool declares none, and no text
    in the arguments has a usual name of such an argument or names an existing file."""
    traits = case.traits
    declared, locks = traits.declared, traits.declared_locks
    if declared.kinds or declared.environment or (locks is not None and (locks.reads or locks.writes)):
        return True
    left = _MOST_TEXTS
    for name, value in case.arguments.items():
        if isinstance(value, _TEXT_TYPES):
            if name in _TELLING or case.tool.previews or traits.needs_no_question:
                return True
            for text in texts_in(cast(Any, value)):
                left -= 1
                if not left or (may_be_path(text) and any(_is_there(case, each) for each in paths_in(text))):
                    return True
    return False


_TEXT_TYPES = (str, list, dict)


def _is_there(case: Case, path: str) -> bool:
    return path[0] == "~" or case.resolve_path(path).kind != "missing"


def _is_folder(access: PathAccess) -> bool:
    return access.path.kind == "folder"
