"""The files of a MemoryHost: a dictionary of absolute paths and bytes."""

from collections.abc import Callable

from callgate.host.ports import FileStatus, FolderEntry, too_large
from callgate.words.errors import ToolFailure
from callgate.words.places import Place


class MemoryFiles(dict[str, bytes]):
    """See ``host.ports.Files``. A folder is there as long as a file is in it; there are no links and no times."""

    on_disk = False

    def __init__(self, place: Callable[[str], Place]) -> None:
        super().__init__()
        self._place = place

    def status(self, path: str) -> FileStatus:
        place = self._placed(path)
        return FileStatus(place.resolved, place.kind, len(self.get(place.resolved, b"")))

    def read(self, path: str, most: int) -> bytes:
        place = self._placed(path)
        if place.kind == "folder":
            raise ToolFailure(f"{path} is a folder, not a file.")
        if place.kind == "missing":
            raise ToolFailure(f"{path} does not exist.")
        data = self[place.resolved]
        if len(data) > most:
            raise too_large(path, len(data), most)
        return data

    def entries(self, path: str) -> list[FolderEntry]:
        place = self._placed(path)
        if place.kind == "file":
            raise ToolFailure(f"{path} is a file, not a folder.")
        if place.kind == "missing":
            raise ToolFailure(f"{path} does not exist.")
        above = place.resolved.rstrip("/") + "/"
        found: dict[str, FolderEntry] = {}
        for each, data in self.items():
            if each.startswith(above):
                name, deeper, _ = each[len(above) :].partition("/")
                found[name] = FolderEntry(name, "folder") if deeper else FolderEntry(name, "file", len(data))
        return [found[name] for name in sorted(found)]

    def _placed(self, path: str) -> Place:
        place = self._place(path)
        if place.fault is not None:
            raise ToolFailure(f"{path!r} is not a usable path: {place.fault}")
        return place
