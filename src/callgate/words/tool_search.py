"""Tool search: the names of its tools, and the setting that defers tools."""

from callgate.words.late_pattern import late_pattern
from callgate.words.noun import noun

SEARCH = "SearchExtraTools"
"""The name of the tool that finds deferred tools."""
EXECUTE = "ExecuteExtraTool"
"""The name of the tool that calls a deferred tool."""

DEFINITION = "tool:"
"""The prefix of resource addresses of tool definitions in the result of a search."""

ON, OFF, AUTO = 0, 100, 10
_MODE = late_pattern(r"auto:([0-9]{1,3})")


def percent_of(text: str) -> int:
    """Return the percentage of the context window above which tools are deferred; 0 defers tools always, 100 never.

    Raise ValueError unless the setting is on, off, auto or auto:N.
    """
    known = {"on": ON, "off": OFF, "auto": AUTO}
    if text in known:
        return known[text]
    found = _MODE.fullmatch(text)
    if found is None or int(found[1]) > OFF:
        raise ValueError
    return int(found[1])


@noun
class SearchUse:
    """The state of tool search.

    mode      the value of the setting
    deferred  the number of deferred tools
    tokens    the estimated number of tokens of their definitions, which requests do not contain
    """

    mode: str
    deferred: int
    tokens: int

    @property
    def sentence(self) -> str:
        if not self.deferred:
            return f"{self.mode}: no tool is deferred"
        count, them = ("1 tool is", "it") if self.deferred == 1 else (f"{self.deferred:,} tools are", "they")
        return f"{self.mode}: {count} deferred; in every request {them} would take about {self.tokens:,} tokens"
