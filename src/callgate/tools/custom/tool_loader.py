"""Loads custom tools from files in folders and from installed entry points, each in its own thread and with a timeout.

    config = load_config()
    custom = await custom_tools(config)
    session = Session(model, [*mine, *custom.tools], config=config)

An entry point of the group ``callgate.tools`` names a module, or a tool, a list of tools or a factory in a module.
``custom.problems`` lists the faults of files, with line; ``custom.skipped`` lists the files that are not trusted.
"""

import os
import site
import sys
from asyncio import Future, get_running_loop
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from threading import Thread
from types import ModuleType
from typing import TypeVar

from callgate.config import Config
from callgate.core.ports import Clock
from callgate.host.clock import LoopClock
from callgate.host.threads import in_thread
from callgate.policy.fingerprint import fingerprint
from callgate.policy.protected import is_beneath
from callgate.policy.trust import Trusted
from callgate.tools.custom.offers import Api, BadOffer, CustomTool, Offer, line_of, made_by, offered, taken_in
from callgate.tools.custom.tool_files import Layer, Problem, ToolFile, ToolFolder, blamed, last_file_of, loaded, survey
from callgate.words.errors import UsageError
from callgate.words.noun import noun
from callgate.words.pending import RESOLVE

GROUP = "callgate.tools"


@noun
class Installed:
    """Selects the entry points to load: all except entry points of packages inside an untrusted workspace. If the
    workspace is on ``sys.path``, as with ``python -m``, a repository could otherwise pose as an installed package."""

    workspace: Path | None = None
    trusted: bool = False


def label_of(point: EntryPoint) -> str:
    """Return the text that names an entry point in messages."""
    return f"entry point {point.name} of {point.dist.name if point.dist is not None else '?'}"


def entry_points_of(installed: Installed, group: str = GROUP) -> tuple[list[EntryPoint], list[Problem]]:
    """Return the entry points to load, sorted by name, and the skipped entry points. Nothing is imported. Blocks."""
    found: list[EntryPoint] = []
    skipped: list[Problem] = []
    for point in sorted(entry_points(group=group), key=lambda each: (each.name, each.value)):
        if _is_brought_along(point, installed):
            text = "it is in the workspace, which is not trusted"
            skipped.append(Problem(label_of(point), None, text, "installed"))
        else:
            found.append(point)
    return found, skipped


def load_entry_point(point: EntryPoint, api: Api) -> Offer:
    """Import an entry point and return its tools. Never raises: an error becomes a Problem."""
    label = file = label_of(point)
    try:
        value = point.load()
        file = _file_of(value) or file
        found = offered(value, api) if isinstance(value, ModuleType) else made_by(value, api)
        return taken_in(found, file, "installed")
    except BaseException as error:
        package = point.module.partition(".")[0]
        found = blamed(error, last_file_of(package, error) or file, "installed")
        line = line_of(error.about, found.file) if isinstance(error, BadOffer) else found.line
        text = found.text if found.file == label else f"{label}: {found.text}"
        return Offer(problems=(Problem(found.file, line, text, "installed"),))


def _file_of(value: object) -> str | None:
    module = value if isinstance(value, ModuleType) else sys.modules.get(str(getattr(value, "__module__", "")))
    return None if module is None else module.__file__


def _is_brought_along(point: EntryPoint, installed: Installed) -> bool:
    if installed.trusted or installed.workspace is None:
        return False
    if point.dist is None:
        return True
    place = os.path.realpath(str(point.dist.locate_file("")))
    inside = is_beneath(place, os.path.realpath(installed.workspace))
    # The environment of this process may be inside a workspace: it is as trusted as the process.
    own_folders = map(os.path.realpath, (*site.getsitepackages(), site.getusersitepackages()))
    return inside and not any(is_beneath(place, own) for own in own_folders)


T = TypeVar("T")
PATIENCE = 10.0
"""The timeout for one file, in seconds."""

_RANK: Mapping[Layer, int] = {"user": 0, "installed": 1, "project": 2}
_OF = {"user": "your own tools", "installed": "installed tools", "project": "tools of the repository"}


@noun
class LoadedTools:
    """The loaded tools, with the problems and the skipped files. No two tools share a name or an alias."""

    tools: tuple[CustomTool, ...] = ()
    problems: tuple[Problem, ...] = ()
    skipped: tuple[Problem, ...] = ()


