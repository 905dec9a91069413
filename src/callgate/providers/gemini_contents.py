"""Converts messages to contents of the Gemini API."""

import re
from collections.abc import Sequence
from typing import Any, cast

from callgate.providers.content_pieces import pieces
from callgate.providers.family import ModelFacts
from callgate.providers.gemini_stream import NAME
from callgate.providers.request_json import RequestMemo, Written, encode_json, safe_name
from callgate.words.messages import CallPart, Message, Opaque, Part, ResultPart, Thinking
from callgate.words.model import ToolSpec

Given = dict[str, Any]
IMAGES = ("image/jpeg", "image/png", "image/webp", "image/heic", "image/heif")
NO_SIGNATURE = "skip_thought_signature_validator"
"""The value that the API accepts as the signature of a call that another model made or that lost its signature."""
_OLD = re.compile(r"(models/)?(gemini-[12]\b|gemma|learnlm)")


def is_old(facts: ModelFacts) -> bool:
    """Return True for models before Gemini 3: their calls need no signatures, their results contain no images, and
    their requests cannot have both a schema and tools."""
    return _OLD.match(facts.name) is not None


_Piece = tuple[Given, bytes]
"""A part, which must not be changed, and its JSON."""
_Pieces = tuple[list[_Piece], list[tuple[str, CallPart | None]]]
"""The parts of a message, and the calls whose results they contain."""


class ContentsMemo:
    """A cache of the JSON of the messages and tools in a model's last request."""

    def __init__(self) -> None:
        self.parts = RequestMemo[Message, _Pieces]()
        self.calls = RequestMemo[Message, Sequence[CallPart]]()
        self.tools = RequestMemo[ToolSpec, bytes]()


def _calls(message: Message) -> Sequence[CallPart]:
    return message.calls


def _with_signature(pieces: list[_Piece], at: int) -> list[_Piece]:
    """Return the parts. If the call at index ``at``, the first call of an answer, has no signature, add a
    placeholder, because the API requires a signature."""
    part, _ = pieces[at]
    if "thoughtSignature" in part:
        return pieces
    part = {**part, "thoughtSignature": NO_SIGNATURE}
    return [*pieces[:at], (part, encode_json(part)), *pieces[at + 1 :]]


class Contents:
    """The ``contents`` field of a request body. Consecutive messages of one role are merged, but results are not
    merged with user text, because the API compares the number of results with the number of calls before them."""

    def __init__(self, messages: Sequence[Message], facts: ModelFacts, memo: ContentsMemo) -> None:
        self._facts = facts
        self._old = is_old(facts)
        calls = memo.calls.convert(messages, _calls)
        self._calls = {call.id: call for each in calls for call in each}
        signs = not self._old and facts.thinking != "none"
        self.contents: list[Written] = []
        before, signed = "", False
        pieces: list[bytes] = []
        for message, found in zip(messages, self._message_parts(messages, facts, memo), strict=True):
            if not found:
                continue
            if message.role != before:
                self._add(before, pieces)
                before, signed, pieces = message.role, not signs, []
            call = None if signed else next((at for at, (part, _) in enumerate(found) if "functionCall" in part), None)
            if call is not None:
                signed, found = True, _with_signature(found, call)
            pieces += [data for _, data in found]
        self._add(before, pieces)

    def _message_parts(self, messages: Sequence[Message], facts: ModelFacts, memo: ContentsMemo) -> list[list[_Piece]]:
        made = memo.parts.convert(messages, self._pieces, facts)
        found: list[list[_Piece]] = []
        for message, (parts, calls) in zip(messages, made, strict=True):
            same = all(self._calls.get(name) is call for name, call in calls)
            found.append(parts if same else self._pieces(message)[0])
        return found

    def _add(self, role: str, pieces: list[bytes]) -> None:
        if not pieces:
            return
        if role == "assistant" and not self.contents:
            self.contents.append(Written(encode_json({"role": "user", "parts": [{"text": "Go on."}]})))
        name = b"model" if role == "assistant" else b"user"
        self.contents.append(Written(b'{"role":"%b","parts":[%b]}' % (name, b",".join(pieces))))

    def _pieces(self, message: Message) -> _Pieces:
        answered = [part.call_id for part in message.parts if isinstance(part, ResultPart)]
        parts = [(part, encode_json(part)) for part in self._parts(message)]
        return parts, [(name, self._calls.get(name)) for name in answered]

    def _parts(self, message: Message) -> list[Given]:
        parts: list[Given] = []
        images: list[Given] = []
        for part in message.parts:
            match part:
                case Opaque(provider, data) if provider == NAME and isinstance(data, dict):
                    if message.role == "assistant":
                        _restore_opaque(data, parts)
                case Thinking(text, signature) if signature and (message.model or "").startswith(f"{NAME}/"):
                    parts.append({"text": text, "thought": True, "thoughtSignature": signature})
                case CallPart():
                    parts.append(self._call(part))
                case ResultPart():
                    parts.append(self._result(part, images))
                case _:
                    parts += self._content_parts((part,))
        return parts + images

    def _content_parts(self, content: Sequence[Part]) -> list[Given]:
        return [
            {"text": piece.data}
            if piece.kind == "text"
            else {"inlineData": {"mimeType": piece.media_type, "data": piece.data}}
            for piece in pieces(content, self._facts, IMAGES)
        ]

    def _call(self, call: CallPart) -> Given:
        kept = _own_data(call)
        own = kept.get("functionCall")
        made = {**(cast("Given", own) if isinstance(own, dict) else {}), "name": _name(call.name)}
        others = {name: value for name, value in kept.items() if name != "functionCall"}
        return {"functionCall": {**made, "args": call.written}, **others}

    def _result(self, result: ResultPart, images: list[Given]) -> Given:
        """Convert a result, with the name and id of its call. The images are included in the result, or appended to
        ``images`` for old models."""
        call = self._calls.get(result.call_id)
        own: Any = None if call is None else _own_data(call).get("functionCall")
        answer: Given = {"id": own["id"]} if isinstance(own, dict) and "id" in own else {}
        answer["name"] = _name(result.name if call is None else call.name)
        texts: list[str] = []
        media: list[Given] = []
        for content in self._content_parts(result.content):
            texts += [content["text"]] if "text" in content else []
            media += [content] if "text" not in content else []
        answer["response"] = {"error" if result.is_error else "output": "\n".join(texts)}
        if media and not self._old:
            answer["parts"] = media
        elif media:
            images += media
        return {"functionResponse": answer}


def _name(name: str) -> str:
    safe = safe_name(name, 127)
    return safe if safe[0].isalpha() or safe[0] == "_" else f"_{safe}"


def _own_data(call: CallPart) -> Given:
    kept = call.kept
    return kept.data if kept is not None and kept.provider == NAME and isinstance(kept.data, dict) else {}


def _restore_opaque(data: Given, parts: list[Given]) -> None:
    """Append a provider-specific part in its original position, or add its signature to the last characters of the
    preceding text."""
    if data.get("on") != "text":
        parts.append(data)
        return
    if not parts or parts[-1].keys() != {"text"}:
        return
    beside = {name: value for name, value in data.items() if name not in ("on", "chars")}
    text, chars = cast(str, parts[-1]["text"]), data.get("chars")
    if isinstance(chars, int) and 0 < chars < len(text):
        parts[-1:] = [{"text": text[:-chars]}, {"text": text[-chars:], **beside}]
    else:
        parts[-1] = {"text": text, **beside}
