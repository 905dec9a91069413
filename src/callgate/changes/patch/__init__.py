"""Makes a ChangeSet from a patch, for the tool ApplyPatch: a unified diff or the ``*** Begin Patch`` format.

``begin_patch`` and ``unified_diff`` parse the two formats; ``placement`` has the types of a parsed patch, and applies
its lines to the files.
"""

from codecs import BOM_UTF8, BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Callable

from callgate.changes.patch.begin_patch import FENCE, is_begun, read_begun
from callgate.changes.patch.placement import Effort, FilePatch, fault, patched
from callgate.changes.patch.unified_diff import read_unified
from callgate.changes.text import read_text, write_text
from callgate.words.changes import ChangeSet, FileChange
from callgate.words.errors import ToolFailure

Read = Callable[[str], bytes | None]


def from_patch(text: str | bytes, read: Read) -> ChangeSet:
    """Return the ChangeSet made from a patch. ``read`` returns the bytes of a file, or None if the file does not exist.
    Raise ToolFailure with the fault, its line in the patch and what to do next; other exceptions are raised only by
    ``read``. The time is bounded for any patch."""
    effort, used = Effort(), dict[str, int]()
    files = tuple(_change(each, read, used, effort) for each in _parsed(text))
    named = files[0].path if len(files) == 1 else f"{len(files)} files"
    return ChangeSet(f"patch {named}", files)


def patch_paths(text: str) -> tuple[str, ...]:
    """Return the paths that a patch names, in order; none if the patch cannot be parsed."""
    try:
        found = _parsed(text)
    except ToolFailure:
        return ()
    return tuple(path for each in found for path in (each.path, each.target) if path is not None)


def _parsed(text: str | bytes) -> list[FilePatch]:
    lines = _lines(text)
    first = next((at for at, line in enumerate(lines) if line.strip() and not line.startswith(FENCE)), None)
    if first is None:
        raise fault(1, "", "The patch is empty. Write a unified diff, or begin with `*** Begin Patch`.")
    return read_begun(lines, first) if is_begun(lines[first]) else read_unified(lines)


def _lines(text: str | bytes) -> list[bytes]:
    if isinstance(text, str):
        try:
            text = text.encode("utf-8", "surrogateescape")
        except UnicodeEncodeError as error:
            line = text.count("\n", 0, error.start) + 1
            told = "The text contains half of a character (a lone surrogate). Write the whole character."
            raise fault(line, "", told) from None
    lines = text.removeprefix(BOM_UTF8).split(b"\n")
    # A missing newline at the end has no meaning.
    return lines[:-1] if len(lines) > 1 and not lines[-1] else lines


def _change(patch: FilePatch, read: Read, used: dict[str, int], effort: Effort) -> FileChange:
    path, line = patch.path, patch.line
    for name in (path,) if patch.target is None else (path, patch.target):
        if name in used:
            told = f"The file is used twice: line {used[name]} of the patch names it too."
            raise fault(line, name, f"{told} Put all changes of a file into one section.")
        used[name] = line
    data = read(path)
    adds_only = len(patch.chunks) == 1 and all(each.sign == b"+" for each in patch.chunks[0].lines)
    if patch.action == "create" or (patch.action == "either" and data is None and adds_only):
        if data is not None:
            raise fault(line, path, "The file already exists. To change it, patch it instead of adding it.")
        made = patched(b"", patch.chunks, path, effort) if patch.data is None else patch.data
        return FileChange(path, None, made, mode=patch.mode)
    if data is None:
        raise fault(line, path, "The file does not exist. Check the path, or add the file with all its lines.")
    if patch.target is not None and read(patch.target) is not None:
        raise fault(line, patch.target, "The file already exists. Choose another name, or delete it.")
    after = _patched(data, patch, effort)
    if patch.action == "delete":
        if after and patch.chunks:
            raise fault(line, path, "The file would be deleted, but not all its lines are in the patch. Give them all.")
        return FileChange(path, data, None)
    source = path if patch.target else None
    return FileChange(path=patch.target or path, before=data, after=after, source=source, mode=patch.mode)


def _patched(data: bytes, patch: FilePatch, effort: Effort) -> bytes:
    """Return the bytes of a file after the patch. A file with a UTF-16 mark is decoded and patched as text; if that
    fails, its bytes are patched, as by git."""
    read = read_text(data) if data.startswith((BOM_UTF16_LE, BOM_UTF16_BE)) else None
    if read is None:
        return patched(data, patch.chunks, patch.path, effort)
    text, form = read
    try:
        now = patched(text.encode(), patch.chunks, patch.path, effort).decode()
        return write_text(now, form) if now else b""
    except (ToolFailure, UnicodeError) as failure:
        try:
            return patched(data, patch.chunks, patch.path, effort)
        except ToolFailure as other:
            raise failure if isinstance(failure, ToolFailure) else other from None
