"""Custom tools as they are now: what is new or changed is loaded, what is gone is forgotten, the rest is left alone."""

import sys
from asyncio import Lock
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field, replace
from functools import partial
from typing import TypeVar

from callgate.core.ports import Clock
from callgate.host.clock import LoopClock
from callgate.host.threads import in_thread
from callgate.tools.custom.api import Api
from callgate.tools.custom.attempts import Late, attempt
from callgate.tools.custom.files import File, Folder, Survey, survey
from callgate.tools.custom.installed import Installed, entries, load_entry
from callgate.tools.custom.modules import drop, load, new_name
from callgate.tools.custom.offers import BadOffer, CustomTool, line_of, offered, taken_in
from callgate.tools.custom.problems import Layer, Problem, Skipped, blamed
from callgate.words.errors import UsageError
from callgate.words.noun import nothing, noun

T = TypeVar("T")

PATIENCE = 10.0
"""Seconds that one file may take."""

Folders = Sequence[Folder] | Callable[[], Sequence[Folder]]
_RANK: Mapping[Layer, int] = {"user": 0, "installed": 1, "project": 2}
_OF: Mapping[Layer, str] = {"user": "your own", "installed": "installed", "project": "of the repository"}


@noun
class Loaded:
    """The tools, no two of which share a name or an alias, and all there is to tell about the rest."""

    tools: tuple[CustomTool, ...] = ()
    problems: tuple[Problem, ...] = ()
    skipped: tuple[Skipped, ...] = ()


@noun
class _Version:
    """The result of loading one file with one content. ``used`` are the files it imported, with their hashes."""

    file: File
    name: str = ""
    tools: tuple[CustomTool, ...] = ()
    problems: tuple[Problem, ...] = ()
    used: Mapping[str, str | None] = field(default_factory=nothing)
    broken: bool = False

    def is_of(self, file: File) -> bool:
        now = {name: each.sha256 for name, each in file.beside.items()}
        same = self.file.sha256 == file.sha256 and self.file.fault == file.fault
        return same and all(now.get(name) == digest for name, digest in self.used.items())


@noun
class _Kept:
    """The last version of a file, and the last that was good."""

    last: _Version
    good: _Version | None


class Discovery:
    """``folders`` may be a function, which is asked at every look: whether a folder is trusted can change with each
    file in it. ``taken`` are names that custom tools must not have. Used from one event loop."""

    def __init__(
        self,
        folders: Folders,
        api: Api,
        *,
        installed: Installed | None = None,
        taken: Iterable[str] = (),
        clock: Clock | None = None,
        patience: float = PATIENCE,
    ) -> None:
        if patience <= 0:
            raise UsageError(f"patience must be a number of seconds above 0, not {patience!r}")
        self._folders = folders
        self._api = api
        self._installed = installed
        self._taken = frozenset(taken)
        self._clock = clock or LoopClock()
        self._patience = patience
        self._kept: dict[str, _Kept] = {}
        self._entries: Loaded | None = None
        self._loaded = Loaded()
        self._lock = Lock()

    async def look(self) -> Loaded:
        """All there is now; the same object as before while nothing changed. A file whose content was seen before does
        not run again, be it good or broken. One that broke keeps its last good version, and its problem says so."""
        async with self._lock:
            seen = await in_thread(self._survey)
            for file in seen.files:
                await self._take(file)
            self._forget(self._kept.keys() - {file.path for file in seen.files})
            if self._entries is None:
                self._entries = await self._load_entries()
            loaded = self._settled(seen, self._entries)
            if loaded != self._loaded:
                self._loaded = loaded
            return self._loaded

    async def reload(self) -> Loaded:
        """Run everything again, as after a missing package was installed."""
        async with self._lock:
            self._forget(list(self._kept))
            self._entries = None
        return await self.look()

    def close(self) -> None:
        """Forget all modules. Tools that still run go on."""
        self._forget(list(self._kept))
        self._loaded = Loaded()

    def _survey(self) -> Survey:
        folders = self._folders() if callable(self._folders) else self._folders
        return survey(sorted(folders, key=lambda each: _RANK[each.layer]))

    async def _take(self, file: File) -> None:
        kept = self._kept.get(file.path)
        if kept is not None and kept.last.is_of(file):
            return
        good = None if kept is None else kept.good
        version = await self._load(file)
        if not version.broken:
            if good is not None:
                drop(good.file, good.name)
            good = version
        elif good is not None:
            told = (replace(each, text=f"{each.text}; its last good version stays in use") for each in version.problems)
            version = replace(version, problems=tuple(told))
        self._kept[file.path] = _Kept(version, good)

    async def _load(self, file: File) -> _Version:
        if file.fault:
            return _Version(file, problems=(Problem(file.path, None, file.fault, file.layer),), broken=True)
        name, used = new_name(), dict[str, str | None]()
        done = await self._attempt(partial(_run, file, name, used, self._api))
        if isinstance(done, Late):
            drop(file, name)
            line = next((line for path, line in done.at if path == file.path), None)
            return _Version(file, problems=(self._late(file.path, line, file.layer),), used=used, broken=True)
        return done

    async def _load_entries(self) -> Loaded:
        if self._installed is None:
            return Loaded()
        found, skipped = await in_thread(partial(entries, self._installed))
        tools: list[CustomTool] = []
        problems: list[Problem] = []
        for entry in found:
            done = await self._attempt(partial(load_entry, entry, self._api))
            if isinstance(done, Late):
                problems.append(self._late(entry.file, None, "installed"))
            else:
                tools += done[0]
                problems += done[1]
        return Loaded(tuple(tools), tuple(problems), tuple(skipped))

    async def _attempt(self, work: Callable[[], T]) -> T | Late:
        paths = list(sys.path)
        try:
            return await attempt(work, self._patience, self._clock)
        finally:
            if sys.path != paths:
                # What one file needs must not change what all others, and this program, import later.
                sys.path[:] = paths

    def _late(self, file: str, line: int | None, layer: Layer) -> Problem:
        text = (
            f"it was not done after {self._patience:g} seconds, so it is left out; it may go on until the program ends"
        )
        return Problem(file, line, text, layer)

    def _forget(self, paths: Iterable[str]) -> None:
        for path in paths:
            good = self._kept.pop(path).good
            if good is not None:
                drop(good.file, good.name)

    def _settled(self, seen: Survey, entries: Loaded) -> Loaded:
        kept = [self._kept[file.path] for file in seen.files]
        tools = [each for one in kept if one.good is not None for each in one.good.tools]
        told = [each for one in kept for each in one.last.problems]
        everything = sorted((*tools, *entries.tools), key=lambda each: _RANK[each.layer])
        tools, doubles = _one_of_a_name(everything, self._taken)
        problems = (*seen.problems, *told, *entries.problems, *doubles)
        return Loaded(tuple(tools), problems, (*seen.skipped, *entries.skipped))


