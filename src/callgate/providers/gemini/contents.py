"""Messages as contents of the Gemini API."""

import re
from collections.abc import Sequence
from typing import Any, cast

from callgate.providers.family import ModelFacts
from callgate.providers.gemini.faults import NAME
from callgate.providers.writing import asked, base64, in_text, not_shown, safe_name
from callgate.words.messages import CallPart, Image, Message, Opaque, Part, Resource, ResultPart, Text, Thinking

Given = dict[str, Any]
IMAGES = ("image/jpeg", "image/png", "image/webp", "image/heic", "image/heif")
NO_SIGNATURE = "skip_thought_signature_validator"
"""The word that the API takes for the signature of a call that another model made, or that lost its own."""
_OLD = re.compile(r"(models/)?(gemini-[12]\b|gemma|learnlm)")


def is_old(facts: ModelFacts) -> bool:
    """Models before Gemini 3: no signature is asked of calls, results have no images, no schema beside tools."""
    return _OLD.match(facts.name) is not None


class Contents:
    """The ``contents`` of a body. Neighbours of one role are one content; results stand apart from a person's words,
    because the API counts them against the calls before."""

    def __init__(self, messages: Sequence[Message], facts: ModelFacts) -> None:
        self._facts = facts
        self._old = is_old(facts)
        self._calls = {call.id: call for message in messages for call in message.calls}
        self.contents: list[Given] = []
        before = ""
        for message in messages:
            parts = self._parts(message)
            if not parts:
                continue
            if message.role == before:
                self.contents[-1]["parts"] += parts
            else:
                self.contents.append({"role": "model" if message.role == "assistant" else "user", "parts": parts})
            before = message.role
        if self.contents and self.contents[0]["role"] == "model":
            self.contents.insert(0, {"role": "user", "parts": [{"text": "Go on."}]})
        if not self._old and facts.thinking != "none":
            self._sign()

    def _sign(self) -> None:
        """The first call of each answer must have a signature: those of other models get a word in its place."""
        for content in self.contents:
            first: Given | None = next((part for part in content["parts"] if "functionCall" in part), None)
            if first is not None and "thoughtSignature" not in first:
                first["thoughtSignature"] = NO_SIGNATURE

    def _parts(self, message: Message) -> list[Given]:
        parts: list[Given] = []
        images: list[Given] = []
        for part in message.parts:
            match part:
                case Opaque(provider, data) if provider == NAME and isinstance(data, dict):
                    if message.role == "assistant":
                        _give_back(data, parts)
                case Thinking(text, signature) if signature and (message.model or "").startswith(f"{NAME}/"):
                    parts.append({"text": text, "thought": True, "thoughtSignature": signature})
                case CallPart():
                    parts.append(self._call(part))
                case ResultPart():
                    parts.append(self._result(part, images))
                case _:
                    parts += self._content(part)
        return parts + images

    def _content(self, part: Part) -> list[Given]:
        match part:
            case Text(text):
                return [{"text": text}] if text else []
            case Image():
                return [self._image(part)]
            case Resource():
                found = self._resource(part)
                return [] if found == {"text": ""} else [found]
            case _:
                return []

    def _image(self, image: Image) -> Given:
        if not self._facts.abilities.images or image.media_type not in IMAGES:
            return {"text": not_shown(image)}
        return {"inlineData": {"mimeType": image.media_type, "data": base64(image.data)}}

    def _resource(self, resource: Resource) -> Given:
        if resource.text is None and resource.data is not None and resource.media_type is not None:
            if resource.media_type in IMAGES:
                return self._image(Image(resource.media_type, resource.data))
            if resource.media_type == "application/pdf" and self._facts.abilities.images:
                return {"inlineData": {"mimeType": resource.media_type, "data": base64(resource.data)}}
        return {"text": in_text(resource)}

    def _call(self, call: CallPart) -> Given:
        kept = _kept(call)
        own = kept.get("functionCall")
        made = {**(cast("Given", own) if isinstance(own, dict) else {}), "name": _name(call.name)}
        return {"functionCall": {**made, "args": asked(call)}, **{n: v for n, v in kept.items() if n != "functionCall"}}

    def _result(self, result: ResultPart, images: list[Given]) -> Given:
        """A result under the name and the id of its call. Images are inside it, or behind all results for models that
        do not read them there."""
        call = self._calls.get(result.call_id)
        own: Any = None if call is None else _kept(call).get("functionCall")
        answer: Given = {"id": own["id"]} if isinstance(own, dict) and "id" in own else {}
        answer["name"] = _name(result.name if call is None else call.name)
        texts: list[str] = []
        media: list[Given] = []
        for part in result.content:
            for content in self._content(part):
                texts += [content["text"]] if "text" in content else []
                media += [content] if "text" not in content else []
        answer["response"] = {"error" if result.is_error else "output": "\n".join(texts)}
        if media and not self._old:
            answer["parts"] = media
        elif media:
            images += media
        return {"functionResponse": answer}


def _name(name: str) -> str:
    """A name of a function, which begins with a letter or an underscore."""
    safe = safe_name(name, 127)
    return safe if safe[0].isalpha() or safe[0] == "_" else f"_{safe}"


def _kept(call: CallPart) -> Given:
    kept = call.kept
    return kept.data if kept is not None and kept.provider == NAME and isinstance(kept.data, dict) else {}


def _give_back(data: Given, parts: list[Given]) -> None:
    """Adds a part of the provider in its place, or a signature to the end of the text before it."""
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
