"""Converts remembered answers to rules.

The rules are matched and sorted like the rules of settings files, but belong to no settings file.
"""

from functools import lru_cache
from typing import cast

from callgate import shell
from callgate.policy.path_patterns import parse_path_pattern
from callgate.policy.rule_contents import (
    READS,
    WRITES,
    CommandContent,
    Content,
    ExactArguments,
    PathContent,
    RuleContent,
    UnreadableContent,
    parse_content,
)
from callgate.policy.rules import Rule, server_of
from callgate.policy.well_known import OUTSIDE, known
from callgate.words.decisions import ApprovalPolicy, Origin, Pattern
from callgate.words.late_pattern import late_pattern

_GLOB = late_pattern(r"\\(.)|\*+|\?|\[!?(.)[^\]]*\]")


@lru_cache(maxsize=1024)
def as_rule(policy: ApprovalPolicy, root: str, home: str) -> Rule:
    """Return a remembered answer as a rule.

    The rule applies to the tool that the answer names; an answer on Outside applies to every tool with a command. A
    deny or ask answer on Edit or Read applies to every tool that edits or reads. Outside the workspace an answer
    allows only the arguments, command or path that it contains literally. An answer with an unreadable pattern allows
    nothing; as deny or ask it matches every call of the tool.
    """
    pattern = policy.pattern
    try:
        content = None if pattern is None else _content(policy.tool, pattern, root, home)
    except ValueError as error:
        content = UnreadableContent(str(error))
    one_command = isinstance(content, CommandContent) and content.pattern.kind == "exact"
    reaches = one_command or isinstance(
        content, ExactArguments | PathContent
    )  # a path relative to the root is never outside
    return Rule(
        effect=policy.effect,
        text=describe(policy),
        tool=policy.tool,
        origin=Origin(policy.scope),
        content=content,
        expires_at=policy.expires_at,
        note=policy.note,
        server=server_of(policy.tool),
        kind="" if policy.effect == "allow" and policy.tool != OUTSIDE else known(policy.tool).kind,
        reaches=reaches,
    )


def _content(tool: str, pattern: Pattern, root: str, home: str) -> Content:
    if pattern.kind == "exact":
        return ExactArguments(pattern.value)
    if pattern.kind == "prefix":
        return CommandContent(shell.parse_pattern(f"{pattern.value.strip()}:*"), pattern.field)
    if pattern.kind == "glob":
        anchored = pattern.value if pattern.value.startswith(("/", "~/")) else f"/{pattern.value}"
        return PathContent(parse_path_pattern(anchored, root=root, home=home), READS | WRITES, pattern.field)
    return parse_content(tool, pattern.value, root=root, home=home)


def describe(policy: ApprovalPolicy) -> str:
    """Return the name of a remembered answer, as in ``Decision.by``."""
    return f"policy {policy.effect} {policy.covers} [{policy.scope}]"


def why_not_narrower(before: ApprovalPolicy, after: ApprovalPolicy, *, root: str, home: str) -> str | None:
    """Return why the new pattern is not narrower than the old pattern, or None. Only one example of each pattern is
    tested, so None is not a proof."""
    if before.pattern is None or after.pattern is None:
        return None if after.pattern is not None else "it applies to every call"
    old, new = (as_rule(each, root, home).content for each in (before, after))
    if isinstance(old, ExactArguments):
        return "it already covers only one call"
    if isinstance(old, UnreadableContent) or isinstance(new, ExactArguments | UnreadableContent):
        return None  # they cannot be compared
    inner, outer = (_example(each.tool, cast(Pattern, each.pattern)) for each in (after, before))

    def covers(content: object, text: str) -> bool:
        try:
            return cast(RuleContent, content).tried(text, before.effect, root=root, home=home)
        except ValueError:
            return False

    if covers(new, inner) and not covers(old, inner):
        return f"it would cover {inner!r}, which the answer does not cover"
    return f"it still covers {outer!r}" if covers(old, outer) and covers(new, outer) else None


def _example(tool: str, pattern: Pattern) -> str:
    """Return the content of an example call that the pattern should cover, in the form used by self-tests."""
    text = pattern.value
    content = known(tool).content
    if content == "command":
        return text.removesuffix(":*").replace("*", "x")
    if content == "path":
        text = text[1:] if text.startswith("//") else text.lstrip("/")
        return _GLOB.sub(lambda found: found[1] or found[2] or "x", text)
    return (text.removeprefix("domain:") if content == "address" else text).replace("*", "x")
