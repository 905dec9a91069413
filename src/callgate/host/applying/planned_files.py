"""Splits a ChangeSet into single files, each with its old and its new content.

A rename is split into two files, so that swapping two names is not a special case.
"""

import os
from dataclasses import replace

from callgate.host.paths import Resolver
from callgate.words.changes import ChangeSet, Content, FileChange
from callgate.words.errors import ToolFailure
from callgate.words.noun import noun

Parts = tuple[str, ...]


@noun
class PlannedFile:
    """The planned change of one file.

    folder  the resolved folder, relative to the workspace; a link at the file name itself is not followed
    like    the file whose owner, mode and attributes are copied; None if the file keeps its own attributes
    """

    path: str
    folder: Parts
    name: str
    before: Content | None = None
    after: Content | None = None
    link_before: bool = False
    link_after: bool = False
    mode: int | None = None
    mode_before: int | None = None
    owner: tuple[int, int] | None = None
    like: "PlannedFile | None" = None

    @property
    def key(self) -> tuple[Parts, str]:
        return self.folder, self.name


def planned_files(changes: ChangeSet, resolver: Resolver) -> list[PlannedFile]:
    """Return the planned files of a change set. Raise ToolFailure if a file is outside the workspace or is changed
    twice."""
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
    first = {key: _planned(places[key], leaving.get(key), arriving.get(key)) for key in places}
    return [replace(first[key], like=first[moved[key]]) if moved.get(key, key) != key else first[key] for key in places]


def _planned(place: tuple[str, Parts, str], leaving: FileChange | None, arriving: FileChange | None) -> PlannedFile:
    path, folder, name = place
    return PlannedFile(
        path=path,
        folder=folder,
        name=name,
        before=None if leaving is None else leaving.before,
        after=None if arriving is None else arriving.after,
        link_before=leaving is not None and leaving.link,
        link_after=arriving is not None and arriving.link,
        mode=None if arriving is None else arriving.mode,
        mode_before=None if leaving is None else leaving.mode_before,
        owner=None if arriving is None or leaving is not None else arriving.owner,
    )


def _place(path: str, resolver: Resolver) -> tuple[Parts, str]:
    above, name = os.path.split(path)
    if name in ("", os.curdir, os.pardir):
        raise ToolFailure(f"{path!r} does not name a file")
    fault = resolver.walk(path).fault
    if fault is not None:
        raise ToolFailure(f"{path!r} is not a valid path: {fault}")
    folder = resolver.parts_beneath(above)
    if folder is None:
        raise ToolFailure(f"{path} is outside the workspace {resolver.root}")
    return folder, name