async def load_tools(
    folders: Sequence[ToolFolder],
    api: Api,
    *,
    installed: Installed | None = None,
    taken: Iterable[str] = (),
    clock: Clock | None = None,
    patience: float = PATIENCE,
) -> LoadedTools:
    """Load every file and every entry point. A file or entry point is run again even if it was loaded before.
    ``taken`` are names that custom tools must not have."""
    if patience <= 0:
        raise UsageError(f"patience must be a number of seconds above 0, not {patience!r}")
    in_order = sorted(folders, key=lambda each: _RANK[each.layer])
    files, problems, skipped = await in_thread(partial(survey, in_order))
    work: list[tuple[str, Layer, Callable[[], Offer]]]
    work = [(file.path, file.layer, partial(_load_file, file, api)) for file in files]
    if installed is not None:
        points, brought_along = await in_thread(partial(entry_points_of, installed))
        work.extend((label_of(point), "installed", partial(load_entry_point, point, api)) for point in points)
        skipped += brought_along
    tools: list[CustomTool] = []
    for file, layer, job in work:
        offer = await in_time(job, patience, clock)
        if offer is None:
            late = f"loading did not finish within {patience:g} seconds"
            text = f"{late}, so the file is ignored; its code may run until the program ends"
            offer = Offer(problems=(Problem(file, None, text, layer),))
        tools += offer.tools
        problems += offer.problems
    kept, doubles = _one_of_a_name(sorted(tools, key=lambda each: _RANK[each.layer]), frozenset(taken))
    return LoadedTools(tuple(kept), (*problems, *doubles), tuple(skipped))


async def in_time(job: Callable[[], T], patience: float, clock: Clock | None = None) -> T | None:
    """Run a job in a thread and return its result, or None if the job takes longer than ``patience`` seconds. The job
    must not raise.

    After a timeout or a cancel the job continues in a daemon thread. (Raising an exception in the thread is no
    alternative: code that waits outside of Python does not receive it, and meanwhile all other threads are slower.)
    """
    loop = get_running_loop()
    over: Future[T | None] = loop.create_future()

    def settle(value: T | None) -> None:
        if not over.done():
            over.set_result(value)

    def run() -> None:
        value = job()
        with suppress(RuntimeError):  # the loop was closed first
            loop.call_soon_threadsafe(settle, value)

    paths = list(sys.path)
    timer = (clock or LoopClock()).call_later(patience, lambda: settle(None))
    Thread(target=run, name="callgate-loading", daemon=True).start()
    try:
        return await over
    finally:
        timer.cancel()
        if sys.path != paths:
            # A path that one file adds must not affect later imports.
            sys.path[:] = paths


def _load_file(file: ToolFile, api: Api) -> Offer:
    """Load a file of tools and return its tools. Never raises: any exception becomes a Problem."""
    if file.fault:
        return Offer(problems=(Problem(file.path, None, file.fault, file.layer),))
    try:
        with loaded(file) as module:
            return taken_in(offered(module, api), file.path, file.layer)
    except BadOffer as error:
        problem = Problem(file.path, line_of(error.about, file.path), str(error), file.layer)
    except BaseException as error:
        problem = blamed(error, file.path, file.layer)
    return Offer(problems=(problem,))


def _one_of_a_name(tools: Iterable[CustomTool], taken: frozenset[str]) -> tuple[list[CustomTool], list[Problem]]:
    """Omit tools that share a name or an alias with an earlier tool. Return the remaining tools, and a problem for
    each omitted tool."""
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
            text = f"tool {each.spec.name!r} is ignored: {_whose(shared, owners.get(shared), each)}"
            problems.append(Problem(each.file, each.line, text, each.layer))
    return kept, problems


def _whose(name: str, owner: CustomTool | None, other: CustomTool) -> str:
    if owner is None:
        return f"{name!r} is the name of a tool that already exists"
    place = owner.file if owner.line is None else f"{owner.file}:{owner.line}"
    already = f"{name!r} is already a tool in {place}"
    if owner.layer == other.layer:
        return already
    return f"{already}; {_OF[owner.layer]} have priority over {_OF[other.layer]}"


_TOOLS = "tools"


async def custom_tools(config: Config, *, taken: Iterable[str] = ()) -> LoadedTools:
    """Load the custom tools of a workspace. Every file is run again. ``taken`` are names that custom tools must not
    have."""
    folders = [await in_thread(partial(_of_repository, config))]
    if config.folder is not None:
        folders.append(ToolFolder(config.folder / _TOOLS, "user", trusted=True))
    installed = Installed(config.root, trusted=isinstance(config.trust, Trusted))
    return await load_tools(folders, Api(config.root), installed=installed, taken=(RESOLVE, *taken))


def _of_repository(config: Config) -> ToolFolder:
    """Return the folder of the repository's tools. Blocks. The folder is trusted if all files that can run there are
    unchanged since the user trusted them."""
    place = config.root / ".callgate" / _TOOLS
    if not isinstance(config.trust, Trusted):
        return ToolFolder(place, "project")
    shown = fingerprint(config.root)  # before the trust is checked, so that later changes are not included
    trusted = not shown.problem and config.still_trusted(shown.digest)
    contents = frozenset(each.sha256 for each in shown.files if each.kind == "file")
    return ToolFolder(place, "project", trusted=trusted, contents=contents)
