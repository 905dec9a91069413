"""One file of an apply that a crash cut short."""

import errno
import stat
from hashlib import sha256
from typing import Any, Literal

from callgate.host.applying.spot import Spot, hash_of, leads_to
from callgate.host.beneath import Folder

State = Literal["old", "new", "foreign"]


class Left:
    """What the journal says of it, and what is there."""

    def __init__(self, noted: dict[str, Any], top: Folder) -> None:
        self.spot = Spot(top, tuple(noted["folder"]), noted["name"], noted["staged"], noted["backup"])
        self._before: str | None = noted["before"]
        self._after: str | None = noted["after"]

    @property
    def path(self) -> str:
        return "/".join((*self.spot.folder, self.spot.name))

    def state(self) -> State:
        found = self._hashed(self.spot.name)
        if self._before == self._after == found:
            # Only its mode was to change: it is new when what held the new one is gone.
            return "old" if self._hashed(self.spot.staged) is not None else "new"
        if found == self._before:
            return "old"
        return "new" if found == self._after else "foreign"

    @property
    def ready(self) -> bool:
        """What it takes to make it new is there."""
        return self._after is None or self._hashed(self.spot.staged) == self._after

    def finish(self) -> None:
        """From old to new."""
        with self.spot.opened() as folder:
            if self._after is None:
                self.spot.remove(folder)
            elif self._before is None:
                self.spot.create(folder)
            else:
                self.spot.replace(folder)

    def undo(self) -> None:
        """From new to old."""
        with self.spot.opened() as folder:
            if self._before is None and self._hashed(self.spot.staged) == self._after:
                self.spot.remove(folder)
            elif self._before is not None and self._hashed(self.spot.backup) == self._before:
                self.spot.put_back(folder)
            else:
                raise OSError(errno.ENOENT, "what it was is not kept any more", self.path)

    def _hashed(self, name: str) -> str | None:
        """None where there is nothing; other things than files and links have a hash that no file has."""
        try:
            with self.spot.opened() as folder:
                status = folder.status(name)
                if stat.S_ISLNK(status.st_mode):
                    return sha256(leads_to(folder, name)).hexdigest()
                if not stat.S_ISREG(status.st_mode):
                    return "not a file"
                with open(folder.opened(name), "rb") as file:
                    return hash_of(file)
        except FileNotFoundError:
            return None
