"""Names in the headers of unified diffs: quoted or not, with prefixes or without, and sides that do not exist."""

import re

from callgate.changes.patch.spot import Spot

QUOTED = re.compile(rb'"((?:[^"\\]|\\[abtnvfr"\\]|\\[0-3][0-7]{2})*)"')
ESCAPE = re.compile(rb'\\([abtnvfr"\\]|[0-3][0-7]{2})')
LETTERS = {b"a": b"\a", b"b": b"\b", b"t": b"\t", b"n": b"\n", b"v": b"\v", b"f": b"\f", b"r": b"\r"}
NULL = re.compile(rb"/dev/null(?:\s|$)")
STAMP = re.compile(rb"\t(1969-12-31|1970-01-01) ([0-2]\d):([0-5]\d):00(?:\.0+)? ([-+])([0-2]\d):?([0-5]\d)\r?$")
BACKUP = re.compile(rb"~|\.(?:orig|old|bak|new)")
DAY = 24 * 60

Prefixes = tuple[bytes, bytes]


def unquoted(text: bytes, spot: Spot) -> tuple[bytes, bytes]:
    """The name between the quotes that the text begins with, and the text after it."""
    found = QUOTED.match(text)
    if found is None:
        raise spot.fault("The quotes around the name are not right.", 'Quote it as git does: "a/tab\\there".')
    return ESCAPE.sub(_unescaped, found[1]), text[found.end() :]


def _unescaped(escape: re.Match[bytes]) -> bytes:
    what = escape[1]
    return bytes([int(what, 8)]) if len(what) == 3 else LETTERS.get(what, what)


def header_name(text: bytes, spot: Spot) -> bytes | None:
    """The name of a ``---`` or ``+++`` line, without the time after it; None for no file at all."""
    if text.startswith(b'"'):
        return unquoted(text, spot)[0]
    return None if NULL.match(text) else re.split(rb"[\t\r]", text, maxsplit=1)[0]


def of_the_epoch(text: bytes) -> bool:
    """The time after the name is the beginning of 1970, which is how diff says that there is no file."""
    found = STAMP.search(text)
    if found is None:
        return False
    zone = int(found[5]) * 60 + int(found[6])
    minutes = int(found[2]) * 60 + int(found[3]) - (zone if found[4] == b"+" else -zone)
    return minutes == (DAY if found[1].startswith(b"1969") else 0)


def git_names(text: bytes, spot: Spot) -> tuple[bytes, bytes] | None:
    """The two names after ``diff --git``; None where nobody could tell where the first one ends."""
    text = text.removesuffix(b"\r")
    if text.startswith(b'"'):
        old, rest = unquoted(text, spot)
        new = rest[1:]
        return old, (unquoted(new, spot)[0] if new.startswith(b'"') else new)
    if text.endswith(b'"') and b' "' in text:
        old, _, new = text.partition(b' "')
        return old, unquoted(b'"' + new, spot)[0]
    middle = len(text) // 2
    if text[middle : middle + 1] == b" " and shared(text[:middle], text[middle + 1 :]):
        return text[:middle], text[middle + 1 :]
    return None


def shared(old: bytes, new: bytes) -> tuple[bytes, Prefixes] | None:
    """The name both sides mean, and the prefixes that were before it; None if they mean different files."""
    if old == new:
        return old, (b"", b"")
    before, _, name = old.partition(b"/")
    after, _, same = new.partition(b"/")
    return (name, (before, after)) if name and name == same else None


def shorter(old: bytes, new: bytes) -> bytes | None:
    """Of ``file`` and its backup ``file.orig`` the first; None if neither is the backup of the other."""
    if old.startswith(b"a/") and new.startswith(b"b/"):
        old, new = old[2:], new[2:]
    first, second = sorted((old, new), key=len)
    return first if second.startswith(first) and BACKUP.fullmatch(second[len(first) :]) else None
