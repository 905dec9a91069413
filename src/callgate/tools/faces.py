"""The form of a tool call for people: a title, a kind of icon, one line. Every door shows calls by these."""

import re
from collections.abc import Mapping
from typing import Any

from callgate.core.ports import Tool
from callgate.words.declared import UNDECLARED, label_of
from callgate.words.noun import noun
from callgate.words.traits import Icon, Traits

_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+|[^\W\d_a-zA-Z]+")


@noun
class CallFace:
    """``title`` names the tool, ``line`` the call: ``Read(src/app.py)``. Both hold text of tools and models: a door
    makes it safe to show, see ``formats.display``."""

    title: str
    icon: Icon
    line: str


def title_from(name: str) -> str:
    """``WebFetch`` and ``web_fetch`` are ``Web fetch``; of a tool of an MCP server the server comes first."""
    server, _, rest = name.removeprefix("mcp__").partition("__") if name.startswith("mcp__") else ("", "", name)
    words = _WORDS.findall(rest or name)
    plain = " ".join(each if each.isupper() and len(each) > 1 else each.lower() for each in words) or name
    title = plain[:1].upper() + plain[1:]
    return f"{server}: {title}" if server and rest else title


def face_of(tool: Tool, arguments: Mapping[str, Any]) -> CallFace:
    """The face of one call; of a call whose arguments do not fit, that of the tool alone."""
    try:
        traits = tool.traits(arguments)
        line = label_of(tool.spec.name, traits.declared, arguments)
    except Exception:
        traits, line = Traits(), label_of(tool.spec.name, UNDECLARED, arguments)
    return CallFace(getattr(tool, "title", "") or title_from(tool.spec.name), traits.icon, line)


def unknown_face(name: str, arguments: Mapping[str, Any]) -> CallFace:
    """The face of a call of a tool that is not at hand."""
    return CallFace(title_from(name), Traits().icon, label_of(name, UNDECLARED, arguments))
