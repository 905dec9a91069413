"""Hints on rules that are valid and may still not mean what their author intended. They are for a person who checks
settings, and decide nothing."""

import re

from callgate.policy.contents import CommandContent, DeclaredContent, PathContent
from callgate.policy.rules import Rule
from callgate.policy.well_known import meant_by

_ALMOST_MCP = re.compile(r"mcp_(?!_)|mcp-")
_BRACES = re.compile(r"\{[^{}/]*,[^{}/]*\}")


def hint(rule: Rule) -> str | None:
    """The rule to write instead, or None when this one looks as if it were meant."""
    content = rule.content
    if isinstance(content, CommandContent):
        return _on_command(rule, content)
    if isinstance(content, PathContent):
        return (
            "braces are part of the name here: write a rule for each" if _BRACES.search(content.pattern.text) else None
        )
    if isinstance(content, DeclaredContent):
        return f"what the brackets of {rule.tool} hold is only known when it is called: a part that it declares"
    return _on_name(rule)


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
    return None
