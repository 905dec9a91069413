"""A toolbox with deferred tools, which the model finds by search and calls with ``ExecuteExtraTool``.

The tools of the first request are sent for the whole session, so that prompt caches remain valid. Tools that are added
later are deferred.
"""

from collections.abc import Callable, Sequence
from operator import is_

from callgate.core.capabilities import facts_of
from callgate.core.ports import Target, Tool, ToolSource, Unknown
from callgate.search.search_tools import ExecuteExtraTool, SearchExtraTools
from callgate.tools.toolbox import Merged, Raw, Toolbox, refuse_shared_names, unknown
from callgate.words.calls import Rejected
from callgate.words.pending import RESOLVE
from callgate.words.tool_search import EXECUTE, OFF, ON, SEARCH, SearchUse, percent_of
from callgate.words.window import spec_tokens


class SearchToolbox:
    """The tools of a session, some of which are deferred.

    mode    the setting ``tools.search``
    window  returns the context window of the model in tokens, or None if it is unknown
    hides   returns True if every call of a tool would be denied, so that the model does not see it
    """

    def __init__(
        self,
        core: ToolSource,
        deferred: ToolSource,
        mode: str,
        window: Callable[[], int | None],
        hides: Callable[[str, str], bool] | None = None,
    ) -> None:
        self._core = core
        self._source = deferred if hides is None else _Allowed(deferred, hides)
        self._fixed = isinstance(deferred, Toolbox)
        self._box = Merged(core, self._source)
        self._mode = mode
        self._percent = percent_of(mode)
        self._window = window
        self._loaded: Sequence[Tool] | None = None  # None until the first request
        self._offers = True
        self._seen: Sequence[Tool] = ()
        self._deferred: Sequence[Tool] = ()
        self._search = SearchExtraTools(self)
        self.finder = self._search.finder
        self._execute = ExecuteExtraTool(stages=_stages(self._source.tools()))
        if not self.off:
            refuse_shared_names((*self._box.tools(), self._search, self._execute))

    @property
    def off(self) -> bool:
        return self._percent == OFF

    def first_request(self) -> None:
        """Fix the list of tools that are sent to the model."""
        if self._loaded is None and not self.off:
            self._loaded = loaded = self._early()
            self._offers = self._offered(loaded)

    def tools(self) -> Sequence[Tool]:
        if self.off:
            return self._box.tools()
        loaded = self._early() if self._loaded is None else self._loaded
        offers = self._offered(loaded) if self._loaded is None else self._offers
        return (*self._core.tools(), *loaded, *((self._search, self._execute) if offers else ()))

    def all_tools(self) -> Sequence[Tool]:
        """Return all tools that can be called, including deferred tools."""
        return (*self._box.tools(), *(() if self.off else (self._search, self._execute)))

    def deferred(self) -> Sequence[Tool]:
        """Return the deferred tools. The same object is returned until the tools change."""
        if self.off:
            return ()
        loaded = self._early() if self._loaded is None else self._loaded
        found = (*loaded, *self._source.tools())
        if not same(found, self._seen):
            known = {SEARCH, EXECUTE, RESOLVE, *(each.spec.name for each in (*self._core.tools(), *loaded))}
            self._seen = found
            if _stages(found):
                self._execute.set_stages()
            self._deferred = tuple(each for each in found if each.spec.name not in known)
        return self._deferred

    def use(self) -> SearchUse:
        """Return the number of deferred tools and their size in tokens, for display."""
        found = self.deferred()
        return SearchUse(self._mode, len(found), spec_tokens(each.spec for each in found))

    def resolve(self, name: str, raw: Raw) -> Target | Unknown:
        if self.off:
            return self._box.resolve(name, raw)
        if name == SEARCH:
            return Target(self._search, raw)
        if name != EXECUTE:
            found = self._box.resolve(name, raw)
            return unknown(name, self.all_tools, found.reason) if isinstance(found, Unknown) else found
        wanted = self._execute.read(raw)
        if isinstance(wanted, Rejected):
            return Target(self._execute, raw)
        return self.resolve(wanted.arguments["tool_name"].strip(), wanted.arguments.get("params") or {})

    def _early(self) -> Sequence[Tool]:
        """Return the deferred tools to include in the next request: all tools if they are small enough, otherwise
        the tools marked ``always_loaded``."""
        found = self._source.tools()
        window = None if self._percent == ON else self._window()
        if window is not None and spec_tokens(each.spec for each in found) * 100 <= self._percent * window:
            return tuple(found)
        return tuple(each for each in found if facts_of(each).always_loaded)

    def _offered(self, loaded: Sequence[Tool]) -> bool:
        """Return True if the search tools must be offered: a tool is deferred, or tools may be added later."""
        return not self._fixed or len(loaded) < len(self._source.tools())


class _Allowed:
    """A tool source that omits the tools that a rule denies completely. Omitted tools can still be called, so that the
    denial is recorded."""

    def __init__(self, source: ToolSource, hides: Callable[[str, str], bool]) -> None:
        self._source = source
        self._hides = hides
        self._seen: Sequence[Tool] = ()
        self._left: Sequence[Tool] = ()
        self.resolve = source.resolve

    def tools(self) -> Sequence[Tool]:
        found = self._source.tools()
        if not same(found, self._seen):
            self._seen = found
            self._left = tuple(each for each in found if not self._is_hidden(each))
        return self._left

    def _is_hidden(self, tool: Tool) -> bool:
        return any(self._hides(name, "") for name in (tool.spec.name, *tool.aliases))


def same(some: Sequence[Tool], others: Sequence[Tool]) -> bool:
    return len(some) == len(others) and all(map(is_, some, others))


def _stages(tools: Sequence[Tool]) -> bool:
    return any(facts_of(each).stages for each in tools)
