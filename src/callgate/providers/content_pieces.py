"""Converts contents of messages to the three forms that APIs accept: text, images and PDF files.

Results of ``SearchExtraTools`` contain tool definitions. They become definitions of the provider's API, so that the
model can call deferred tools by their names.
"""

from base64 import b64encode
from collections.abc import Collection, Iterable, Sequence
from json import loads
from typing import Any, Literal, NamedTuple

from callgate.providers.family import ModelFacts
from callgate.words.messages import Content, Image, Message, Resource, ResultPart, Text
from callgate.words.model import ToolSpec
from callgate.words.tool_search import DEFINITION, SEARCH


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


def defined_in(result: ResultPart) -> tuple[list[ToolSpec], list[Content]]:
    """Return the tools that a search result defines, and the remaining content of the result."""
    specs, rest = dict[str, ToolSpec](), list[Content]()
    for content in result.content:
        spec = _read_definition(content) if result.name == SEARCH and not result.is_error else None
        if spec is None or spec.name in specs:
            rest.append(content)
        else:
            specs[spec.name] = spec
    return [*specs.values()], rest


def defined_before(messages: Iterable[Message]) -> list[ToolSpec]:
    """Return the tools that all searches in the messages have found. If a tool was found twice, its last definition
    is returned."""
    found: dict[str, ToolSpec] = {}
    for message in messages:
        if message.role == "tool":
            for part in message.parts:
                if isinstance(part, ResultPart) and part.name == SEARCH:
                    found.update((spec.name, spec) for spec in defined_in(part)[0])
    return [*found.values()]


def _read_definition(content: Content) -> ToolSpec | None:
    if not isinstance(content, Resource) or not content.uri.startswith(DEFINITION) or content.text is None:
        return None
    try:
        data: Any = loads(content.text)
        name, description, schema = data["name"], data["description"], {**data["input_schema"]}
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    whole = content.uri == f"{DEFINITION}{name}" and isinstance(description, str)
    return ToolSpec(str(name), description, schema) if whole else None
