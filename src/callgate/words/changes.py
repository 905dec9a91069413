"""Changes of files as values, which can be previewed, applied, stored and reverted."""

from collections.abc import Iterator
from dataclasses import replace
from hashlib import sha256
from typing import Literal

from callgate.words.noun import noun

ChangeKind = Literal["create", "replace", "delete", "rename", "mode", "nothing"]


@noun
class Stored:
    """A reference to a file with content that is too large for memory: hash, size and path."""

    sha256: str
    size: int
    path: str


Content = bytes | Stored


def digest(data: Content | None) -> str | None:
    """Return the hash of a file content; None for a missing file."""
    if data is None or isinstance(data, Stored):
        return None if data is None else data.sha256
    return sha256(data).hexdigest()


def size_of(data: Content) -> int:
    return data.size if isinstance(data, Stored) else len(data)


@noun
class FileChange:
    """The change of one file.

    before       the content before the change; None if the file does not exist
    after        the content after the change; None if the file is deleted
    source       the old path of a file that is renamed to ``path``
    mode         the new permission bits; None keeps the permission bits
    mode_before  the permission bits that the file must have when the change is applied; None allows any
    link         the file is a symbolic link; ``before`` and ``after`` are link targets
    owner        the ids of the user and the group of a created file; None for the user that applies the change
    owner_before the ids of the user and the group of the file before the change, if known
    """

    path: str
    before: Content | None
    after: Content | None
    source: str | None = None
    mode: int | None = None
    mode_before: int | None = None
    link: bool = False
    owner: tuple[int, int] | None = None
    owner_before: tuple[int, int] | None = None

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
        """The hash of the content that the file must have when the change is applied."""
        return digest(self.before)

    @property
    def paths(self) -> tuple[str, ...]:
        """The paths that the change reads or writes."""
        return (self.path,) if self.source is None else (self.source, self.path)

    @property
    def inverse(self) -> "FileChange":
        """The change that reverts this change."""
        path, source = (self.path, None) if self.source is None else (self.source, self.path)
        return replace(
            self,
            path=path,
            source=source,
            before=self.after,
            after=self.before,
            mode=self.mode_before,
            mode_before=self.mode,
            owner=self.owner_before,
            owner_before=self.owner,
        )


@noun
class ChangeSet:
    """Changes of files that are applied together or not at all.

    id       the ids of the message and of the call that made the changes
    count    the number of replacements, if the tool counted them
    staged   the number of the staged change in the history
    made     folders that were created when the changes were applied
    emptied  folders that are removed after the changes if they are empty
    notes    effects of applying the changes that the user must know
    """

    label: str
    files: tuple[FileChange, ...]
    tool: str = ""
    id: str = ""
    count: int | None = None
    staged: int | None = None
    made: tuple[str, ...] = ()
    emptied: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def fingerprint(self) -> str:
        """The hash of all changes. Two change sets with equal changes have the same hash."""
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
        """The changes that revert these changes, if the files were not changed again."""
        files = tuple(change.inverse for change in reversed(self.files))
        return ChangeSet(f"revert: {self.label}", files, self.tool, emptied=self.made)
