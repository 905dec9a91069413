"""Hints on rules that are valid and may still not mean what their author intended. They are for a person who checks
settings, and decide nothing."""

import re

from callgate.policy.contents import CommandContent, DeclaredContent, FieldsContent, PathContent
from callgate.policy.rules import Rule
from callgate.policy.well_known import meant_by

_ALMOST_MCP = re.compile(r"mcp_(?!_)|mcp-")
_BRACES = re.compile(r"\{[^{}/]*,[^{}/]*\}")
_NEEDLESS = re.compile(r"\\([^*?\[\]\\!# ^-])")
"""A backslash before a sign that means nothing by itself."""


def hint(rule: Rule) -> str | None:
    """The rule to write instead, or None when this one looks as if it were meant."""
    content = rule.content
    if isinstance(content, CommandContent):
        return _on_command(rule, content)
    if isinstance(content, PathContent):
        return _on_path(content)
    if isinstance(content, DeclaredContent):
        return f"what the brackets of {rule.tool} hold is only known when it is called: a part that it declares"
    found = _on_fields(content) if isinstance(content, FieldsContent) else None
    return found or _on_name(rule)


def _on_name(rule: Rule) -> str | None:
    if _ALMOST_MCP.match(rule.tool):
        return "tools of servers are called mcp__server__tool, with two lines each: write mcp__ if that is meant"
    meant = meant_by(rule.tool)
    return f"tools are named exactly: if {meant} is meant, write that" if meant else None


def _on_command(rule: Rule, content: CommandContent) -> str | None:
    pattern = content.pattern
    if pattern.program is None:
        begins = pattern.pieces[0][0]
        instead = f"{rule.tool}({begins}:*)" if begins else f"the program, or {rule.tool} alone for every command"
        if rule.effect == "allow":
            return f"a star in the place of the program allows nothing: write {instead}"
        return None if pattern.everything or not begins else f"the star stands for any program: write {instead}"
    last = pattern.pieces[-1][-1]
    if pattern.kind == "exact" and len(pattern.pieces) > 1 and len(last) > 1 and last.endswith(":"):
        return f"this is exactly that command: write {rule.tool}({pattern.content}*) for all that begin so"
    return None


def _on_path(content: PathContent) -> str | None:
    text = content.pattern.text
    if _BRACES.search(text):
        return "braces are part of the name here: write a rule for each"
    if found := _NEEDLESS.search(text):
        return f"the backslash stands for nothing but the {found[1]} after it: write / between folders"
    return None


def _on_fields(content: FieldsContent) -> str | None:
    for each in content.patterns:
        value = str(each.value)
        if len(value) > 1 and value[0] == value[-1] and value[0] in "'\"":
            return f"the quotes are part of the value: write {each.name}={value[1:-1]}"
    return None
