"""The two tools of tool search: ``SearchExtraTools`` finds deferred tools, ``ExecuteExtraTool`` calls a deferred
tool. ``ToolFinder`` updates the index when the tools change; neither a session nor a request waits for the index."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from json import dumps
from pathlib import Path
from threading import Lock, Thread
from typing import TYPE_CHECKING, Any, Protocol

from callgate.core.capabilities import ToolFacts, facts_of
from callgate.core.ports import Run, Target, Tool, Unknown
from callgate.host.threads import in_thread
from callgate.tools.tool import SchemaTool
from callgate.tools.toolbox import Raw
from callgate.words.calls import Accepted, Display, Rejected, Result
from callgate.words.errors import ToolFailure
from callgate.words.messages import Content, Resource, Text
from callgate.words.model import ToolSpec
from callgate.words.noun import noun
from callgate.words.pending import RESOLVE
from callgate.words.tool_search import DEFINITION, EXECUTE, SEARCH
from callgate.words.traits import Traits, shared

if TYPE_CHECKING:
    from callgate.search.tool_index import Hit, ToolIndex

MOST_CHARS = 40_000
"""The most characters of all definitions in one result."""
_DESCRIPTION = 4_000


@noun
class Query:
    """A parsed query.

    names     exact names to look up
    words     the words to search for, if there are no names
    required  terms that every tool must contain
    """

    names: tuple[str, ...] = ()
    words: str = ""
    required: tuple[str, ...] = ()


def read_query(text: str) -> Query:
    kind, colon, rest = text.strip().partition(":")
    if colon and kind.lower() == "select":
        return Query(names=tuple(dict.fromkeys(filter(None, map(str.strip, rest.split(","))))))
    if colon and kind.lower() == "discover":
        return Query(words=rest.strip())
    words = text.split()
    required = tuple(word[1:].removeprefix("mcp__") for word in words if word.startswith("+") and len(word) > 1)
    return Query(words=" ".join(word.removeprefix("+") for word in words), required=required)


def definitions(found: Sequence[Tool]) -> list[Content]:
    """Return the definitions of the tools up to a size limit, and only the names of the remaining tools."""
    shown, left = list[Content](), MOST_CHARS
    late: list[str] = []
    for each in found:
        text = definition(each.spec)
        if len(text) > left and shown:
            late.append(each.spec.name)
            continue
        left -= len(text)
        shown.append(Resource(f"{DEFINITION}{each.spec.name}", text, media_type="application/json"))
    if late:
        told = f"Also found, but too long to show here: {', '.join(late)}."
        shown.append(Text(f"{told} To show one, search for select:NAME."))
    return shown


def definition(spec: ToolSpec) -> str:
    """Return the name, description and schema of a tool as JSON. A schema that is too long is replaced by a note;
    the error for an invalid call names the missing arguments."""
    described = spec.description
    if len(described) > _DESCRIPTION:
        described = f"{described[:_DESCRIPTION]} […]"
    whole = {"name": spec.name, "description": described, "input_schema": spec.parameters}
    text = _json(whole)
    if len(text) <= MOST_CHARS:
        return text
    return _json({**whole, "input_schema": {"type": "object", "description": "The parameters are too long to show."}})


def _json(value: object) -> str:
    return dumps(value, ensure_ascii=False, default=dict, separators=(",", ":"))


def loaded_already(names: Sequence[str]) -> str:
    verb, them = ("is", "it by its") if len(names) == 1 else ("are", "them by their")
    return f"{', '.join(names)} {verb} already loaded: call {them} own name, without {EXECUTE}."


_USUAL_RESULTS, _MOST_RESULTS = 5, 20
_QUERY: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        "query": {"type": "string", "minLength": 1, "maxLength": 1_000, "description": "the query"},
        "max_results": {
            "type": "integer",
            "minimum": 1,
            "maximum": _MOST_RESULTS,
            "description": f"the most tools to show; default: {_USUAL_RESULTS}",
        },
    },
    "required": ["query"],
    "additionalProperties": False,
}
_CALL: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        "tool_name": {"type": "string", "minLength": 1, "description": "the exact name of the tool"},
        "params": {"type": "object", "description": "the arguments of the tool"},
    },
    "required": ["tool_name"],
    "additionalProperties": False,
}
# Text is accepted too: the target repairs and validates it like in a direct call.
_TAKEN = {**_CALL, "properties": {**_CALL["properties"], "params": {"type": ["object", "string", "null"]}}}
_TRY = "Try other or fewer words for the purpose of the tool, or the name of its server."


def _described(file: str) -> str:
    return Path(__file__).with_name(file).read_text(encoding="utf-8").strip()


class Searchable(Protocol):
    """The tools of a session: the tools sent to the model, and the deferred tools."""

    def tools(self) -> Sequence[Tool]: ...

    def deferred(self) -> Sequence[Tool]: ...

    def resolve(self, name: str, raw: Raw) -> Target | Unknown: ...


class _SearchTool(SchemaTool):
    """A tool that accesses only the tools of the session, so no argument is a path."""

    def traits(self, arguments: Mapping[str, Any]) -> Traits:
        return Traits("none", shared, own_state=True, declared_icon="search", max_result_chars=MOST_CHARS + 10_000)


class SearchExtraTools(_SearchTool):
    def __init__(self, tools: Searchable) -> None:
        facts = ToolFacts(title="Search tools", always_loaded=True)
        super().__init__(ToolSpec(SEARCH, _described("search_extra_tools.md"), _QUERY), facts)
        self._tools = tools
        self.finder = ToolFinder(tools.deferred)

    async def run(self, arguments: Mapping[str, Any], run: Run) -> Result:
        query = read_query(arguments["query"])
        if not query.names and not any(map(str.isalnum, query.words)):
            raise ToolFailure(f"The query contains no words to search for. {_TRY}")
        loaded, deferred = self._tools.tools(), self._tools.deferred()
        if query.names:
            found, texts, wrong = await in_thread(lambda: _selected(query.names, loaded, deferred))
            # A callable name that is not in the list may be added later, or is hidden from search.
            looked = [(name, self._tools.resolve(name, {})) for name in wrong]
            missing = [found if isinstance(found, Unknown) else Unknown(name) for name, found in looked]
            texts += await in_thread(lambda: [each.sentence for each in missing])  # which compares many names
            return _answer(found, texts, deferred if missing else ())
        hits = await self.finder.find(query.words, arguments.get("max_results", _USUAL_RESULTS), query.required)
        by_name = {each.spec.name: each for each in deferred}
        found = [by_name[hit.name] for hit in hits if hit.name in by_name]
        meant = [each.spec.name for each in loaded if query.words.casefold() in _names(each)]
        texts = [loaded_already(meant)] if meant else []
        if not found and not meant:
            must = f" that contains {' and '.join(query.required)}" if query.required else ""
            texts.append(f"No tool{must} was found for {query.words[:200]!r}. {_TRY}")
        return _answer(found, texts, deferred)


def _names(tool: Tool) -> list[str]:
    return [name.casefold() for name in (tool.spec.name, *tool.aliases)]


def _selected(
    names: Sequence[str], loaded: Sequence[Tool], deferred: Sequence[Tool]
) -> tuple[list[Tool], list[str], list[str]]:
    """Return the tools of these names, notes on names that are already loaded or exceed the limit, and the unknown
    names."""
    there = {name: each for each in deferred for name in _names(each)}
    there |= {each.spec.name: each for each in deferred}  # exact matches precede those in another case
    known = {name: each.spec.name for each in loaded for name in _names(each)} | {RESOLVE: RESOLVE}
    found, meant, wrong = dict[str, Tool](), dict[str, None](), list[str]()
    for name in names[:_MOST_RESULTS]:
        tool = there.get(name) or there.get(name.casefold())
        if tool is not None:
            found[tool.spec.name] = tool
        elif name.casefold() in known:
            meant[known[name.casefold()]] = None
        else:
            wrong.append(name)
    texts = [loaded_already([*meant])] if meant else []
    if len(names) > _MOST_RESULTS:
        more = len(names) - _MOST_RESULTS
        texts.append(f"Only the first {_MOST_RESULTS} names were looked up; {more} more were ignored.")
    return [*found.values()], texts, wrong


def _answer(found: Sequence[Tool], texts: Sequence[str], deferred: Sequence[Tool]) -> Result:
    """Return the result of a search. If a tool that waits for servers is deferred, the result asks the model to search
    again later."""
    for each in deferred:
        if coming := facts_of(each).expects:
            begin = ", ".join(f"{prefix}…" for prefix in coming)
            texts = [*texts, f"Not available yet: {begin}. Call {each.spec.name} to wait for them, then search again."]
    said: list[Content] = [Text(text) for text in texts]
    names = ", ".join(each.spec.name for each in found)
    return Result((*said, *definitions(found)), (Display("text", "\n".join((*texts, *((names,) if names else ())))),))


class ExecuteExtraTool(_SearchTool):
    """The tool ``ExecuteExtraTool``. A call is resolved to the deferred tool that it names, so this tool itself runs
    only if that tool does not exist."""

    def __init__(self, *, stages: bool) -> None:
        facts = ToolFacts(title="Run a tool", always_loaded=True, stages=stages)
        super().__init__(ToolSpec(EXECUTE, _described("execute_extra_tool.md"), _CALL), facts, _TAKEN)

    def set_stages(self) -> None:
        """Declare that a deferred tool may stage actions, so that ``resolve`` is added to the tools."""
        self.facts = replace(self.facts, stages=True)

    def read(self, raw: str | Mapping[str, Any]) -> Accepted | Rejected:
        found = super().read(raw)
        name = found.arguments["tool_name"].strip() if isinstance(found, Accepted) else ""
        if isinstance(found, Accepted) and name in ("", EXECUTE, RESOLVE):
            return Rejected((f"$.tool_name: expected the name of another tool; call {RESOLVE} directly",))
        return found

    async def run(self, arguments: Mapping[str, Any], run: Run) -> Result:
        raise ToolFailure("tool_name is not the name of an available tool.")


INDEXED_AT_ONCE = 50
"""The most changes that are indexed on the event loop, which takes a few milliseconds."""


class ToolFinder:
    """Searches the deferred tools of one session. ``tools`` returns the current deferred tools and is called only on
    the event loop's thread."""

    def __init__(self, tools: Callable[[], Sequence[Tool]]) -> None:
        self._tools = tools
        self._lock = Lock()  # guards all fields below
        self._index: ToolIndex | None = None
        self._known: dict[str, ToolSpec] = {}  # the specs that are in the index
        self._seen: Sequence[Tool] = ()  # the tools at the last comparison

    async def find(self, query: str, k: int, required: Sequence[str] = ()) -> list[Hit]:
        """Return the tools that match a query best, in order. Word vectors are used too if they are installed."""
        tools = self._tools()
        return await in_thread(lambda: self._found(tools, query, k, required)) if tools else []

    def find_now(self, query: str, k: int) -> list[Hit] | None:
        """Return the tools that match a query best by their terms, or None while a thread builds the index."""
        if not self._lock.acquire(blocking=False):
            return None
        try:
            tools = self._tools()
            if len(self._new(tools)) + len(self._gone(tools)) <= INDEXED_AT_ONCE:
                return self._follow(tools).search(query, k, by_meaning=False)
        finally:
            self._lock.release()
        Thread(target=self._found, args=(tools, query, 1, ()), name="callgate-index", daemon=True).start()
        return None

    def _found(self, tools: Sequence[Tool], query: str, k: int, required: Sequence[str]) -> list[Hit]:
        with self._lock:
            return self._follow(tools).search(query, k, required=required)

    def _new(self, tools: Sequence[Tool]) -> Sequence[Tool]:
        """Return the tools that are missing in the index or have a different definition there."""
        if tools is self._seen:
            return ()
        return [each for each in tools if self._known.get(each.spec.name) is not each.spec]

    def _gone(self, tools: Sequence[Tool]) -> Collection[str]:
        return () if tools is self._seen else self._known.keys() - {each.spec.name for each in tools}

    def _follow(self, tools: Sequence[Tool]) -> ToolIndex:
        from callgate.search.fields import ToolText  # loaded at the first search
        from callgate.search.tool_index import ToolIndex
        from callgate.search.vectors import tool_vectors

        if self._index is None:
            self._index = ToolIndex(tool_vectors())
        if tools is self._seen:
            return self._index
        for name in self._gone(tools):
            self._index.drop(name)
            del self._known[name]
        for each in self._new(tools):
            spec = self._known[each.spec.name] = each.spec
            text = ToolText(spec.name, spec.description, spec.parameters, hint=facts_of(each).search_hint)
            with suppress(Exception):  # an unreadable schema: the tool is not found by search
                self._index.put(text)
        self._seen = tools
        return self._index
