"""Converts messages to content blocks of the Anthropic Messages API, with cache breakpoints."""

import re
from collections.abc import Iterable, Sequence
from typing import Any, cast

from callgate.providers.anthropic_stream import NAME
from callgate.providers.content_pieces import ContentPiece, defined_in, pieces
from callgate.providers.family import ModelFacts
from callgate.providers.request_json import RequestMemo, Written, encode_json, safe_name
from callgate.words.messages import CallPart, Content, Message, Opaque, Part, ResultPart, Thinking
from callgate.words.model import CacheHints
from callgate.words.tool_search import SEARCH

Block = dict[str, Any]
IMAGES = ("image/jpeg", "image/png", "image/gif", "image/webp")
_MARKED = ("text", "image", "document", "tool_use", "tool_result")
_DATED = re.compile(r"[-@]\d{8}$")


_Piece = tuple[Block, bytes]
"""A block, which must not be changed, and its JSON."""
BlockMemo = RequestMemo[Message, list[_Piece]]


def _piece(block: Block) -> _Piece:
    return block, encode_json(block)


class _Content:
    def __init__(self, role: str, pieces: list[_Piece]) -> None:
        self.role = role
        self.pieces = pieces

    @property
    def first(self) -> Block:
        return self.pieces[0][0]

    def mark(self, size: int, control: Block) -> None:
        """Set a cache breakpoint on the last block that supports breakpoints, among the first ``size`` blocks."""
        at = next((at for at in reversed(range(size)) if self.pieces[at][0]["type"] in _MARKED), None)
        if at is not None:
            self.pieces[at] = _piece({**self.pieces[at][0], "cache_control": control})

    def written(self) -> Written:
        return Written(b'{"role":"%b","content":[%b]}' % (self.role.encode(), b",".join(b for _, b in self.pieces)))


