"""Files in memory, patches applied to them, and the smallest possible writers of patches."""

from collections.abc import Iterator, Mapping
from difflib import SequenceMatcher

import pytest

from callgate.changes.patch import from_patch
from callgate.words.changes import ChangeSet
from callgate.words.errors import ToolFailure

NO_NEWLINE = b"\\ No newline at end of file\n"


def change_set(text: str | bytes, files: Mapping[str, bytes]) -> ChangeSet:
    return from_patch(text, files.get)


def after(text: str | bytes, files: Mapping[str, bytes]) -> dict[str, bytes]:
    """The files as they are once the patch is applied."""
    result = dict(files)
    for change in change_set(text, files).files:
        assert change.before == files.get(change.source or change.path)
        if change.source is not None:
            del result[change.source]
        if change.after is None:
            del result[change.path]
        else:
            assert isinstance(change.after, bytes)
            result[change.path] = change.after
    return result


def refused(text: str | bytes, files: Mapping[str, bytes]) -> str:
    """What the patch is refused with; it says where, and what to do next."""
    with pytest.raises(ToolFailure) as caught:
        change_set(text, files)
    message = str(caught.value)
    assert "of the patch: " in message
    assert message.endswith(".")
    return message


def split(data: bytes) -> list[bytes]:
    return [line + b"\n" for line in data.split(b"\n")[:-1]] + ([rest] if (rest := data.split(b"\n")[-1]) else [])


def unified(before: bytes, now: bytes, context: int = 3) -> bytes:
    """The hunks that lead from one to the other."""
    old, new = split(before), split(now)
    out: list[bytes] = []
    matcher = SequenceMatcher(None, old, new, autojunk=False)
    for group in matcher.get_grouped_opcodes(context):
        first, last = group[0], group[-1]
        out.append(b"@@ -%s +%s @@\n" % (_range(first[1], last[2]), _range(first[3], last[4])))
        for tag, i, j, k, m in group:
            if tag == "equal":
                out += _signed(b" ", old[i:j])
            else:
                out += _signed(b"-", old[i:j])
                out += _signed(b"+", new[k:m])
    return b"".join(out)


def _range(start: int, end: int) -> bytes:
    return b"%d,%d" % (start + (end > start), end - start)


def _signed(sign: bytes, lines: list[bytes]) -> Iterator[bytes]:
    for line in lines:
        yield sign + line if line.endswith(b"\n") else sign + line + b"\n" + NO_NEWLINE


def begun(before: bytes, now: bytes, context: int = 2**31) -> bytes:
    """The chunks that lead from one to the other."""
    old, new = before.splitlines(), now.splitlines()
    out: list[bytes] = []
    for group in SequenceMatcher(None, old, new, autojunk=False).get_grouped_opcodes(context):
        out.append(b"@@")
        for tag, i, j, k, m in group:
            if tag == "equal":
                out += [b" " + line for line in old[i:j]]
            else:
                out += [b"-" + line for line in old[i:j]] + [b"+" + line for line in new[k:m]]
    return b"*** Begin Patch\n*** Update File: f\n%s\n*** End Patch\n" % b"\n".join(out)
