"""Indexes for tests."""

from callgate.search.tool_index import ToolIndex, ToolText
from callgate.search.vectors import ToolVectors


def index(*texts: ToolText, vectors: ToolVectors | None = None) -> ToolIndex:
    made = ToolIndex(vectors)
    for text in texts:
        made.put(text)
    return made


def names(index: ToolIndex, query: str, *required: str, k: int = 10) -> list[str]:
    return [hit.name for hit in index.search(query, k, required=required)]
