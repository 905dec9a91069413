"""Parses the lines of a Claude Code transcript and finds the conversation in them.

Lines with a ``uuid`` form a tree by ``parentUuid``. The conversation is the path from the newest message to the root.
"""

from base64 import b64decode
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from hashlib import sha256
from json import dumps, loads
from math import isfinite
from typing import Any, cast

from callgate.transcript.share.plain import scrub
from callgate.words.messages import CallPart, Content, Image, Opaque, Part, Resource, ResultPart, Text, Thinking, Usage
from callgate.words.model import StopReason
from callgate.words.noun import noun

DEEPEST = 100
"""The maximum nesting depth; other programs may parse the result recursively."""


@noun
class ClaudeLine:
    """One line of a Claude Code transcript. ``at`` is the time of the line; if the line has no time, the time of the
    previous line."""

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
        """True for a line of the user or the model in the conversation."""
        return self.type in ("user", "assistant") or self.is_boundary

    @property
    def is_boundary(self) -> bool:
        return self.type == "system" and self.data.get("subtype") == "compact_boundary"

    @property
    def is_summary(self) -> bool:
        return self.type == "user" and self.data.get("isCompactSummary") is True

    def text(self, key: str) -> str:
        return text_of(self.data.get(key))

    def blocks(self) -> list[Any]:
        content = self.message.get("content")
        if isinstance(content, str):
            return [{"type": "text", "text": content}]
        return cast(list[Any], content) if isinstance(content, list) else []


def parse(lines: Iterable[bytes]) -> tuple[list[ClaudeLine], list[str]]:
    """Return the lines of a transcript in file order, and descriptions of unreadable lines. Lone surrogates are
    replaced."""
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
    """Return for each line the index of its parent.

    If several lines have the ``uuid`` of the parent, the latest of these lines is the parent. If no line has it, the
    previous message is the parent, so that no history is lost.
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
            # An early version wrote summaries without a boundary; they follow the messages they summarize.
            follows = line.is_boundary or line.is_summary or not line.uuid
            out.append(before if follows else None)
        if line.uuid:
            latest[line.uuid] = i
            if line.speaks:
                before = i
    return out


def live_chain(lines: Sequence[ClaudeLine], follows: Sequence[int | None]) -> list[int]:
    """Return the indexes of the lines from the root to the last message of the file. If parents form a cycle, the
    path continues with the message before the cycle in the file, so that no history is lost."""
    at = next((i for i in reversed(range(len(lines))) if lines[i].uuid and lines[i].speaks), None)
    chain: list[int] = []
    seen: set[int] = set()
    while at is not None:
        seen.add(at)
        chain.append(at)
        at = follows[at]
        if at in seen:
            first = min(seen)
            at = next((i for i in reversed(range(first)) if lines[i].uuid and lines[i].speaks), None)
    return chain[::-1]


PROVIDER = "anthropic"

STOPS: dict[str, StopReason] = {
    "max_tokens": "max_tokens",
    "refusal": "refusal",
    "model_context_window_exceeded": "context_full",
}


def text_of(value: object) -> str:
    return value if isinstance(value, str) else ""


def kind(block: object) -> str:
    return text_of(cast(dict[str, Any], block).get("type")) if isinstance(block, dict) else ""


def parts(blocks: Iterable[Any]) -> tuple[Part, ...]:
    """Return the blocks of a message as parts, without empty texts and results."""
    read = (_part(block) for block in blocks if kind(block) != "tool_result")
    return tuple(part for part in read if part != Text(""))


def call_part(block: dict[str, Any], call_id: str) -> CallPart:
    name, given = text_of(block.get("name")) or "unknown", block.get("input")
    if isinstance(given, dict):
        return CallPart(call_id, name, cast(dict[str, Any], given))
    raw = given if isinstance(given, str) else None if given is None else dumps(given)
    return CallPart(call_id, name, {}, raw)


def result_part(call: CallPart, block: dict[str, Any] | None) -> ResultPart:
    found = None if block is None else block.get("content")
    blocks = cast(list[Any], found) if isinstance(found, list) else [] if found is None else [found]
    is_error = block is not None and block.get("is_error") is True
    return ResultPart(call.id, call.name, tuple(map(_content, blocks)), is_error)


def usage(given: object) -> Usage | None:
    if not isinstance(given, dict):
        return None
    counts = cast(dict[str, Any], given)

    def count(key: str) -> int:
        value = counts.get(key)
        return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0

    return Usage(
        count("input_tokens"),
        count("cache_read_input_tokens"),
        count("cache_creation_input_tokens"),
        count("output_tokens"),
    )


def _part(block: Any) -> Part:
    if isinstance(block, str):
        return Text(block)
    if not isinstance(block, dict):
        return Opaque(PROVIDER, {"value": block})
    data = cast(dict[str, Any], block)
    match data:
        case {"type": "text", "text": str(text)}:
            return Text(text)
        case {"type": "thinking", "thinking": str(text)}:
            return Thinking(text, text_of(data.get("signature")) or None)
        case {"type": "image" | "document", "source": dict()}:
            return _sourced(data) or Opaque(PROVIDER, data)
        case _:
            return Opaque(PROVIDER, data)


def _content(block: Any) -> Content:
    read = _part(block)
    return read if isinstance(read, Text | Image | Resource) else Text(dumps(block, ensure_ascii=False))


def _sourced(block: dict[str, Any]) -> Content | None:
    uri = text_of(block.get("title"))
    match block["source"]:
        case {"type": "base64", "media_type": str(media_type), "data": str(text)}:
            try:
                data = b64decode(text, validate=True)
            except ValueError:
                return None
            return Image(media_type, data) if block["type"] == "image" else Resource(uri, None, data, media_type)
        case {"type": "text", "data": str(text)}:
            return Resource(uri, text, None, "text/plain")
        case {"type": "url", "url": str(address)}:
            return Resource(address)
        case _:
            return None
