"""The names of servers and their tools in rules and requests: ``mcp__server__tool``.

A rule names a server as ``mcp__server``, so a server name contains no double underscore and does not begin or end with
an underscore. A tool whose own name has other characters is refused, not renamed.
"""

import re
from collections.abc import Iterable
from hashlib import sha256

LONGEST = 64
"""The most characters of a tool's full name, which every provider accepts."""
_LONGEST_SERVER = 32
_GIVEN = re.compile(r"[A-Za-z0-9_.-]{1,64}")
_SERVER = re.compile(r"[A-Za-z0-9_. -]{1,64}")
_ODD = re.compile(r"[^A-Za-z0-9-]+|_+")


def server_name(given: str) -> str:
    """Return the name of a server as used in tool names. Raise ValueError if no valid name can be made of it."""
    if _SERVER.fullmatch(given) is None:
        raise ValueError("its name must have 1 to 64 characters: A-Z a-z 0-9 _ . - and blanks")
    name = _ODD.sub("_", given).strip("_")
    if not name:
        raise ValueError("its name must contain a letter or a digit")
    return name if len(name) <= _LONGEST_SERVER else f"{name[: _LONGEST_SERVER - 9].rstrip('_')}-{_digest(given)}"


def is_valid(tool: str) -> bool:
    """Return True if a server may give a tool this name."""
    return _GIVEN.fullmatch(tool) is not None


def tool_names(server: str, tools: Iterable[str]) -> dict[str, str]:
    """Return the full name of each tool by the name that the server uses; tools with invalid names are omitted. If a
    full name is too long or already used, it ends with a hash of the original name."""
    plain = {tool: f"mcp__{server}__{tool.replace('.', '_')}" for tool in dict.fromkeys(tools) if is_valid(tool)}
    found: dict[str, str] = {}
    for tool, name in sorted(plain.items(), key=lambda pair: "." in pair[0]):
        if len(name) > LONGEST or name in found.values():
            name = f"{name[: LONGEST - 9]}-{_digest(tool)}"
        found[tool] = name
    return found


def _digest(text: str) -> str:
    return sha256(text.encode()).hexdigest()[:8]
