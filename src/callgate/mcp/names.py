"""Names of servers and their tools, as models, rules and people know them: ``mcp__server__tool``.

A rule names a server by ``mcp__server``, so that a name has no two lines in a row and none at its ends. A name that a
server gives a tool flows into rules and requests: one with other characters than these is refused, not repaired.
"""

import re
from collections.abc import Iterable
from hashlib import sha256

LONGEST = 64
"""Characters of a tool's whole name, which every provider accepts."""
_LONGEST_SERVER = 32
_GIVEN = re.compile(r"[A-Za-z0-9_.-]{1,64}")
_SERVER = re.compile(r"[A-Za-z0-9_. -]{1,64}")
_ODD = re.compile(r"[^A-Za-z0-9-]+|_+")


def server_name(given: str) -> str:
    """The name of a server as the names of its tools spell it; ValueError where none can be made."""
    if _SERVER.fullmatch(given) is None:
        raise ValueError("its name has 1 to 64 of A-Z a-z 0-9 _ . - and blanks")
    name = _ODD.sub("_", given).strip("_")
    if not name:
        raise ValueError("its name needs a letter or a digit")
    return name if len(name) <= _LONGEST_SERVER else f"{name[: _LONGEST_SERVER - 9].rstrip('_')}-{_digest(given)}"


def is_valid(tool: str) -> bool:
    """True for a name that a server may give a tool."""
    return _GIVEN.fullmatch(tool) is not None


def tool_names(server: str, tools: Iterable[str]) -> dict[str, str]:
    """The whole name of each tool by the name that its server gave it; names that are not valid are left out. One that
    is too long, and all but one that would become the same, get a number made of the name that the server gave."""
    plain = {tool: f"mcp__{server}__{tool.replace('.', '_')}" for tool in dict.fromkeys(tools) if is_valid(tool)}
    found: dict[str, str] = {}
    for tool, name in sorted(plain.items(), key=lambda pair: "." in pair[0]):
        if len(name) > LONGEST or name in found.values():
            name = f"{name[: LONGEST - 9]}-{_digest(tool)}"
        found[tool] = name
    return found


def _digest(text: str) -> str:
    return sha256(text.encode()).hexdigest()[:8]
