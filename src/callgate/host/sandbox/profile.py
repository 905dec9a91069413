"""The profile of a sandbox, and the bindings that it means on the file system as it is now."""

import os
import stat
from collections.abc import Iterator
from typing import Literal

from callgate.words.noun import noun


@noun
class Profile:
    """The places that a command in a sandbox may touch; all are absolute and resolved.

    ``root`` is the workspace and, with all below it, writable, as are the places in ``writable``. Everything else can
    be read and not written. ``read_only`` are places inside writable ones that are not written. ``reserved`` are such
    places that cannot be created either where they do not exist. ``unreadable`` places cannot be read. The deeper
    place counts. ``scratch`` is a folder that serves as ``/tmp``; without one it is empty for each command.
    """

    root: str
    writable: tuple[str, ...] = ()
    read_only: tuple[str, ...] = ()
    reserved: tuple[str, ...] = ()
    unreadable: tuple[str, ...] = ()
    scratch: str = ""


BindingKind = Literal["write", "read", "hide folder", "hide file", "hold"]


@noun
class Binding:
    """A place and its treatment: written to, only read, hidden, or held: an empty folder that nobody can fill stands
    where nothing is, so that nothing can be created there."""

    path: str
    kind: BindingKind


def flaw(profile: Profile) -> str | None:
    """The reason why a profile cannot be enforced here, in words; None if it can be."""
    for top in (profile.root, *profile.writable):
        if not os.path.isabs(top) or os.path.normpath(top) == "/":
            return f"{top} cannot be writable as a whole: choose a folder in it"
        if os.path.realpath(top) != top or not os.path.exists(top):
            return f"{top} is not there, or leads over a link"
    for place in (*profile.read_only, *profile.reserved):
        link = next((each for each in (*_between(profile, place), place) if os.path.islink(each)), None)
        if link is not None and _top_of(profile, place) is not None:
            return f"{link} is a link, and a link can be replaced by a command that may write in its folder"
    return None


def bindings(profile: Profile) -> tuple[Binding, ...]:
    """In the order in which they are laid over each other: parents first.

    A folder between a writable place and a protected one in it is bound to itself: otherwise it could be renamed, and
    another one put in its place.
    """
    found: dict[str, BindingKind] = {}
    for place in (profile.root, *profile.writable):
        found[place] = "write"
    for place in (*profile.read_only, *profile.reserved, *profile.unreadable):
        between = [each for each in _between(profile, place) if os.path.isdir(each)]
        if place in profile.reserved or os.path.lexists(place):
            found.update((each, "write") for each in between if each not in found)
    for place in profile.read_only:
        if os.path.lexists(place):
            found[place] = "read"
    for place in profile.reserved:
        missing = next((each for each in reversed([*_between(profile, place)]) if not os.path.lexists(each)), place)
        found[missing] = "hold" if _is_vacant(missing) else "read"
    for place in profile.unreadable:
        if (kind := _hidden(place)) is not None:
            found[place] = kind
    return tuple(Binding(path, found[path]) for path in sorted(found, key=lambda path: (path.count("/"), path)))


def _hidden(place: str) -> BindingKind | None:
    """None for what is not there, and for links: what they lead to is a place of its own."""
    try:
        mode = os.lstat(place).st_mode
    except OSError:
        return None
    if stat.S_ISLNK(mode):
        return None
    return "hide folder" if stat.S_ISDIR(mode) else "hide file"


def _is_vacant(place: str) -> bool:
    """An empty folder counts as nothing: it is what a killed command leaves of a place that was held."""
    try:
        with os.scandir(place) as listed:
            return next(listed, None) is None
    except FileNotFoundError:
        return True
    except OSError:
        return False


def _top_of(profile: Profile, place: str) -> str | None:
    """The writable place that this one is in."""
    tops = [top for top in (profile.root, *profile.writable) if place.startswith(f"{top}/")]
    return max(tops, key=len, default=None)


def _between(profile: Profile, place: str) -> Iterator[str]:
    """The folders between a place and the writable place that it is in."""
    top = _top_of(profile, place)
    parent = os.path.dirname(place)
    while top is not None and parent != top:
        yield parent
        parent = os.path.dirname(parent)
