"""Custom tools of a workspace: those in the person's own folder and those of a repository they trust.

    config = load_config()
    custom = await custom_tools(config)
    session = Session(model, [*mine, *custom.tools], config=config)

``custom.problems`` names what could not be loaded by file and line, ``custom.skipped`` what waits for trust.
"""

from collections.abc import Iterable

from callgate.config import Config
from callgate.policy.fingerprint import fingerprint
from callgate.policy.trust import Trusted
from callgate.tools.custom.api import Api
from callgate.tools.custom.discovery import Discovery, Loaded
from callgate.tools.custom.files import Folder
from callgate.tools.custom.installed import Installed
from callgate.tools.staging import PendingStore
from callgate.words.pending import RESOLVE

_TOOLS = "tools"


async def custom_tools(config: Config, *, taken: Iterable[str] = ()) -> Loaded:
    """Loads all tools there are now. ``taken`` are names in use, which no file may give to a tool of its own."""
    found = discovery(config, taken=taken)
    try:
        return await found.look()
    finally:
        found.close()


def discovery(
    config: Config, *, session: str = "", store: PendingStore | None = None, taken: Iterable[str] = ()
) -> Discovery:
    """The same as an object whose ``look`` can be called again: it notices files that came, changed or went since, and
    lost trust. ``store`` takes the actions that tools stage."""

    repository = _Repository(config)

    def folders() -> list[Folder]:
        own = [] if config.folder is None else [Folder(config.folder / _TOOLS, "user", trusted=True)]
        return [*own, repository.folder()]

    trusted = isinstance(config.trust, Trusted)
    api = Api(config.root, session, store)
    return Discovery(folders, api, installed=Installed(config.root, trusted=trusted), taken=(RESOLVE, *taken))


class _Repository:
    """The folder of the repository's tools. They count while every file that can run there is as the person trusted it;
    after any change all of them wait."""

    def __init__(self, config: Config) -> None:
        self._config = config
        self._first: str | None = None

    def folder(self) -> Folder:
        place = self._config.root / ".callgate" / _TOOLS
        if not isinstance(self._config.trust, Trusted):
            return Folder(place, "project")
        shown = fingerprint(self._config.root)  # before it is asked about: what comes after is not in it
        self._first = self._first or shown.digest
        trusted = not shown.problem and self._config.still_trusted(self._first)
        contents = frozenset(seen.sha256 for seen in shown.files if seen.kind == "file")
        return Folder(place, "project", trusted=trusted, contents=contents)
