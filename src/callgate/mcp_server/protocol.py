"""Conversion of tools and results into types of the MCP protocol."""

from base64 import b64encode
from collections.abc import Iterable, Iterator
from json import dumps, loads
from typing import Any, cast

from mcp_types import (
    AudioContent,
    BlobResourceContents,
    CallToolResult,
    ContentBlock,
    EmbeddedResource,
    ImageContent,
    ResourceLink,
    TextContent,
    TextResourceContents,
    Tool,
    ToolAnnotations,
)

from callgate import Session
from callgate.words.calls import Result
from callgate.words.messages import Content, Image, Text
from callgate.words.model import ToolSpec
from callgate.words.pending import RESOLVE

CODE, PENDING = "callgate/code", "callgate/pending"
"""Keys in the ``_meta`` of a result: its code, and the actions that it staged."""
_DEEPEST = 100  # levels of structured content; the SDK reads at most 200


def tools_of(session: Session) -> list[Tool]:
    hints = session.controls.hints()
    found: list[Tool] = []
    for spec in session.controls.tool_specs:
        about = hints[spec.name]
        annotations = ToolAnnotations(
            title=about.title,
            read_only_hint=about.read_only,
            destructive_hint=not about.read_only and not about.idempotent,
            idempotent_hint=about.idempotent,
            open_world_hint=about.open_world,
        )
        found.append(
            Tool(
                name=spec.name,
                title=about.title,
                description=spec.description,
                input_schema=_schema(spec),
                annotations=annotations,
            )
        )
    return found


def _schema(spec: ToolSpec) -> dict[str, Any]:
    """Return the JSON schema of the parameters of a tool. For ``resolve`` the id is required, because the client may
    not know the newest action."""
    parameters = dict(spec.parameters)
    if spec.name == RESOLVE:
        parameters["required"] = [*parameters["required"], "id"]
    return parameters


def result_of(result: Result) -> CallToolResult:
    meta: dict[str, Any] = {CODE: result.code}
    pending = result.details.get("pending")
    if pending:
        meta[PENDING] = pending
    return CallToolResult(
        content=[*_blocks(result.content)],
        structured_content=None if result.is_error else _structured(result.content),
        is_error=result.is_error,
        _meta=meta,
    )


def _structured(content: tuple[Content, ...]) -> dict[str, Any] | None:
    """Return the JSON object whose compact form is exactly the text of the result, or None.

    A client may show the object to a model instead of the text, so both must be equal. Objects that are too deep for
    the SDK are not returned.
    """
    text = content[0].text if len(content) == 1 and isinstance(content[0], Text) else ""
    if not (text.startswith("{") and text.endswith("}")):
        return None
    try:
        found: Any = loads(text)
        same = dumps(found, ensure_ascii=False, separators=(",", ":"), allow_nan=False) == text
    except (ValueError, RecursionError):
        return None
    return found if same and not _deeper(found, _DEEPEST) else None


def _deeper(value: object, levels: int) -> bool:
    inner: Iterable[object] = ()
    if isinstance(value, dict):
        inner = cast("dict[str, object]", value).values()
    elif isinstance(value, list):
        inner = cast("list[object]", value)
    return levels < 0 or any(_deeper(each, levels - 1) for each in inner)


def _blocks(content: tuple[Content, ...]) -> Iterator[ContentBlock]:
    for part in content:
        if isinstance(part, Text):
            yield TextContent(text=part.text)
        elif isinstance(part, Image):
            yield ImageContent(data=b64encode(part.data).decode(), mime_type=part.media_type)
        elif part.text is not None:
            contents = TextResourceContents(uri=part.uri, text=part.text, mime_type=part.media_type)
            yield EmbeddedResource(resource=contents)
        elif part.data is not None and (part.media_type or "").startswith("audio/"):
            yield AudioContent(data=b64encode(part.data).decode(), mime_type=part.media_type or "")
        elif part.data is not None:
            blob = BlobResourceContents(uri=part.uri, blob=b64encode(part.data).decode(), mime_type=part.media_type)
            yield EmbeddedResource(resource=blob)
        else:
            yield ResourceLink(uri=part.uri, name=part.uri, mime_type=part.media_type)
