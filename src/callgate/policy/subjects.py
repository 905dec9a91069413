"""What a call is about: its command, the places it touches, the host it asks, the agent it starts.

All of it comes from the arguments and from what the tool declared, before anything runs.
"""

from functools import cached_property
from posixpath import dirname, join
from typing import Literal

from callgate import shell
from callgate.core.ports import Case
from callgate.policy.hosts import host_of
from callgate.policy.known import AGENT, FETCH, READERS, SHELL, WRITERS, locks_of
from callgate.policy.protected import danger
from callgate.words.display import look_alikes
from callgate.words.noun import noun
from callgate.words.places import Place
from callgate.words.traits import Effects, Locks

Way = Literal["read", "write", "remove"]

_AGENT_FIELDS = ("type", "subagent_type", "agent")
_USUAL_AGENT = "general"
_MOST_PLACES = 400
"""How many places of a command are looked at: to look at one takes a while, and one command may name thousands."""
_MOST_DECLARED = 10_000
"""How many of those that a tool declares: a change to many files must not get past a rule on one of them."""
_MOST_PATTERNS = 80
_MOST_CHARACTERS = 20_000


@noun
class Touch:
    """A place and what the call does with it."""

    place: Place
    way: Way


class Subject:
    """One case, looked at as rules look at it. What takes time is worked out when it is first wanted, once."""

    def __init__(self, case: Case, *, root: str, home: str) -> None:
        self.case = case
        self.root = root
        self.home = home
        self._places: dict[str, Place] = {}

    @cached_property
    def names(self) -> tuple[str, ...]:
        """What a deny or ask rule may call the tool. An allow rule must use its own name."""
        return (self.case.name, *self.case.tool.aliases)

    @cached_property
    def command(self) -> str | None:
        value = self.case.arguments.get("command") if self.case.name == SHELL else None
        return value if isinstance(value, str) else None

    @cached_property
    def analysis(self) -> "shell.Analysis | None":
        """Of the command; None for every tool but the shell."""
        return None if self.command is None else shell.analyse(self.command)

    def analysis_of(self, field: str) -> "shell.Analysis | None":
        """Of the text in this argument, for tools that take a command under another name."""
        if self.command is not None and field == "command":
            return self.analysis
        value = self.case.arguments.get(field)
        return shell.analyse(value) if isinstance(value, str) else None

    @cached_property
    def doubt(self) -> "shell.Doubt | None":
        """Why the command may do anything at all."""
        if self.case.name != SHELL:
            return None
        return shell.Doubt("unread", "it is not text") if self.analysis is None else shell.doubt(self.analysis)

    @cached_property
    def effects(self) -> Effects:
        """The tool's own word, but for a shell: there the command is what counts."""
        if self.case.name != SHELL:
            return self.case.traits.effects
        return "mutating" if self.analysis is None else shell.effects_of(self.analysis)

    @cached_property
    def hidden(self) -> str | None:
        """Why a command that only reads may still read elsewhere, or do more; None when all of it can be seen."""
        if self.analysis is None:
            return "it is not text" if self.case.name == SHELL else None
        script = self.analysis.script
        if self.analysis.fault is not None or script.expands:
            return "what it stands for is only known when it runs"
        targets = [each.target for command in script.commands for each in command.redirects]
        if any(word.globs for word in (*targets, *(word for command in script.commands for word in command.words))):
            return "a pattern may lead over a link to anywhere"
        loads = shell.runs_settings(self.analysis)
        return None if loads is None else f"{loads} runs programs that a repository's own settings name"

    @cached_property
    def dressed_up(self) -> str | None:
        """Why the name of a program or a host may be taken for another one, in words for a person."""
        names = [] if self.analysis is None else [run.name or "" for run in shell.inside(self.analysis).runs]
        url = self.case.arguments.get("url") if self.case.name == FETCH else None
        if isinstance(url, str):
            names.append(url.partition("//")[2].partition("/")[0])
        return next((note for name in names if not name.isascii() and (note := look_alikes(name))), None)

    @cached_property
    def sweeps(self) -> "tuple[shell.Sweep, ...]":
        """Commands in it that read whole folders."""
        return () if self.analysis is None else tuple(shell.sweeps(self.analysis))

    @cached_property
    def locks(self) -> Locks | None:
        declared = self.case.traits.declared_locks
        return locks_of(self.case.name, self.case.arguments) if declared is None else declared

    @cached_property
    def touches(self) -> tuple[Touch, ...]:
        """Every place the call is known to read, write or remove; only the first ones where it is ``crowded``."""
        named = (*self._declared[:_MOST_DECLARED], *self._guessed[:_MOST_PLACES])
        return tuple(Touch(self.case.place(path), way) for path, way in dict.fromkeys(named))

    @cached_property
    def crowded(self) -> bool:
        """It names more places than are looked at."""
        paths = [path for path, _ in self._guessed]
        patterns = sum(1 for path in paths if "*" in path or "?" in path or "[" in path)
        long = sum(map(len, paths)) > _MOST_CHARACTERS
        return self.overfull or len(paths) > _MOST_PLACES or patterns > _MOST_PATTERNS or long

    @property
    def overfull(self) -> bool:
        """It declares more places than are compared with rules."""
        return len(self._declared) > _MOST_DECLARED

    @cached_property
    def _declared(self) -> tuple[tuple[str, Way], ...]:
        if self.locks is None:
            return ()
        ways: tuple[tuple[Way, tuple[str, ...]], ...] = (("read", self.locks.reads), ("write", self.locks.writes))
        return tuple(dict.fromkeys((path, way) for way, paths in ways for path in paths))

    @cached_property
    def _guessed(self) -> tuple[tuple[str, Way], ...]:
        """Those in a command."""
        found: dict[tuple[str, Way], None] = {}
        for analysis in self._readings():
            seen = shell.touched(analysis)
            ways: tuple[tuple[Way, tuple[str, ...]], ...]
            ways = (("read", seen.reads), ("write", seen.writes), ("remove", seen.removes))
            for way, paths in ways:
                found.update(((self._in_shell(path), way), None) for path in paths if path != "/dev/null")
        return tuple(found)

    def _readings(self) -> "tuple[shell.Analysis, ...]":
        """The command, and what it may come to where the values of its variables are known."""
        return () if self.analysis is None else (self.analysis, *shell.filled(self.analysis))

    def _in_shell(self, path: str) -> str:
        """A path as the shell would take it: ``~`` is home, and a relative one starts at the working folder."""
        name, _, rest = path.partition("/")
        if name == "~":
            return join(self.home, rest)
        if name.startswith("~"):
            return join(dirname(self.home), name[1:], rest)
        folder = self.case.arguments.get("cwd")
        return join(folder, path) if isinstance(folder, str) else path

    def place_in_shell(self, path: str) -> Place:
        """Looked at once: many rules ask about the same path, and for one decision there is one answer."""
        if path not in self._places:
            self._places[path] = self.case.place(self._in_shell(path))
        return self._places[path]

    @cached_property
    def outside(self) -> tuple[Touch, ...]:
        return tuple(touch for touch in self.touches if not touch.place.inside)

    @cached_property
    def danger(self) -> str | None:
        """Hard safety: what is wrong with the first dangerous place, in words for a person."""
        if self.crowded:
            return "it names more places than can be looked at"
        for touch in self.touches:
            why = self.danger_of(touch.place, touch.way)
            if why is not None:
                return why
        return None

    def danger_of(self, place: Place, way: Way) -> str | None:
        return danger(place, way, root=self.root, home=self.home)

    @cached_property
    def reads_files(self) -> bool:
        return self.case.name in READERS

    @cached_property
    def edits_files(self) -> bool:
        """Whether all the tool does is to change files: it is known for that, or shows its change first."""
        return self.case.name in WRITERS or self.case.tool.previews

    @cached_property
    def host(self) -> str | None:
        """Of the address to be fetched; None when there is none, or none that everybody reads the same way."""
        url = self.case.arguments.get("url") if self.case.name == FETCH else None
        return host_of(url) if isinstance(url, str) else None

    @cached_property
    def agents(self) -> tuple[str, ...]:
        """The type of agent a call starts, under each name the argument goes by."""
        if self.case.name != AGENT:
            return ()
        given = [self.case.arguments.get(field) for field in _AGENT_FIELDS]
        return tuple(each for each in given if isinstance(each, str)) or (_USUAL_AGENT,)
