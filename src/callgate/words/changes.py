"""Changes to files as data: the same value is previewed, applied, kept and undone."""

from collections.abc import Iterator
from dataclasses import replace
from hashlib import sha256
from typing import Literal

from callgate.words.noun import noun

ChangeKind = Literal["create", "replace", "delete", "rename", "mode", "nothing"]


@noun
class Stored:
    """Content that is too large for memory: its hash, its size and the file that holds it."""

    sha256: str
    size: int
    path: str


Content = bytes | Stored


def digest(data: Content | None) -> str | None:
    """The hash under which a file's content is compared; None stands for no file."""
    if data is None or isinstance(data, Stored):
        return None if data is None else data.sha256
    return sha256(data).hexdigest()


def size_of(data: Content) -> int:
    return data.size if isinstance(data, Stored) else len(data)


@noun
class FileChange:
    """One file before and after; None before creates it, None after deletes it.

    ``source`` is the old path of a file that is renamed to ``path``. ``mode`` are the permission bits it gets,
    ``mode_before`` those it must have now; None leaves them as they are and requires none. A ``link`` is a symbolic
    link; its contents are the paths it points to.
    """

    path: str
    before: Content | None
    after: Content | None
    source: str | None = None
    mode: int | None = None
    mode_before: int | None = None
    link: bool = False

    @property
    def kind(self) -> ChangeKind:
        if self.before is None:
            return "nothing" if self.after is None else "create"
        if self.after is None:
            return "delete"
        if self.source is not None:
            return "rename"
        if self.precondition != digest(self.after):
            return "replace"
        return "nothing" if self.mode in (None, self.mode_before) else "mode"

    @property
    def precondition(self) -> str | None:
        """The hash of what must be there when the change is applied."""
        return digest(self.before)

    @property
    def paths(self) -> tuple[str, ...]:
        """Every path it touches."""
        return (self.path,) if self.source is None else (self.source, self.path)

    @property
    def inverse(self) -> "FileChange":
        """The change that undoes it."""
        path, source = (self.path, None) if self.source is None else (self.source, self.path)
        return replace(
            self,
            path=path,
            source=source,
            before=self.after,
            after=self.before,
            mode=self.mode_before,
            mode_before=self.mode,
        )


@noun
class ChangeSet:
    """Changes that are applied together or not at all.

    ``id`` is the message and the call that made it; ``count`` the replacements, if the tool counted them; ``staged``
    its number in the history, if it waits there. ``made`` are the folders that applying it made; ``emptied`` those to
    be removed afterwards if nothing is left in them.
    """

    label: str
    files: tuple[FileChange, ...]
    tool: str = ""
    id: str = ""
    count: int | None = None
    staged: int | None = None
    made: tuple[str, ...] = ()
    emptied: tuple[str, ...] = ()

    @property
    def fingerprint(self) -> str:
        """The same for the same changes to the same files."""
        seen = sha256()
        for each in self.files:
            content = (digest(each.before), digest(each.after))
            row = (each.path, each.source, *content, each.mode, each.mode_before, each.link)
            seen.update(repr(row).encode("utf-8", "surrogatepass"))
        return seen.hexdigest()

    @property
    def paths(self) -> Iterator[str]:
        return (path for change in self.files for path in change.paths)

    @property
    def inverse(self) -> "ChangeSet":
        """The change set that undoes it, as long as nothing else has changed."""
        files = tuple(change.inverse for change in reversed(self.files))
        return ChangeSet(f"revert: {self.label}", files, self.tool, emptied=self.made)
