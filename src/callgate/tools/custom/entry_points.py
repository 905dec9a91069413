"""Loads the tools of installed packages: entry points of the group ``callgate.tools``.

An entry point names a module, or a tool, a list of tools or a factory in a module. A module is treated like a file of
tools.
"""

import os
import site
import sys
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from types import ModuleType

from callgate.policy.layers import is_within
from callgate.tools.custom.api import Api
from callgate.tools.custom.offers import BadOffer, Offer, line_of, made_by, offered, taken_in
from callgate.tools.custom.problems import Problem, SkippedTools, blamed, last_file_of
from callgate.words.noun import noun

GROUP = "callgate.tools"


@noun
class Installed:
    """Selects the entry points to load: all except entry points of packages inside an untrusted workspace. If the
    workspace is on ``sys.path``, as with ``python -m``, a repository could otherwise pose as an installed package."""

    workspace: Path | None = None
    trusted: bool = False


@noun
class ToolEntryPoint:
    """An entry point, with a text that describes it in messages."""

    point: EntryPoint
    file: str


def entry_points_of(installed: Installed, group: str = GROUP) -> tuple[list[ToolEntryPoint], list[SkippedTools]]:
    """Return the entry points to load, sorted by name, and the skipped entry points. Nothing is imported. Blocks."""
    found: list[ToolEntryPoint] = []
    skipped: list[SkippedTools] = []
    for point in sorted(entry_points(group=group), key=lambda each: (each.name, each.value)):
        package = point.dist.name if point.dist is not None else "?"
        entry = ToolEntryPoint(point, f"entry point {point.name} of {package}")
        if _is_brought_along(point, installed):
            skipped.append(SkippedTools(entry.file, "it is in the workspace, which is not trusted", "installed"))
        else:
            found.append(entry)
    return found, skipped


def load_entry_point(entry: ToolEntryPoint, api: Api) -> Offer:
    """Import an entry point and return its tools. Never raises: an error becomes a Problem."""
    file = entry.file
    try:
        value = entry.point.load()
        file = _file_of(value) or file
        found = offered(value, api) if isinstance(value, ModuleType) else made_by(value, api)
        return taken_in(found, file, "installed")
    except BaseException as error:
        package = entry.point.module.partition(".")[0]
        found = blamed(error, last_file_of(package, error) or file, "installed")
        line = line_of(error.about, found.file) if isinstance(error, BadOffer) else found.line
        text = found.text if found.file == entry.file else f"{entry.file}: {found.text}"
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
    inside = is_within(place, os.path.realpath(installed.workspace))
    # The environment of this process may be inside a workspace: it is as trusted as the process.
    own_folders = map(os.path.realpath, (*site.getsitepackages(), site.getusersitepackages()))
    return inside and not any(is_within(place, own) for own in own_folders)
