"""``callgate tools rank --jsonl``: ranks tools for queries, one JSON line in, one JSON line out.

In: first ``{"tools": [{"name", "description", "input_schema"?, "server"?, "server_description"?}, …]}``, answered with
``{"ready": true}``; then ``{"query": "…", "k": 10}``, answered with ``{"names": […]}``, best first. Another line of
tools replaces those of the same name and adds the others. A line that cannot be used answers ``{"error": "…"}``; the
rest goes on.
"""

import json
import sys
from argparse import Namespace
from collections.abc import Iterable
from typing import Any, TextIO, cast

from callgate.search.index import ToolIndex, ToolText
from callgate.search.vectors import EXTRA, tool_vectors
from callgate.words.errors import CallgateError

_TEXTS = ("description", "server", "server_description")


class _BadLine(Exception):
    """The line itself cannot be used; says what to do."""


def rank(options: Namespace) -> int:
    vectors = None if options.embeddings == "off" else tool_vectors()
    if options.embeddings == "on" and vectors is None:
        raise CallgateError(f"the vectors are not installed: pip install '{EXTRA}'")
    return rank_lines(sys.stdin.buffer, sys.stdout, ToolIndex(vectors))


def rank_lines(lines: Iterable[str | bytes], out: TextIO, index: ToolIndex) -> int:
    """Answers each line as it comes, so that it can serve as a co-process. 1 if a line could not be used, else 0."""
    code = 0
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            answer = _answer(line, index)
        except _BadLine as error:
            code = 1
            answer = {"error": f"line {number}: {error}"}
        out.write(json.dumps(answer) + "\n")
        out.flush()
    return code


def _answer(line: str | bytes, index: ToolIndex) -> dict[str, Any]:
    try:
        read: Any = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise _BadLine(f"write one JSON object per line, in UTF-8 ({type(error).__name__}: {error})") from None
    case = cast("dict[str, Any]", read) if isinstance(read, dict) else {}
    tools, query, k = case.get("tools"), case.get("query"), case.get("k", 10)
    if isinstance(tools, list):
        texts = [_text(tool, at) for at, tool in enumerate(cast("list[Any]", tools), 1)]
        for text in texts:
            index.put(text)
        return {"ready": True}
    if isinstance(query, str) and isinstance(k, int) and k > 0:
        return {"names": [hit.name for hit in index.search(query, k)]}
    raise _BadLine('give {"tools": [{"name": …}, …]}, or {"query": "…", "k": a number above 0}')


def _text(tool: Any, at: int) -> ToolText:
    fields = cast("dict[str, Any]", tool) if isinstance(tool, dict) else {}
    name, schema = fields.get("name"), fields.get("input_schema")
    texts = {key: fields.get(key) or "" for key in _TEXTS}
    if not (isinstance(name, str) and name and all(isinstance(each, str) for each in texts.values())):
        raise _BadLine(f'tool {at}: give it a "name", and its texts ({", ".join(_TEXTS)}) as strings')
    return ToolText(name, parameters=cast("dict[str, Any]", schema) if isinstance(schema, dict) else {}, **texts)
