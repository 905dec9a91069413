"""True if a remembered answer would cover fewer calls than before.

What two patterns cover is compared by examples: one that the new pattern covers, and one that the old one does. That
finds what is plainly wrong; it proves nothing.
"""

import re
from typing import Protocol, cast

from callgate.policy.answer_rules import as_rule
from callgate.policy.contents import Written
from callgate.policy.well_known import known
from callgate.words.decisions import ApprovalPolicy, Effect, Pattern

_GLOB = re.compile(r"\\(.)|\*+|\?|\[!?(.)[^\]]*\]")


class _Covers(Protocol):
    def __call__(self, text: str) -> bool: ...


def why_not_narrower(before: ApprovalPolicy, after: ApprovalPolicy, *, root: str, home: str) -> str | None:
    """In words, or None when nothing speaks against it."""
    if before.pattern is None or after.pattern is None:
        return None if after.pattern is not None else "it is about every call"
    old, new = (_covering(each, root, home) for each in (before, after))
    if old is None or new is None:
        return None
    inner = _example(after.tool, after.pattern)
    if new(inner) and not old(inner):
        return f"it would cover {inner!r}, which is not covered now"
    outer = _example(before.tool, before.pattern)
    return f"it covers {outer!r} still, and more" if old(outer) and new(outer) else None


def _covering(policy: ApprovalPolicy, root: str, home: str) -> _Covers | None:
    """A function that tries an example on its content; None for exact arguments, and for what cannot be read."""
    content = as_rule(policy, root, home).content
    if not hasattr(content, "tried"):
        return None
    effect: Effect = policy.effect

    def covers(text: str) -> bool:
        try:
            return cast(Written, content).tried(text, effect, root=root, home=home)
        except ValueError:
            return False

    return covers


def _example(tool: str, pattern: Pattern) -> str:
    """A content that the pattern should cover, as a self-test would write it."""
    text = pattern.value
    content = known(tool).content
    if content == "command":
        return text.removesuffix(":*").replace("*", "x")
    if content == "path":
        text = text[1:] if text.startswith("//") else text.lstrip("/")
        return _GLOB.sub(lambda found: found[1] or found[2] or "x", text)
    return (text.removeprefix("domain:") if content == "address" else text).replace("*", "x")
