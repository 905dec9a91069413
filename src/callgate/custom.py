"""The tools a person wrote, and those of a repository they trust: which folders count for a workspace.

    config = load_config()
    custom = await custom_tools(config)
    session = Session(model, [*mine, *custom.tools], config=config)

``custom.problems`` names what could not be loaded by file and line, ``custom.skipped`` what waits for trust.
"""

from collections.abc import Iterable

from callgate.config import Config
from callgate.gatehouse import still_trusted
from callgate.policy.fingerprint import fingerprint
from callgate.policy.trust import Trusted
from callgate.tools.custom import Api, CustomTool, Discovery, Folder, Installed, Loaded, PendingStore, Problem, Skipped
from callgate.words.pending import RESOLVE

__all__ = ["Api", "CustomTool", "Discovery", "Loaded", "Problem", "Skipped", "custom_tools", "discovery"]

_TOOLS = "tools"


async def custom_tools(config: Config, *, taken: Iterable[str] = ()) -> Loaded:
    """All there are now. ``taken`` are names that others have, which no file may give to a tool of its own."""
    found = discovery(config, taken=taken)
    try:
        return await found.look()
    finally:
        found.close()


def discovery(
    config: Config, *, session: str = "", store: PendingStore | None = None, taken: Iterable[str] = ()
) -> Discovery:
    """The same, to be looked at again: files that came, changed or went since are noticed, and so is lost trust.
    ``store`` takes what tools stage."""

    repository = _Repository(config)

    def folders() -> list[Folder]:
        own = [] if config.folder is None else [Folder(config.folder / _TOOLS, "user", trusted=True)]
        return [*own, repository.folder()]

    trusted = isinstance(config.trust, Trusted)
    api = Api(config.root, session, store)
    return Discovery(folders, api, installed=Installed(config.root, trusted=trusted), taken=(RESOLVE, *taken))


class _Repository:
    """Its tools count while all that can run there is as the person trusted it; one file more, and they all wait."""

    def __init__(self, config: Config) -> None:
        self._config = config
        self._first: str | None = None

    def folder(self) -> Folder:
        place = self._config.root / ".callgate" / _TOOLS
        if not isinstance(self._config.trust, Trusted):
            return Folder(place, "project")
        shown = fingerprint(self._config.root)  # before it is asked about: what comes after is not in it
        self._first = self._first or shown.digest
        trusted = not shown.problem and still_trusted(self._config, self._first)
        contents = frozenset(seen.sha256 for seen in shown.files if seen.kind == "file")
        return Folder(place, "project", trusted=trusted, contents=contents)
