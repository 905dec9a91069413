"""The command ``callgate tools rank``: ranks tools for queries, one JSON line in, one JSON line out.

A second line of tools replaces tools of the same name and adds the others.
"""

import sys
from collections.abc import Iterable
from typing import Any, TextIO, cast

from callgate.cli.json_lines import UnusableLine, answer_lines, json_input
from callgate.search.tool_index import ToolIndex, ToolText
from callgate.search.vectors import EXTRA, tool_vectors
from callgate.words.errors import CallgateError

_TEXTS = ("description", "server", "server_description")


def rank(jsonl: bool, embeddings: str) -> int:
    """Read {"tools": [{"name", "description", "input_schema"?, "server"?, "server_description"?}, …]} and answer
    {"ready": true}; then, for each {"query": "…", "k": 10}, answer {"names": […]}, best first. An invalid line is
    answered with {"error": "…"}."""
    with json_input(None) as lines:
        vectors = None if embeddings == "off" else tool_vectors()
        if embeddings == "on" and vectors is None:
            raise CallgateError(f"the embeddings are not installed: pip install '{EXTRA}'")
        return rank_lines(lines, sys.stdout, ToolIndex(vectors))


def rank_lines(lines: Iterable[str | bytes], out: TextIO, index: ToolIndex) -> int:
    return answer_lines(lines, out, lambda given: _answer(given, index))


def _answer(given: dict[str, Any], index: ToolIndex) -> dict[str, Any]:
    tools, query, k = given.get("tools"), given.get("query"), given.get("k", 10)
    if isinstance(tools, list):
        texts = [_text(tool, at) for at, tool in enumerate(cast("list[Any]", tools), 1)]
        for text in texts:
            index.put(text)
        return {"ready": True}
    if isinstance(query, str) and isinstance(k, int) and k > 0:
        return {"names": [hit.name for hit in index.search(query, k)]}
    raise UnusableLine('give {"tools": [{"name": …}, …]}, or {"query": "…", "k": a number above 0}')


def _text(tool: Any, at: int) -> ToolText:
    fields = cast("dict[str, Any]", tool) if isinstance(tool, dict) else {}
    name, schema = fields.get("name"), fields.get("input_schema")
    texts = {key: fields.get(key) or "" for key in _TEXTS}
    if not (isinstance(name, str) and name and all(isinstance(each, str) for each in texts.values())):
        raise UnusableLine(f'tool {at}: give it a "name", and its texts ({", ".join(_TEXTS)}) as strings')
    return ToolText(name, parameters=cast("dict[str, Any]", schema) if isinstance(schema, dict) else {}, **texts)
