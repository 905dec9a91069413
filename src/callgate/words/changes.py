"""A change to files as data: what a person sees is what is applied."""

from hashlib import sha256

from callgate.words.noun import noun


def digest(data: bytes | None) -> str | None:
    """The hash under which a file's content is compared; None stands for no file."""
    return None if data is None else sha256(data).hexdigest()


@noun
class FileChange:
    """One file's bytes before and after; None before creates it, None after deletes it."""

    path: str
    before: bytes | None
    after: bytes | None

    @property
    def kind(self) -> str:
        if self.before is None:
            return "create"
        return "delete" if self.after is None else "replace"

    @property
    def precondition(self) -> str | None:
        """The hash of what must be there when the change is applied."""
        return digest(self.before)


@noun
class ChangeSet:
    """Changes that are applied together or not at all."""

    label: str
    files: tuple[FileChange, ...]
    tool: str = ""
