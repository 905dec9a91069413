"""The commands ``callgate tools``.

The tools of the agent: those that come with it, and those that you write.
"""

import json
import sys
from base64 import b64decode
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from keyword import iskeyword
from pathlib import Path
from typing import Any, TextIO, cast

from callgate.admin.tool_list import list_tools
from callgate.cli.command_parser import USAGE
from callgate.cli.command_rows import JSON, ArgumentRow, CommandRow
from callgate.cli.json_lines import FILE, JSONL, UnusableLine, answer_lines, json_input
from callgate.cli.terminal import Safe, Span, clip
from callgate.cli.text_output import json_fields, out, put, put_json, put_paragraph, put_text, say, text_width
from callgate.config import load_config
from callgate.search.tool_index import ToolIndex, ToolText
from callgate.search.vectors import EXTRA, tool_vectors
from callgate.tools.arguments import Arguments
from callgate.tools.jsonschema import SchemaError
from callgate.words.calls import Rejected
from callgate.words.errors import CallgateError, UsageError
from callgate.words.pending import RESOLVE

_TITLES = {
    "core": "core: in every request",
    "custom": "custom",
    "deferred": "deferred: the model finds them by search",
    "feature": "features of installed packages, which may add tools",
    "unavailable": "not available",
}
_TEXTS = ("description", "server", "server_description")
FOLDER = Path(".callgate", "tools")
_LONGEST = 64


def list_rows(as_json: bool) -> int:
    """List the tools of the agent: built-in tools, custom tools with their files, features of installed packages, and
    tools that are not available, with the reason: a missing package, a file with a fault, a folder that is not trusted.
    For tools of an MCP server, see `callgate mcp test NAME`."""
    found = list_tools(load_config())
    if as_json:
        put_json([json_fields(row, "name", "kind", "what", "origin", "why") for row in found.rows])
        return 0
    kind = ""
    for row in found.rows:
        if row.kind != kind:
            kind = row.kind
            put_text(_TITLES[kind], "bold")
        if kind == "unavailable":
            put_paragraph(f"{row.name}: {row.why}", "yellow", indent=2, hang=2)
            continue
        what = clip(row.what, max(text_width() - 19, 20))
        put([(Span(Safe("  ")), Span(f"{row.name:<16} ", "green"), Span(what))])
        if row.origin and kind in ("custom", "deferred", "feature"):
            put_paragraph(row.origin, "dim", indent=19)
    others = "without tools of MCP servers, which `/tools` lists"
    put_paragraph(f"tool search is {found.search.sentence} ({others})")
    return 0


# ---- tools new ------------------------------------------------------------------------------------------------------


def write_new_tool(name: str) -> int:
    """Write .callgate/tools/NAME.py in the current folder. Its tools are available once the folder is trusted."""
    try:
        for line in new_tool(name, Path.cwd()):
            put_text(line)
    except UsageError as error:
        say(str(error))
        return USAGE
    return 0


def new_tool(name: str, root: Path) -> list[str]:
    """Write the template; return lines with the next steps. Raise UsageError if the file exists or cannot be
    written."""
    _check(name)
    shown = (FOLDER / f"{name}.py").as_posix()
    file = root / shown
    template = Path(__file__).with_name("new_tool.txt").read_text(encoding="utf-8")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        if not file.parent.resolve().is_relative_to(root.resolve()):
            raise UsageError(f"{FOLDER.as_posix()} is outside of {root}: nothing was written")
        with open(file, "x", encoding="utf-8", newline="\n") as stream:
            stream.write(template.replace("NAME", name))
    except FileExistsError:
        if not file.parent.is_dir():
            raise UsageError(f"{FOLDER.as_posix()} is not a folder: nothing was written") from None
        raise UsageError(f"{shown} already exists: choose another name, or edit the file") from None
    except OSError as error:
        raise UsageError(f"{shown} cannot be written: {error.strerror or error}") from error
    return [
        f"wrote {shown}",
        "next: edit the file, then run `callgate trust add`",
        "code in this folder runs only after you trust it; you are asked again after each change",
    ]


def _check(name: str) -> None:
    """Raise UsageError unless the name is valid for a file, a function and a tool."""
    if name == RESOLVE:
        raise UsageError(f"{RESOLVE!r} is reserved for the tool that resolves pending actions: choose another name")
    if name.isascii() and name.isidentifier() and not iskeyword(name) and name[0] != "_" and len(name) <= _LONGEST:
        return
    bare = "".join(sign if sign.isascii() and sign.isalnum() else "_" for sign in name.removesuffix(".py")).strip("_")
    meant = f": did you mean {bare}?" if bare and bare != name and bare.isidentifier() and not iskeyword(bare) else ""
    raise UsageError(f"{name[:100]!r} is not a valid tool name (letters, digits and _, at most {_LONGEST}){meant}")


# ---- tools rank -----------------------------------------------------------------------------------------------------