async def load_tools(
    folders: Folders,
    api: Api,
    *,
    installed: Installed | None = None,
    taken: Iterable[str] = (),
    clock: Clock | None = None,
    patience: float = PATIENCE,
) -> Loaded:
    """One look, for a program that does not wait for changes."""
    return await Discovery(folders, api, installed=installed, taken=taken, clock=clock, patience=patience).look()


def _run(file: File, name: str, used: dict[str, str | None], api: Api) -> _Version:
    """In the thread. Must not raise, whatever the file does."""
    try:
        tools, problems = taken_in(offered(load(file, name, used), api), file.path, file.layer)
    except BadOffer as error:
        problem = Problem(file.path, line_of(error.about, file.path), str(error), file.layer)
    except BaseException as error:
        problem = _with_hint(blamed(error, file.path, file.layer), error, name)
    else:
        return _Version(file=file, name=name, tools=tuple(tools), problems=tuple(problems), used=used)
    drop(file, name)
    return _Version(file, problems=(problem,), used=used, broken=True)


def _with_hint(problem: Problem, error: BaseException, name: str) -> Problem:
    """The problem without the private module name, which means nothing to a reader, and with a hint on imports."""
    text = problem.text.replace(name, "")
    if isinstance(error, ModuleNotFoundError) and (error.name or "").startswith(f"{name}."):
        text += " (only files of this folder that begin with _ can be imported from it)"
    return replace(problem, text=text)


def _one_of_a_name(
    tools: Iterable[CustomTool], taken: frozenset[str]
) -> tuple[tuple[CustomTool, ...], tuple[Problem, ...]]:
    """The first of those that share a name or an alias."""
    kept: list[CustomTool] = []
    problems: list[Problem] = []
    owners: dict[str, CustomTool] = {}
    for each in tools:
        names = (each.spec.name, *each.aliases)
        shared = next((name for name in names if name in taken or name in owners), None)
        if shared is None:
            kept.append(each)
            owners |= dict.fromkeys(names, each)
        else:
            text = f"tool {each.spec.name!r} is left out: {_whose(shared, owners.get(shared), each)}"
            problems.append(Problem(each.file, each.line, text, each.layer))
    return tuple(kept), tuple(problems)


def _whose(name: str, owner: CustomTool | None, other: CustomTool) -> str:
    if owner is None:
        return f"{name!r} is the name of a tool that is there without it"
    place = owner.file if owner.line is None else f"{owner.file}:{owner.line}"
    why = (
        ""
        if owner.layer == other.layer
        else f", and what is {_OF[owner.layer]} counts before what is {_OF[other.layer]}"
    )
    return f"{name!r} is a tool in {place} already{why}"
