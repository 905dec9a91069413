"""The profile of a sandbox, and the mounts that enforce the profile on the current file system."""

import os
import stat
from typing import Literal

from callgate.words.noun import noun


@noun
class Profile:
    """The paths that a command in a sandbox may access, absolute and resolved. A deeper path takes precedence.

    root        the workspace, which is writable
    writable    other writable places; everything else is read-only
    read_only   read-only places inside writable places; a place in a subfolder can be moved together with that
                subfolder
    reserved    places directly in a writable place that are read-only, and cannot be created if they are missing
    unreadable  places that cannot be read
    scratch     the folder that is mounted on ``/tmp``; by default an empty folder for each command
    """

    root: str
    writable: tuple[str, ...] = ()
    read_only: tuple[str, ...] = ()
    reserved: tuple[str, ...] = ()
    unreadable: tuple[str, ...] = ()
    scratch: str = ""

    @property
    def tops(self) -> tuple[str, ...]:
        """The writable places. No other place is made writable, because a concurrent command could replace it by a
        link."""
        return (self.root, *self.writable)


BindingKind = Literal["write", "read", "hide folder", "hide file", "hold"]


@noun
class Binding:
    """A place and its treatment: writable, read-only, hidden, or held.

    A held place is covered by an empty read-only folder, so that nothing can be created at its path.
    """

    path: str
    kind: BindingKind


def flaw(profile: Profile) -> str | None:
    """Return the reason why a profile cannot be enforced on this machine; None if it can."""
    for top in (*profile.tops, *((profile.scratch,) if profile.scratch else ())):
        if not os.path.isabs(top) or os.path.normpath(top) == "/":
            return f"{top} must not be writable as a whole: choose a folder in it"
        if os.path.realpath(top) != top or not os.path.isdir(top):
            return f"{top} is not a folder, or its path contains a link"
        if _top_of(profile, top) is not None:
            return f"{top} is in a writable folder, so a command could replace it"
    for place in profile.reserved:
        if os.path.dirname(place) not in profile.tops:
            return f"{place} is not a direct child of a writable folder, so its creation cannot be blocked"
    for place in (*profile.read_only, *profile.reserved):
        if os.path.islink(place) and _top_of(profile, place) is not None:
            return f"{place} is a link, which a command could replace"
    return None


def bindings(profile: Profile) -> tuple[Binding, ...]:
    """Return the places of a profile in the order of mounting, parents first."""
    found: dict[str, BindingKind] = dict.fromkeys(profile.tops, "write")
    for place in profile.read_only:
        if os.path.lexists(place):
            found[place] = "read"
    for place in profile.reserved:
        found[place] = "hold" if _is_vacant(place) else "read"
    for place in profile.unreadable:
        if (kind := _hidden(place)) is not None:
            found[place] = kind
    hidden = [place for place, kind in found.items() if kind == "hide folder"]
    found = {path: kind for path, kind in found.items() if not any(_is_hidden(path, each, profile) for each in hidden)}
    return tuple(Binding(path, found[path]) for path in sorted(found, key=lambda path: (path.count("/"), path)))


def _hidden(place: str) -> BindingKind | None:
    """Return the treatment of an unreadable place; None if the place is missing or a link. The target of a link has
    a binding of its own."""
    try:
        mode = os.lstat(place).st_mode
    except OSError:
        return None
    if stat.S_ISLNK(mode):
        return None
    return "hide folder" if stat.S_ISDIR(mode) else "hide file"


def _is_vacant(place: str) -> bool:
    """Return True if a place is missing or an empty folder, which a killed command may leave at a held place."""
    try:
        with os.scandir(place) as listed:
            return next(listed, None) is None
    except FileNotFoundError:
        return True
    except OSError:
        return False


def _is_hidden(path: str, hidden: str, profile: Profile) -> bool:
    """Return True if a path is below a hidden folder, unless a writable place below that folder contains the path."""
    top = path if path in profile.tops else _top_of(profile, path) or ""
    return path.startswith(f"{hidden}/") and not top.startswith(f"{hidden}/")


def _top_of(profile: Profile, place: str) -> str | None:
    return max((top for top in profile.tops if place.startswith(f"{top}/")), key=len, default=None)
