"""Custom tools of a workspace: those in the person's own folder and those of a repository they trust.

    config = load_config()
    custom = await custom_tools(config)
    session = Session(model, [*mine, *custom.tools], config=config)

``custom.problems`` names what could not be loaded by file and line, ``custom.skipped`` what waits for trust.
"""

from collections.abc import Iterable
from functools import partial

from callgate.config import Config
from callgate.host.threads import in_thread
from callgate.policy.fingerprint import fingerprint
from callgate.policy.trust import Trusted
from callgate.tools.custom.api import Api
from callgate.tools.custom.files import ToolFolder
from callgate.tools.custom.installed import Installed
from callgate.tools.custom.loading import LoadedTools, load_tools
from callgate.words.pending import RESOLVE

_TOOLS = "tools"


async def custom_tools(config: Config, *, taken: Iterable[str] = ()) -> LoadedTools:
    """Loads all tools there are now, every file anew. ``taken`` are names in use, which no file may give to a tool of
    its own."""
    folders = [await in_thread(partial(_of_repository, config))]
    if config.folder is not None:
        folders.append(ToolFolder(config.folder / _TOOLS, "user", trusted=True))
    installed = Installed(config.root, trusted=isinstance(config.trust, Trusted))
    return await load_tools(folders, Api(config.root), installed=installed, taken=(RESOLVE, *taken))


def _of_repository(config: Config) -> ToolFolder:
    """Its tools count if every file that can run there is as the person trusted it; after any change all of them wait.
    Blocks."""
    place = config.root / ".callgate" / _TOOLS
    if not isinstance(config.trust, Trusted):
        return ToolFolder(place, "project")
    shown = fingerprint(config.root)  # before it is asked about: what comes after is not in it
    trusted = not shown.problem and config.still_trusted(shown.digest)
    contents = frozenset(each.sha256 for each in shown.files if each.kind == "file")
    return ToolFolder(place, "project", trusted=trusted, contents=contents)
