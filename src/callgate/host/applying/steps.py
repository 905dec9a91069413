"""Changes taken apart into places: what must be there now, and what shall be there afterwards."""

import os
from dataclasses import replace

from callgate.host.paths import Resolver
from callgate.words.changes import ChangeSet, Content, FileChange
from callgate.words.errors import ToolFailure
from callgate.words.noun import noun

Parts = tuple[str, ...]


@noun
class Step:
    """One place: ``folder`` beneath the workspace, with its links followed, and the name in it, which is never
    followed. ``like`` is the place whose owner and mode the new file takes over, if not its own."""

    path: str
    folder: Parts
    name: str
    before: Content | None = None
    after: Content | None = None
    link_before: bool = False
    link_after: bool = False
    mode: int | None = None
    mode_before: int | None = None
    like: "Step | None" = None


def steps_of(changes: ChangeSet, resolver: Resolver) -> list[Step]:
    """ToolFailure where a change leads out of the workspace, or two are about one place."""
    leaving: dict[str, FileChange] = {}
    arriving: dict[str, FileChange] = {}
    places: dict[str, tuple[str, Parts, str]] = {}
    moved: dict[str, str] = {}

    def place(path: str) -> str:
        folder, name = _place(path, resolver)
        key = resolver.folded("/".join((*folder, name)))
        places.setdefault(key, (path, folder, name))
        return key

    def note(table: dict[str, FileChange], key: str, change: FileChange) -> None:
        if key in table:
            raise ToolFailure(f"{places[key][0]} is changed twice in one change set")
        table[key] = change

    for change in changes.files:
        target = place(change.path)
        if change.before is not None:
            source = target if change.source is None else place(change.source)
            note(leaving, source, change)
            moved[target] = source
        if change.after is not None or change.before is None:
            note(arriving, target, change)
    first = {key: _step(places[key], leaving.get(key), arriving.get(key)) for key in places}
    return [_taking_over(first, key, moved.get(key, key)) for key in places]


def _step(place: tuple[str, Parts, str], leaving: FileChange | None, arriving: FileChange | None) -> Step:
    return Step(
        *place,
        before=None if leaving is None else leaving.before,
        after=None if arriving is None else arriving.after,
        link_before=leaving is not None and leaving.link,
        link_after=arriving is not None and arriving.link,
        mode=None if arriving is None else arriving.mode,
        mode_before=None if leaving is None else leaving.mode_before,
    )


def _taking_over(steps: dict[str, Step], key: str, source: str) -> Step:
    return steps[key] if key == source else replace(steps[key], like=steps[source])


def _place(path: str, resolver: Resolver) -> tuple[Parts, str]:
    above, name = os.path.split(path)
    if name in ("", os.curdir, os.pardir):
        raise ToolFailure(f"{path!r} does not name a file")
    fault = resolver.walk(path).fault
    if fault is not None:
        raise ToolFailure(f"{path!r} is not a usable path: {fault}")
    folder = resolver.walk(above or ".").resolved
    if not resolver.holds(folder):
        raise ToolFailure(f"{path} is outside the workspace {resolver.root}")
    return tuple(part for part in folder[len(resolver.root) :].split("/") if part), name
