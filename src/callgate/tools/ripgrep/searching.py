"""The common parts of Glob and Grep: the folder that is searched, and the end of a cut list."""

from posixpath import dirname

from callgate.core.ports import Host
from callgate.host.ports import FileStatus, files_of
from callgate.host.threads import in_thread, threads_of
from callgate.tools.ripgrep.engine import VARIABLE, SearchEngine, search_engine
from callgate.tools.ripgrep.walking import DiskTree, PortTree, Tree
from callgate.words.errors import ToolFailure
from callgate.words.noun import noun


@noun
class SearchedPlace:
    """The program runs in ``folder`` and searches ``path`` there, which is empty for all of it. ``lead`` goes before
    the paths that it gives: nothing inside the workspace."""

    folder: str
    path: str
    engine: SearchEngine
    lead: str = ""
    is_file: bool = False
    in_repository: bool = True


async def searched_place(host: Host, path: str) -> SearchedPlace:
    """The place and the program that searches it. ToolFailure if the path is not there or leads out of the workspace
    over a link, or if there is no such program."""

    files = files_of(host)

    def look() -> tuple[FileStatus, bool, SearchEngine]:
        status = files.status(path)
        if files.on_disk:
            return status, _in_repository(DiskTree(), status.path), search_engine()
        # A program would not see these files: they are searched in this one.
        return status, _in_repository(PortTree(files), status.path), search_engine({VARIABLE: "builtin"})

    status, inside, engine = await in_thread(look, threads=threads_of(host))
    if status.kind not in ("file", "folder"):
        raise ToolFailure(f"{path} does not exist." if status.kind == "missing" else f"{path} cannot be searched.")
    is_file = status.kind == "file"
    folder, lead = host.place(".").resolved.rstrip("/"), ""
    if status.path != folder and not status.path.startswith(f"{folder}/"):
        folder = dirname(status.path) if is_file else status.path
        lead = folder.rstrip("/") + "/"
    inner = status.path[len(folder) :].lstrip("/")
    return SearchedPlace(
        folder=folder or "/", path=inner, engine=engine, lead=lead, is_file=is_file, in_repository=inside
    )


def _in_repository(tree: Tree, path: str) -> bool:
    while not tree.is_there(f"{path.rstrip('/')}/.git"):
        if path == dirname(path):
            return False
        path = dirname(path)
    return True


def rest_note(first: int, shown: int, total: int, what: str) -> str:
    """The line at the end of a list that was cut; empty for a whole one."""
    last = first + shown
    if not first and last >= total:
        return ""
    told = f"[{what} {first + 1:,}-{last:,} of {total:,}"
    return f"{told}: {total - last:,} more with offset={last}.]" if last < total else f"{told}.]"