def rank(jsonl: bool, embeddings: str) -> int:
    """Read {"tools": [{"name", "description", "input_schema"?, "server"?, "server_description"?}, …]} and answer
    {"ready": true}; then, for each {"query": "…", "k": 10}, answer {"names": […]}, best first. An invalid line is
    answered with {"error": "…"}.

    examples:
      callgate tools rank --jsonl < lines.jsonl
    """
    with json_input(None) as lines:
        vectors = None if embeddings == "off" else tool_vectors()
        if embeddings == "on" and vectors is None:
            raise CallgateError(f"the embeddings are not installed: pip install '{EXTRA}'")
        return rank_lines(lines, sys.stdout, ToolIndex(vectors))


def rank_lines(lines: Iterable[str | bytes], out: TextIO, index: ToolIndex) -> int:
    return answer_lines(lines, out, lambda given: _ranked(given, index))


def _ranked(given: dict[str, Any], index: ToolIndex) -> dict[str, Any]:
    tools, query, k = given.get("tools"), given.get("query"), given.get("k", 10)
    if isinstance(tools, list):
        texts = [_tool_text(tool, at) for at, tool in enumerate(cast("list[Any]", tools), 1)]
        for text in texts:
            index.put(text)
        return {"ready": True}
    if isinstance(query, str) and isinstance(k, int) and k > 0:
        return {"names": [hit.name for hit in index.search(query, k)]}
    raise UnusableLine('give {"tools": [{"name": …}, …]}, or {"query": "…", "k": a number above 0}')


def _tool_text(tool: Any, at: int) -> ToolText:
    fields = cast("dict[str, Any]", tool) if isinstance(tool, dict) else {}
    name, schema = fields.get("name"), fields.get("input_schema")
    texts = {key: fields.get(key) or "" for key in _TEXTS}
    if not (isinstance(name, str) and name and all(isinstance(each, str) for each in texts.values())):
        raise UnusableLine(f'tool {at}: give it a "name", and its texts ({", ".join(_TEXTS)}) as strings')
    return ToolText(name, parameters=cast("dict[str, Any]", schema) if isinstance(schema, dict) else {}, **texts)


# ---- tools validate -------------------------------------------------------------------------------------------------


def validate(jsonl: bool, file: str | None) -> int:
    """Read {"tool": {"name", "parameters": JSON Schema}, "raw": what the model wrote} and answer {"outcome":
    "accepted|repaired|rejected", "arguments", "repairs", "errors"}, one line each."""
    with json_input(file) as lines:
        return validate_lines(lines, out())


def validate_lines(lines: Iterable[str | bytes], out: TextIO) -> int:
    compiled = lru_cache(maxsize=256)(_compiled)
    return answer_lines(
        lines, out, lambda given: _validated(given, compiled), failed=lambda error: _outcome("error", errors=[error])
    )


def _compiled(schema: str) -> Arguments:
    return Arguments(json.loads(schema))


def _validated(case: dict[str, Any], compiled: Callable[[str], Arguments]) -> dict[str, Any]:
    tool = case.get("tool")
    parameters = cast(Mapping[str, Any], tool).get("parameters") if isinstance(tool, dict) else None
    if not isinstance(parameters, dict):
        raise UnusableLine('give the tool as {"name": …, "parameters": <JSON Schema object>}')
    try:
        arguments = compiled(json.dumps(parameters))
    except SchemaError as error:
        raise UnusableLine(f"mend the schema at {error}") from None
    read = arguments.read(_raw(case))
    if isinstance(read, Rejected):
        return _outcome("rejected", errors=read.errors)
    repairs = [{"path": repair.path, "what": repair.what} for repair in read.repairs]
    return _outcome("repaired" if repairs else "accepted", arguments=read.arguments, repairs=repairs)


def _raw(case: dict[str, Any]) -> str | bytes | Mapping[str, Any]:
    given = [key for key in ("raw", "raw_b64") if key in case]
    if len(given) != 1:
        raise UnusableLine('give what the model wrote as "raw" or, as base64 of its bytes, as "raw_b64"')
    raw = case[given[0]]
    if given == ["raw"]:
        if not isinstance(raw, str | dict):
            raise UnusableLine('"raw" is the text that the model wrote, or an object')
        return cast("str | dict[str, Any]", raw)
    try:
        return b64decode(raw, validate=True)
    except (TypeError, ValueError):
        raise UnusableLine('"raw_b64" is a base64 string') from None


def _outcome(
    outcome: str, *, arguments: Any = None, repairs: Iterable[Any] = (), errors: Iterable[str] = ()
) -> dict[str, Any]:
    return {"outcome": outcome, "arguments": arguments, "repairs": list(repairs), "errors": list(errors)}


COMMANDS = (
    CommandRow("tools list", list_rows, "list the tools of the agent in this folder, and excluded tools", (JSON,)),
    CommandRow(
        "tools new",
        write_new_tool,
        "create a file with an example tool",
        (ArgumentRow("NAME", "of the tool, and of the file"),),
    ),
    CommandRow(
        "tools rank",
        rank,
        "rank tools by a query",
        (
            JSONL,
            ArgumentRow(
                "--embeddings auto|on|off",
                "auto: with vectors if they are installed (default); on: only with them; off: by words alone",
                default="auto",
            ),
        ),
    ),
    CommandRow("tools validate", validate, "show how arguments would be repaired and validated", (JSONL, FILE)),
)
