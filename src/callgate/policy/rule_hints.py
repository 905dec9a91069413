"""Hints on rules that are valid but may not have the intended effect. The hints are shown to users and never affect
a decision."""

import re
from collections.abc import Collection, Iterable

from callgate.policy.entries import RuleLine, SettingsFault
from callgate.policy.rule_contents import CommandContent, DeclaredContent, FieldsContent, PathContent
from callgate.policy.rule_fields import FieldPattern
from callgate.policy.rules import Rule, server_of, sure_server
from callgate.policy.well_known import TABLE, meant_by

_ALMOST_MCP = re.compile(r"mcp_(?!_)|mcp-")
_CLOSE = 0.7
_BRACES = re.compile(r"\{[^{}/]*,[^{}/]*\}")
_ESCAPED_LETTER = re.compile(r"\\(?=\w)")
_LAST_COLON = re.compile(r"[\w.-]+:")
_QUOTES = ("'", '"')


def hint(rule: Rule, tools: Collection[str] = (), servers: Collection[str] = ()) -> str | None:
    """Return a hint on a rule that may not have the intended effect, or None.

    tools    the names of further known tools
    servers  the names of configured MCP servers
    """
    content = rule.content
    if isinstance(content, CommandContent):
        return _on_command(rule, content)
    if isinstance(content, PathContent):
        return _on_path(content.pattern.text)
    if isinstance(content, FieldsContent):
        quoted = next((each for each in map(_inside_quotes, content.patterns) if each), None)
        return quoted or _on_name(rule.tool, tools, servers)
    if isinstance(content, DeclaredContent):
        return f"the meaning of the content of {rule.tool} is known only when the tool is called"
    return _on_name(rule.tool, tools, servers)


def name_notes(lines: Iterable[RuleLine], tools: Collection[str], servers: Collection[str]) -> list[SettingsFault]:
    """Return notes on rules whose names are similar to the name of a tool or server. Only names are compared, which
    is fast enough for the start of a session."""
    told = ((line, _on_name(line.text.partition("(")[0], tools, servers)) for line in lines)
    return [SettingsFault(f"{line.effect} {line.text}: {found}", line.origin) for line, found in told if found]


def _on_name(name: str, tools: Collection[str], servers: Collection[str]) -> str | None:
    if name in tools:
        return None
    if name.startswith("mcp__"):
        return _on_server(name, servers)
    if _ALMOST_MCP.match(name):
        return "tools of MCP servers are named mcp__server__tool, with double underscores: use mcp__ for such a tool"
    meant = _close_to(name, tools) or meant_by(name)
    return f"names of tools must be exact: did you mean {meant}?" if meant else None


def _close_to(name: str, tools: Collection[str]) -> str | None:
    """Return the tool whose name is most similar to an unknown name; None if there is no similar name."""
    if name in TABLE or not tools:
        return None
    from difflib import get_close_matches  # only for an unknown name

    small = {each.lower(): each for each in sorted(tools)}
    close = get_close_matches(name.lower(), small, n=1, cutoff=_CLOSE)
    return small[close[0]] if close else None


def _on_server(name: str, servers: Collection[str]) -> str | None:
    """Return a note if the name of a server is similar to a configured server, otherwise None. Unknown names without
    a similar server get no note, because the server may be configured elsewhere."""
    if not servers or any(f"{name}__".startswith(f"mcp__{each}__") for each in servers):
        return None
    from difflib import get_close_matches  # only for an unknown name

    close = get_close_matches(sure_server(name) or server_of(name) or "", servers, n=1, cutoff=_CLOSE)
    return f"unknown MCP server: did you mean mcp__{close[0]}?" if close else None


def _on_path(text: str) -> str | None:
    if _BRACES.search(text):
        return "braces are not expanded: write one rule for each name"
    if _ESCAPED_LETTER.search(text):
        return f"a backslash only escapes the next character: write {_ESCAPED_LETTER.sub('/', text)}"
    return None


def _inside_quotes(field: FieldPattern) -> str | None:
    value = str(field.value)
    if len(value) > 1 and value[0] in _QUOTES and value[0] == value[-1]:
        return f"the quotes are part of the value: write {field.name}={value[1:-1]}"
    return None


def _on_command(rule: Rule, content: CommandContent) -> str | None:
    pattern = content.pattern
    if pattern.program is None:
        begins = pattern.pieces[0][0]
        instead = f"{rule.tool}({begins}:*)" if begins else f"the program, or {rule.tool} alone for every command"
        if rule.effect == "allow":
            return f"a star instead of the program allows nothing: write {instead}"
        return None if pattern.everything or not begins else f"the star matches any program: write {instead}"
    if _LAST_COLON.fullmatch(pattern.content.rpartition(" ")[2]):
        meant = f"{rule.tool}({pattern.content}*)"
        return f"this is the exact command: write {meant} for all commands that begin with these words"
    return None
