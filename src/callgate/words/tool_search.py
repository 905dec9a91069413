"""Tool search: the names of its two tools, and the setting that says when tools are deferred."""

from callgate.words.late_pattern import late_pattern
from callgate.words.noun import noun

SEARCH = "SearchExtraTools"
"""Finds deferred tools."""
EXECUTE = "ExecuteExtraTool"
"""Calls one of them."""

DEFINITION = "tool:"
"""The scheme of the address under which the definition of a tool stands in the answer of a search."""

ON, OFF, AUTO = 0, 100, 10
_MODE = late_pattern(r"auto:([0-9]{1,3})")


def percent_of(text: str) -> int:
    """The share of the context window, in percent, from which on tools are deferred: 0 always, 100 never. ValueError
    for anything but on, off, auto and auto:N."""
    known = {"on": ON, "off": OFF, "auto": AUTO}
    if text in known:
        return known[text]
    found = _MODE.fullmatch(text)
    if found is None or int(found[1]) > OFF:
        raise ValueError
    return int(found[1])


@noun
class SearchUse:
    """Tool search as it is in force. ``mode`` is that of the settings, ``deferred`` the number of deferred tools,
    ``tokens`` an estimate of what their definitions would take in every request."""

    mode: str
    deferred: int
    tokens: int

    @property
    def sentence(self) -> str:
        """For people."""
        if not self.deferred:
            return f"{self.mode}: no tool is deferred"
        count, them = ("1 tool is", "it") if self.deferred == 1 else (f"{self.deferred:,} tools are", "they")
        return f"{self.mode}: {count} deferred; in every request {them} would take about {self.tokens:,} tokens"
