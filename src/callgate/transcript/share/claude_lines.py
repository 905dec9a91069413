"""Lines of a Claude Code transcript, and which of them are the conversation.

Lines with a ``uuid`` form a tree by ``parentUuid``. The conversation is the way from the newest message to the root;
what was tried and left stays in the file beside it.
"""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from hashlib import sha256
from json import dumps, loads
from math import isfinite
from typing import Any, cast

from callgate.transcript.share.plain import scrub
from callgate.words.noun import noun

DEEPEST = 100
"""Nothing a model writes is nested this deeply, and whoever reads it on may be recursive."""


@noun
class ClaudeLine:
    """One entry as it stands in the file; ``at`` is its own time or, without one, that of the line before."""

    number: int
    at: float
    data: dict[str, Any]

    @property
    def type(self) -> str:
        return self.text("type")

    @property
    def uuid(self) -> str:
        return self.text("uuid")

    @property
    def message(self) -> dict[str, Any]:
        found = self.data.get("message")
        return cast(dict[str, Any], found) if isinstance(found, dict) else {}

    @property
    def speaks(self) -> bool:
        """True if it can move the conversation on."""
        return self.type in ("user", "assistant") or self.is_boundary

    @property
    def is_boundary(self) -> bool:
        return self.type == "system" and self.data.get("subtype") == "compact_boundary"

    @property
    def is_summary(self) -> bool:
        return self.type == "user" and self.data.get("isCompactSummary") is True

    def text(self, key: str) -> str:
        """The string under this key, or an empty one."""
        found = self.data.get(key)
        return found if isinstance(found, str) else ""

    def blocks(self) -> list[Any]:
        """The content of its message; a plain string is one block of text."""
        content = self.message.get("content")
        if isinstance(content, str):
            return [{"type": "text", "text": content}]
        return cast(list[Any], content) if isinstance(content, list) else []


def parse(lines: Iterable[bytes]) -> tuple[list[ClaudeLine], list[str]]:
    """The entries in file order, and in words what could not be read. Lone surrogates in texts are replaced."""
    found: list[tuple[int, float | None, dict[str, Any]]] = []
    skipped: list[str] = []
    seen: dict[bytes, int] = {}
    for number, raw in enumerate(lines, start=1):
        if not raw.strip():
            continue
        entry = _entry(raw)
        if isinstance(entry, str):
            skipped.append(f"line {number}: {entry}")
        elif entry.get("uuid") and (earlier := seen.setdefault(sha256(raw.strip()).digest(), number)) != number:
            skipped.append(f"line {number}: the same as line {earlier}")
        else:
            found.append((number, _time(entry.get("timestamp")), entry))
    at = next((time for _, time, _ in found if time is not None), 0.0)
    parsed: list[ClaudeLine] = []
    for number, time, entry in found:
        at = at if time is None else time
        parsed.append(ClaudeLine(number, at, entry))
    return parsed, skipped


def _entry(raw: bytes) -> dict[str, Any] | str:
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        return "not UTF-8"
    try:
        entry = loads(text, parse_float=_number, parse_constant=str)
        if b"\\u" in raw:
            entry = loads(scrub(dumps(entry, ensure_ascii=False)))
    except ValueError:
        return "not JSON"
    except RecursionError:
        return "nested too deeply"
    if not isinstance(entry, dict):
        return "not an object"
    if raw.count(b"[") + raw.count(b"{") > DEEPEST and _too_deep(cast(object, entry)):
        return "nested too deeply"
    return cast(dict[str, Any], entry)


def _number(text: str) -> float | str:
    value = float(text)
    return value if isfinite(value) else text


def _too_deep(value: object) -> bool:
    level = [value]
    for _ in range(DEEPEST):
        inner: list[object] = []
        for item in level:
            if isinstance(item, dict):
                inner += cast(dict[str, object], item).values()
            elif isinstance(item, list):
                inner += cast(list[object], item)
        level = inner
    return bool(level)


def _time(stamp: object) -> float | None:
    if not isinstance(stamp, str):
        return None
    try:
        moment = datetime.fromisoformat(stamp)
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        return None


def parents(lines: Sequence[ClaudeLine]) -> list[int | None]:
    """For each line the position of the one it follows.

    A line repeated under one ``uuid`` is followed in its latest form. A parent that is not there is taken to be the
    message before, so that no history disappears.
    """
    first: dict[str, int] = {}
    for i, line in enumerate(lines):
        first.setdefault(line.uuid, i)
    latest: dict[str, int] = {}
    before: int | None = None
    out: list[int | None] = []
    for i, line in enumerate(lines):
        wanted = line.text("parentUuid") or line.text("logicalParentUuid")
        if wanted:
            found = latest.get(wanted, first.get(wanted))
            out.append(before if found is None or found == i else found)
        else:
            # An early version wrote summaries without a boundary; they too follow what they sum up.
            follows = line.is_boundary or line.is_summary or not line.uuid
            out.append(before if follows else None)
        if line.uuid:
            latest[line.uuid] = i
            if line.speaks:
                before = i
    return out


def live_chain(lines: Sequence[ClaudeLine], follows: Sequence[int | None]) -> list[int]:
    """Positions of the conversation, oldest first: back from the last message of the file."""
    at = next((i for i in reversed(range(len(lines))) if lines[i].uuid and lines[i].speaks), None)
    chain: list[int] = []
    seen: set[int] = set()
    while at is not None and at not in seen:
        seen.add(at)
        chain.append(at)
        at = follows[at]
    return chain[::-1]