class MessageBlocks:
    """The ``messages`` field of a request body.

    Consecutive messages of one role are merged, as the API requires. Texts that contain only white space are left out,
    because the API rejects them.

    thinks  True if thinking is enabled for this request; only then is earlier thinking sent
    loaded  the tools whose definitions are always in the request; search results do not refer to these tools
    """

    def __init__(
        self,
        messages: Sequence[Message],
        facts: ModelFacts,
        *,
        thinks: bool,
        memo: BlockMemo,
        loaded: frozenset[str] = frozenset(),
    ) -> None:
        self._facts = facts
        self._loaded = loaded
        self._thinks = thinks
        self._unanswered_server_calls = _unanswered_server_calls(messages)
        self._contents: list[_Content] = []
        self._ends: list[tuple[int, int]] = []
        found = memo.convert(messages, self._pieces, (facts, thinks, self._unanswered_server_calls, loaded))
        for message, made in zip(messages, found, strict=True):
            self._add("assistant" if message.role == "assistant" else "user", made)
            self._ends.append((len(self._contents), len(self._contents[-1].pieces) if self._contents else 0))
        if self._contents and self._contents[0].role == "assistant":
            self._contents.insert(0, _Content("user", [_piece({"type": "text", "text": "Go on."})]))
            self._ends = [(at + 1, size) for at, size in self._ends]

    @property
    def contents(self) -> list[Written]:
        return [content.written() for content in self._contents]

    @property
    def tool_names(self) -> list[str]:
        """The names of the tools that the messages call, without duplicates."""
        blocks = (block for content in self._contents for block, _ in content.pieces)
        return list(dict.fromkeys(block["name"] for block in blocks if block["type"] == "tool_use"))

    @property
    def thought_first(self) -> bool:
        """True unless the message with the pending calls begins without thinking. The API rejects a thinking budget
        for such a message."""
        answer = next((each for each in reversed(self._contents) if each.role == "assistant"), None)
        pending = bool(self._contents) and self._contents[-1].first["type"] == "tool_result"
        return not pending or answer is None or answer.first["type"] in ("thinking", "redacted_thinking")

    def mark(self, hints: CacheHints, control: Block) -> None:
        """Set a cache breakpoint after the last stable message, and another where the previous request ended. The
        server searches only about twenty blocks back from a breakpoint, and a message with many calls has more
        blocks."""
        count = len(self._ends) if hints.messages is None else min(hints.messages, len(self._ends))
        at, size = self._ends[count - 1] if count > 0 and not hints.off else (0, 0)
        if not at:
            return
        self._contents[at - 1].mark(size, control)
        before = next((content for content in reversed(self._contents[: at - 1]) if content.role == "user"), None)
        if before is not None:
            before.mark(len(before.pieces), control)

    def _add(self, role: str, pieces: Sequence[_Piece]) -> None:
        if not pieces:
            return
        if self._contents and self._contents[-1].role == role:
            self._contents[-1].pieces += pieces
        else:
            self._contents.append(_Content(role, [*pieces]))

    def _pieces(self, message: Message) -> list[_Piece]:
        return [_piece(block) for block in self._blocks(message)]

    def _blocks(self, message: Message) -> list[Block]:
        own = message.role == "assistant"
        blocks: list[Block] = []
        self._behind: list[Block] = []
        last: Block | None = None
        for part in message.parts:
            if isinstance(part, Opaque):
                if own and part.provider == NAME and isinstance(part.data, dict):
                    self._restore_opaque(part.data, message, last, blocks)
                continue
            last = self._thinking_block(part, message) if isinstance(part, Thinking) else self._block(part)
            if last is not None:
                blocks.append(last)
        return blocks + self._behind

    def _restore_opaque(self, data: Block, message: Message, last: Block | None, blocks: list[Block]) -> None:
        """Append a provider-specific block in its original position, or merge its fields into the preceding block."""
        kind = data.get("type")
        if kind is None:
            if last is not None and data.get("on") == "block":
                last.update({name: value for name, value in data.items() if name != "on"})
        elif data.get("id") in self._unanswered_server_calls:
            return
        elif self._accepts_thinking(message) or kind not in ("thinking", "redacted_thinking"):
            blocks.append(data)

    def _thinking_block(self, part: Thinking, message: Message) -> Block | None:
        if not part.signature or not self._accepts_thinking(message):
            return None
        return {"type": "thinking", "thinking": part.text, "signature": part.signature}

    def _accepts_thinking(self, message: Message) -> bool:
        family, _, model = (message.model or "").rpartition("/")
        ours = family == NAME or (not family and model.startswith("claude-"))
        bound = "own_thinking" in self._facts.quirks and _DATED.sub("", model) != _DATED.sub("", self._facts.name)
        return self._thinks and ours and not bound

    def _block(self, part: Part) -> Block | None:
        if isinstance(part, CallPart):
            return self._call(part)
        if isinstance(part, ResultPart):
            return self._result(part)
        return next(map(_piece_block, pieces((part,), self._facts, IMAGES)), None)

    def _call(self, call: CallPart) -> Block:
        block: Block = {"type": "tool_use", "id": safe_name(call.id, 64), "name": safe_name(call.name, 128)}
        block["input"] = call.written
        for data in _own_data((call.kept,)) if call.kept is not None else ():
            caller = data.get("caller")
            lost = isinstance(caller, dict) and cast("Block", caller).get("tool_id") in self._unanswered_server_calls
            block.update({name: value for name, value in data.items() if name != "caller" or not lost})
        return block

    def _result(self, result: ResultPart) -> Block:
        found, rest = self._tool_references(result)
        content = [block for block in map(self._block, rest) if block is not None]
        if found:  # a result with references must not contain other blocks
            self._behind += content
            content = found
        if result.is_error:  # the API accepts only text in failed results
            self._behind += [block for block in content if block["type"] != "text"]
            content = [block for block in content if block["type"] == "text"]
            content = content or [{"type": "text", "text": "It failed without a message."}]
        block: Block = {"type": "tool_result", "tool_use_id": safe_name(result.call_id, 64)}
        if content:
            block["content"] = content
        return {**block, "is_error": True} if result.is_error else block

    def _tool_references(self, result: ResultPart) -> tuple[list[Block], Sequence[Content]]:
        if result.name != SEARCH or not self._facts.abilities.deferred:
            return [], result.content
        specs, rest = defined_in(result)
        if any(spec.name in self._loaded for spec in specs):
            return [], result.content
        return [{"type": "tool_reference", "tool_name": spec.name} for spec in specs], rest


def _piece_block(piece: ContentPiece) -> Block | None:
    if piece.kind == "text":
        return {"type": "text", "text": piece.data} if piece.data.strip() else None
    source = {"type": "base64", "media_type": piece.media_type, "data": piece.data}
    if piece.kind == "image":
        return {"type": "image", "source": source}
    return {"type": "document", "source": source, **({"title": piece.uri} if piece.uri else {})}


def container(messages: Sequence[Message]) -> str | None:
    """Return the id of the server-side container that the model's last message used; None if it used none."""
    last = next((message for message in reversed(messages) if message.role == "assistant"), None)
    for data in () if last is None else _own_data(last.parts):
        found = data.get("container")
        if data.get("on") == "message" and isinstance(found, dict):
            name = cast("Block", found).get("id")
            return name if isinstance(name, str) else None
    return None


def _own_data(parts: Iterable[Part]) -> list[Block]:
    opaque = (part for part in parts if isinstance(part, Opaque) and part.provider == NAME)
    return [part.data for part in opaque if isinstance(part.data, dict)]


def _unanswered_server_calls(messages: Sequence[Message]) -> frozenset[str]:
    """Return the ids of server-side calls without a result.

    The API rejects a conversation in which a user message follows such a call. If only results of client-side tools
    follow, the server still processes the call.
    """
    called: set[str] = set()
    lost: set[str] = set()
    for message in messages:
        if message.role == "user":
            lost |= called
            called.clear()
        for data in _own_data(message.parts) if message.role == "assistant" else ():
            kind, name, of = data.get("type"), data.get("id"), data.get("tool_use_id")
            if isinstance(kind, str) and kind.endswith("_tool_use") and isinstance(name, str):
                called.add(name)
            if isinstance(of, str):
                called.discard(of)
    return frozenset(lost)
