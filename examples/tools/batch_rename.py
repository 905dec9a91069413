"""A custom tool: rename many files at once, looked at before it is done.

Copy it to `.callgate/tools/` of a project, or to the tools folder beside your own settings. The tool changes nothing:
it stages the renames, and `resolve` applies or discards them, all or none.
"""

import os
import re
from collections import Counter
from pathlib import Path
from typing import Annotated

from callgate import FileChange, Run, ToolFailure, reads, tool
from callgate.core.ports import Tool
from callgate.tools.custom import Api

MOST = 500
SHOWN = 20


def tools(api: Api) -> Tool:
    @tool(effects="none", locks=lambda a: reads(a.folder))
    def batch_rename(
        pattern: Annotated[str, "a regular expression, searched in each file name (not in the path)"],
        replacement: Annotated[str, r"what takes the place of each match; \1 and \g<name> are its groups"],
        run: Run,
        folder: Annotated[str, "where to begin; folders below it are looked at too"] = ".",
    ) -> str:
        """Stage renames of all files below a folder whose names match. Nothing is changed before `resolve`."""
        renames = planned(pattern, replacement, top(run, folder), api.root)
        files = [FileChange(new, data, data, source=old) for old, new in renames for data in [api.content(old)]]
        label = f"rename {len(files)} file{'' if len(files) == 1 else 's'} in {folder}"
        api.push_changes(
            label, files, count=len(files), details={"renames": dict(renames)}, source_tool_name="batch_rename"
        )
        listed = [f"{old} → {os.path.basename(new)}" for old, new in renames[:SHOWN]]
        more = [f"… and {len(renames) - SHOWN} more"] if len(renames) > SHOWN else []
        return "\n".join([f"{label}:", *listed, *more])

    return batch_rename


def top(run: Run, folder: str) -> Path:
    place = run.host.resolve_path(folder)
    if place.fault or not place.inside:
        raise ToolFailure(f"{folder}: {place.fault or 'lies outside the workspace'}")
    if place.kind != "folder":
        raise ToolFailure(f"{folder} is not a folder")
    return Path(place.resolved)


def planned(pattern: str, replacement: str, folder: Path, root: Path) -> list[tuple[str, str]]:
    """Old and new paths, from the workspace; ToolFailure if they cannot all be done."""
    try:
        wanted = re.compile(pattern)
        pairs = [
            (path, path.with_name(checked(new, path.name)))
            for path in files_below(folder)
            if (new := wanted.sub(replacement, path.name)) != path.name
        ]
    except (re.error, IndexError) as error:
        raise ToolFailure(f"the pattern or the replacement cannot be used: {error}") from error
    if not pairs:
        raise ToolFailure(f"no file name below {folder.name or folder} is changed by {pattern!r}")
    if len(pairs) > MOST:
        raise ToolFailure(f"{len(pairs)} files would be renamed, more than {MOST}: narrow the pattern or the folder")
    refuse_collisions(pairs)
    real = Path(os.path.realpath(root))
    return [(old.relative_to(real).as_posix(), new.relative_to(real).as_posix()) for old, new in pairs]


def files_below(folder: Path) -> list[Path]:
    """Regular files in a steady order; neither links nor what is in hidden folders."""
    found: list[Path] = []
    for here, folders, names in os.walk(folder):
        folders[:] = sorted(each for each in folders if not each.startswith("."))
        paths = (Path(here, name) for name in sorted(names))
        found += [path for path in paths if path.is_file() and not path.is_symlink()]
    return found


def checked(new: str, old: str) -> str:
    if new in ("", ".", "..") or any(sign in new for sign in ("/", "\0", os.sep)):
        raise ToolFailure(f"{old} would be called {new!r}, which cannot be the name of a file")
    return new


def refuse_collisions(pairs: list[tuple[Path, Path]]) -> None:
    leaving = {old for old, _ in pairs}
    wanted = Counter(new for _, new in pairs)
    faults = [f"{old.name} → {new.name}: several files would get this name" for old, new in pairs if wanted[new] > 1]
    faults += [
        f"{old.name} → {new.name}: exists already" for old, new in pairs if os.path.lexists(new) and new not in leaving
    ]
    if faults:
        raise ToolFailure("Nothing was staged, because names collide:\n" + "\n".join(faults[:SHOWN]))
