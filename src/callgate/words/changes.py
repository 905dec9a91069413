"""A change to files as data: what a person sees is what is applied."""

from collections.abc import Iterator
from dataclasses import replace
from hashlib import sha256
from typing import Literal

from callgate.words.noun import noun

ChangeKind = Literal["create", "replace", "delete", "rename", "mode", "nothing"]


@noun
class Stored:
    """Content that is too large to carry along: what it is, and the file that holds it."""

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

    ``source``: the file was there before, and goes by ``path`` afterwards. ``mode`` are the permission bits it gets,
    ``mode_before`` those it must have now; None leaves them as they are, and asks for none. ``link``: it is a symbolic
    link, and the contents are the texts it leads to.
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
        """Every place it touches."""
        return (self.path,) if self.source is None else (self.source, self.path)

    @property
    def inverse(self) -> "FileChange":
        """What takes it back."""
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
    """Changes that are applied together or not at all. ``id`` is what it goes by once it is kept; ``count`` is how many
    replacements a tool made in it, if it counted them; ``staged`` is its number in the history, if it waits there."""

    label: str
    files: tuple[FileChange, ...]
    tool: str = ""
    id: str = ""
    count: int | None = None
    staged: int | None = None

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
        """What takes all of it back, as long as nothing else has changed."""
        files = tuple(change.inverse for change in reversed(self.files))
        return ChangeSet(f"revert: {self.label}", files, self.tool)
