"""Valid names of tools, and the names that are close to an unknown one."""

import re
from collections.abc import Iterable, Sequence
from difflib import get_close_matches

from callgate.words.errors import ToolDefinitionError

# What every provider accepts; a longer or dotted name would make one of them refuse the whole request.
_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
# The model wrote it, so it may be of any length; comparing is quadratic.
_LONGEST = 100


def check_name(name: str) -> str:
    if _NAME.fullmatch(name) is None:
        hint = " (give it one with name=)" if name.startswith("<") else ""
        raise ToolDefinitionError(f"{name!r} cannot name a tool: 1 to 64 of A-Z a-z 0-9 _ -{hint}")
    return name


def check_aliases(tool: str, aliases: Sequence[str]) -> tuple[str, ...]:
    """Aliases are never sent to a provider, so they may be anything a model is likely to write."""
    if isinstance(aliases, str):
        raise ToolDefinitionError(f"tool {tool!r}: aliases must be a list of names, not the string {aliases!r}")
    for alias in aliases:
        if not isinstance(alias, str) or not alias.strip():  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ToolDefinitionError(f"tool {tool!r}: {alias!r} cannot be an alias")
    if len({tool, *aliases}) <= len(aliases):
        raise ToolDefinitionError(f"tool {tool!r}: its aliases repeat each other or its name")
    return tuple(aliases)


def close_names(name: str, known: Iterable[tuple[str, Iterable[str]]], most: int = 3) -> tuple[str, ...]:
    """Names of tools (given with their aliases) that may have been meant, nearest first. Never raises."""
    wanted = _squashed(name[:_LONGEST])
    owners: dict[str, str] = {}
    for tool, aliases in known:
        for each in (tool, *aliases):
            owners.setdefault(_squashed(each), tool)
    if not wanted:
        return ()
    same = [wanted] if wanted in owners else []
    # Short pieces are contained in everything.
    inside = [each for each in owners if min(len(each), len(wanted)) >= 3 and (each in wanted or wanted in each)]
    inside.sort(key=lambda each: abs(len(each) - len(wanted)))
    alike = get_close_matches(wanted, owners, n=most, cutoff=0.6)
    return tuple(dict.fromkeys(owners[each] for each in (*same, *inside, *alike)))[:most]


def _squashed(name: str) -> str:
    return "".join(filter(str.isalnum, name.casefold()))
