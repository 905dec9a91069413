"""ChangeSets from patches: unified diffs, plain and git's, and the form that begins with ``*** Begin Patch``."""

from codecs import BOM_UTF8
from collections.abc import Callable, Sequence

from callgate.changes.patch.begin import FENCE, Operation, is_begun, read_operations
from callgate.changes.patch.chunks import rewritten
from callgate.changes.patch.drafts import Section
from callgate.changes.patch.image import patched
from callgate.changes.patch.seek import Effort
from callgate.changes.patch.spot import Names, Spot
from callgate.changes.patch.unified import read_sections
from callgate.words.changes import ChangeSet, FileChange

Read = Callable[[str], bytes | None]


def from_patch(text: str | bytes, read: Read, label: str = "", tool: str = "") -> ChangeSet:
    """What the patch would do to the files that ``read`` gives the bytes of; None stands for no file.

    A ToolFailure says what is wrong, in which line of the patch, and what to do about it; nothing else is raised, but
    for what ``read`` raises. The work is bounded, whatever the patch is.
    """
    lines = _lines(text)
    first = _first(lines)
    names = Names()
    effort = Effort()
    if is_begun(lines[first]):
        files = tuple(_operated(each, read, names, effort) for each in read_operations(lines, first))
    else:
        files = tuple(_sectioned(each, read, names, effort) for each in read_sections(lines))
    return ChangeSet(label or f"patch {_told(files)}", files, tool)


def _told(files: tuple[FileChange, ...]) -> str:
    return files[0].path if len(files) == 1 else f"{len(files)} files"


def _lines(text: str | bytes) -> list[bytes]:
    if isinstance(text, str):
        try:
            text = text.encode("utf-8", "surrogateescape")
        except UnicodeEncodeError as error:
            line = text.count("\n", 0, error.start) + 1
            raise Spot(line).fault("Half a character, which no file can hold.", "Write the character whole.") from None
    lines = text.removeprefix(BOM_UTF8).split(b"\n")
    # The newline at the very end is easily lost, and means nothing.
    return lines[:-1] if len(lines) > 1 and not lines[-1] else lines


def _first(lines: Sequence[bytes]) -> int:
    """Where the patch begins: after empty lines, and after the fence of a block of code."""
    for at, line in enumerate(lines):
        if line.strip() and not line.startswith(FENCE):
            return at
    raise Spot(1).fault("The patch is empty.", "Write a unified diff, or the form that begins with `*** Begin Patch`.")


def _operated(operation: Operation, read: Read, names: Names, effort: Effort) -> FileChange:
    path, line = operation.path, operation.line
    names.take(path, line)
    data = read(path)
    if operation.deed == "Add":
        _absent(data, Spot(line, path), "To change it, write `*** Update File`.")
        return FileChange(path, None, operation.data)
    data = _present(data, Spot(line, path), "To make it, write `*** Add File`.")
    if operation.deed == "Delete":
        return FileChange(path, data, None)
    if operation.move is not None:
        names.take(operation.move[1], operation.move[0])
        _absent(read(operation.move[1]), Spot(*operation.move), "Delete it first, or choose another name.")
    after = rewritten(data, operation.chunks, path, effort)
    if operation.move is None:
        return FileChange(path, data, after)
    return FileChange(operation.move[1], data, after, source=path)


def _sectioned(section: Section, read: Read, names: Names, effort: Effort) -> FileChange:
    old, new, spot = section.old, section.new, Spot(section.line, section.new)
    names.take(new, section.line)
    if section.deed == "rename":
        names.take(old, section.line)
    data = read(old)
    if section.deed in ("rename", "copy"):
        _absent(read(new), spot, "Delete it first, or choose another name.")
    if section.deed == "create":
        _absent(data, spot, "To change it, name it on both sides instead of /dev/null.")
    creates = section.deed == "create" or (section.deed == "either" and _may_be_new(section) and data is None)
    found = b"" if creates else _present(data, Spot(section.line, old), "To make it, write `--- /dev/null`.")
    after = patched(found, section.hunks, new, effort)
    if section.deed == "delete":
        if after:
            raise spot.fault("The file would be deleted, but not all its lines are in the patch.", "Give all of them.")
        return FileChange(old, found, None)
    before = None if creates or section.deed == "copy" else found
    return FileChange(new, before, after, old if section.deed == "rename" else None, section.mode)


def _may_be_new(section: Section) -> bool:
    return len(section.hunks) == 1 and not section.hunks[0].old


def _absent(data: bytes | None, spot: Spot, then: str) -> None:
    if data is not None:
        raise spot.fault("The file exists already.", then)


def _present(data: bytes | None, spot: Spot, then: str) -> bytes:
    if data is None:
        raise spot.fault("There is no such file.", f"Check the path. {then}")
    return data
