"""Converts contents of messages to the three forms that APIs accept: text, images and PDF files."""

from base64 import b64encode
from collections.abc import Collection, Sequence
from typing import Literal, NamedTuple

from callgate.providers.family import ModelFacts
from callgate.words.messages import Image, Resource, Text


class ContentPiece(NamedTuple):
    """One content in a form that APIs accept.

    data  the text, or the base64 of an image or PDF file
    uri   the URI of a resource
    """

    kind: Literal["text", "image", "pdf"]
    data: str
    media_type: str = ""
    uri: str = ""

    @property
    def url(self) -> str:
        return f"data:{self.media_type};base64,{self.data}"


def pieces(content: Sequence[object], facts: ModelFacts, images: Collection[str] = ()) -> list[ContentPiece]:
    """Convert texts, images and resources; other parts and empty texts are left out. An image that the model does not
    accept is replaced by a text.

    images  the accepted media types; by default all
    """
    found = [_piece(each, facts, images) for each in content if isinstance(each, Text | Image | Resource)]
    return [piece for piece in found if piece.data]


def _piece(given: Text | Image | Resource, facts: ModelFacts, images: Collection[str]) -> ContentPiece:
    match given:
        case Text(text):
            return ContentPiece("text", text)
        case Image(kind, data):
            if facts.abilities.images and (not images or kind in images):
                return ContentPiece("image", _base64(data), kind)
            line = f"[an image of type {kind}, {len(data):,} bytes, which this model does not support]"
            return ContentPiece("text", line)
        case Resource(_, None, bytes() as data, str(kind)) if kind in images or (
            not images and kind.startswith("image/")
        ):
            return _piece(Image(kind, data), facts, images)
        case Resource(uri, None, bytes() as data, "application/pdf") if facts.abilities.images:
            return ContentPiece("pdf", _base64(data), "application/pdf", uri)
        case Resource():
            return ContentPiece("text", _in_text(given))


def _in_text(resource: Resource) -> str:
    if resource.text is not None:
        return f"[{resource.uri}]\n{resource.text}" if resource.uri else resource.text
    if resource.data is None:
        return f"[{resource.uri}]"
    return f"[{resource.uri}: {len(resource.data):,} bytes of {resource.media_type or 'an unknown type'}, not shown]"


def _base64(data: bytes) -> str:
    return b64encode(data).decode("ascii")
