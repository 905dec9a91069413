"""What a crash left half done is finished, or undone."""

import os
from contextlib import suppress
from pathlib import Path
from typing import Literal

from callgate.host.applying.guarding import alone_in
from callgate.host.applying.journal import Journal, Noted, alone, left_in
from callgate.host.applying.left import Left
from callgate.host.beneath import Folder
from callgate.host.files import sync_folder
from callgate.words.noun import noun


@noun
class Recovered:
    """``left`` are files that could be brought neither to the old nor to the new state, each with the reason."""

    label: str
    kept: str
    outcome: Literal["finished", "undone"]
    paths: tuple[str, ...]
    left: tuple[str, ...] = ()


def recover(root: Path | str, journal: Path) -> list[Recovered]:
    """Finish or undo what was being applied when a program died. Blocks."""
    if not journal.is_dir():
        return []
    real = os.path.realpath(root)
    with alone(journal), alone_in(real):
        return recover_alone(real, journal)


def recover_alone(root: str, journal: Path) -> list[Recovered]:
    """What was being applied in this workspace; whoever asks is alone there."""
    found = left_in(journal, root)
    if not found:
        return []
    with Folder.held(root) as top:
        recovered = [(noted, _recovered(noted, top, journal)) for noted in found]
    return [each for noted, each in recovered if noted.state != "done"]


def _recovered(noted: Noted, top: Folder, journal: Path) -> Recovered:
    files = [Left(each, top) for each in noted.steps]
    outcome, left = _settled(files) if noted.state == "ready" else ("undone", [])
    litter = [each for each in files if not each.spot.discard()]
    if outcome == "undone" and noted.state != "done":
        for parts in reversed(noted.folders):
            with suppress(OSError), top.below(parts[:-1]) as above:
                os.rmdir(above.of(parts[-1]), dir_fd=above.descriptor)
    for parts in {each.spot.folder for each in files}:
        with suppress(OSError), top.below(parts) as folder:
            sync_folder(folder.of("."), dir_fd=folder.descriptor)
    Journal(journal, noted.file.stem, noted.kept).end(applied=outcome == "finished", clean=not litter)
    return Recovered(noted.label, noted.kept, outcome, tuple(each.path for each in files), tuple(left))


def _settled(files: list[Left]) -> tuple[Literal["finished", "undone"], list[str]]:
    """All new if that takes nothing from anybody, else all old but for what others have changed since."""
    states = [(each, each.state()) for each in files]
    left = [f"{each.path}: somebody else has changed it since" for each, state in states if state == "foreign"]
    forward = not left and all(each.ready for each, state in states if state == "old")
    for each, state in states:
        try:
            if forward and state == "old":
                each.finish()
            elif not forward and state == "new":
                each.undo()
        except OSError as error:
            left.append(f"{each.path}: {error.strerror or error}")
    return "finished" if forward else "undone", left
