"""The apply itself."""

import os
from collections.abc import Iterable
from contextlib import nullcontext, suppress
from dataclasses import replace
from pathlib import Path

from callgate.host.applying.guarding import alone_in
from callgate.host.applying.journal import Journal, alone
from callgate.host.applying.recovering import recover_alone
from callgate.host.applying.replacing import Replacement
from callgate.host.applying.steps import Parts, Step, steps_of
from callgate.host.beneath import Folder
from callgate.host.files import sync_folder
from callgate.host.paths import Resolver
from callgate.words.changes import ChangeSet, FileChange
from callgate.words.errors import ToolFailure


def apply_changes(changes: ChangeSet, root: Path, journal: Path | None = None, kept: str = "") -> ChangeSet:
    """Make the files what the change set says, and give it back with the modes that were found: what it takes to undo
    it. Raises ToolFailure, and has then changed nothing. Blocks.

    ``journal`` is a private folder. Without one, a program that dies in the middle leaves it half done. ``kept`` is the
    name under which somebody keeps the change: the journal says that it is applied until they say that they know.
    """
    resolver = Resolver(root)
    steps = steps_of(changes, resolver)
    with nullcontext() if journal is None else alone(journal), alone_in(resolver.root):
        try:
            if journal is not None:
                recover_alone(resolver.root, journal)
            with Folder.held(resolver.root) as top:
                return _Apply(changes, steps, top, Journal(journal, os.urandom(8).hex(), kept)).run()
        except OSError as error:
            raise ToolFailure(f"The workspace {resolver.root} cannot be opened: {error.strerror}") from error


class _Apply:
    def __init__(self, changes: ChangeSet, steps: list[Step], top: Folder, journal: Journal) -> None:
        self._changes = changes
        self._top = top
        self._journal = journal
        self._work = [Replacement(step, top, f"{journal.token}-{number}") for number, step in enumerate(steps)]
        by_place = {(each.step.folder, each.step.name): each for each in self._work}
        for each in self._work:
            if each.step.like is not None:
                each.take_after(by_place[each.step.like.folder, each.step.like.name])

    def run(self) -> ChangeSet:
        differences = [f"{each.step.path}: {found}" for each in self._work if (found := each.difference()) is not None]
        if differences:
            raise ToolFailure(
                "Nothing was changed, because files are not as the preview found them: " + _few(differences)
            )
        made: list[Parts] = []
        done: list[Replacement] = []
        current: Replacement | None = None
        try:
            self._journal.begin(
                self._top.path, self._changes.label, (each.noted() for each in self._work), self._missing()
            )
            for current in self._work:
                current.stage(made)
            self._sync()
            self._journal.ready()
            for current in self._work:
                current.commit()
                done.append(current)
        except BaseException as error:
            where = self._changes.label if current is None else current.step.path
            left = [each.step.path for each in reversed(done) if not each.undo()]
            if not left:  # else what it was is still beside it, for the next who tries
                self._discard(made)
            if not isinstance(error, OSError):
                raise
            after = f"; could not put back {_few(left)}" if left else "; nothing was changed"
            raise ToolFailure(f"Could not write {where}: {error.strerror or error}{after}") from error
        self._sync()
        self._discard([], applied=True)
        return self._as_found()

    def _missing(self) -> list[Parts]:
        """The folders that will be made."""
        wanted = {each.step.folder for each in self._work if each.step.after is not None}
        every = {folder[:depth] for folder in wanted for depth in range(1, len(folder) + 1)}
        return [parts for parts in sorted(every) if not self._is_there(parts)]

    def _is_there(self, parts: Parts) -> bool:
        try:
            with self._top.below(parts):
                return True
        except OSError:
            return False

    def _sync(self) -> None:
        """Make new names survive a power cut, where folders can be synced."""
        for parts in {each.step.folder for each in self._work if not each.is_nothing}:
            with suppress(OSError), self._top.below(parts) as folder:
                sync_folder(folder.of("."), dir_fd=folder.descriptor)

    def _discard(self, folders: Iterable[Parts], *, applied: bool = False) -> None:
        """Remove what only the applying needed. What cannot be removed is litter, not a failure."""
        litter = [each for each in self._work if not each.spot.discard()]
        for parts in reversed(list(folders)):
            with suppress(OSError), self._top.below(parts[:-1]) as above:
                os.rmdir(above.of(parts[-1]), dir_fd=above.descriptor)
        self._journal.end(applied=applied, clean=not litter)

    def _as_found(self) -> ChangeSet:
        modes = {each.step.path: each.mode for each in self._work}

        def filled(change: FileChange) -> FileChange:
            mode = modes.get(change.source or change.path)
            return change if change.before is None or change.link else replace(change, mode_before=mode)

        return replace(self._changes, files=tuple(map(filled, self._changes.files)))


def _few(items: list[str]) -> str:
    more = f" and {len(items) - 5} more" if len(items) > 5 else ""
    return "; ".join(items[:5]) + more
