"""Remembered answers as rules: the same matching, the same order, one layer further out than any file."""

from functools import lru_cache

from callgate import shell
from callgate.policy.contents import READS, WRITES, Arguments, Command, Content, Path, Unreadable, parse_content
from callgate.policy.paths import parse_path_pattern
from callgate.policy.rules import Rule, server_of
from callgate.policy.well_known import known
from callgate.words.decisions import ApprovalPolicy, Origin, Pattern


@lru_cache(maxsize=1024)
def as_rule(policy: ApprovalPolicy, root: str, home: str) -> Rule:
    """A remembered answer as a rule. Never raises: an unreadable one allows nothing; as deny or ask it counts for the
    whole tool.

    An answer counts for the tool it was given about, by that name; a deny or an ask on Edit or Read for every tool that
    edits or reads. Outside the workspace it allows what it spells out: these arguments, this command, this place.
    """
    pattern = policy.pattern
    try:
        content = None if pattern is None else _content(policy.tool, pattern, root, home)
    except ValueError as error:
        content = Unreadable(str(error))
    one_command = isinstance(content, Command) and content.pattern.kind == "exact"
    reaches = one_command or isinstance(content, Arguments | Path)  # a path bound to the root is never outside
    return Rule(
        policy.effect,
        describe(policy),
        policy.tool,
        Origin(policy.scope),
        content,
        policy.expires_at,
        policy.note,
        server=server_of(policy.tool),
        kind="" if policy.effect == "allow" else known(policy.tool).kind,
        reaches=reaches,
    )


def _content(tool: str, pattern: Pattern, root: str, home: str) -> Content:
    if pattern.kind == "exact":
        return Arguments(pattern.value)
    if pattern.kind == "prefix":
        return Command(shell.parse_pattern(f"{pattern.value.strip()}:*"), pattern.field)
    if pattern.kind == "glob":
        anchored = pattern.value if pattern.value.startswith(("/", "~/")) else f"/{pattern.value}"
        return Path(parse_path_pattern(anchored, root=root, home=home), READS | WRITES, pattern.field)
    return parse_content(tool, pattern.value, root=root, home=home)


def describe(policy: ApprovalPolicy) -> str:
    """Names a remembered answer the way a decision's ``by`` does."""
    pattern = policy.pattern
    if pattern is None:
        reach = ""
    elif pattern.kind == "exact":
        reach = f"(these arguments, {pattern.value[:8]})"
    else:
        reach = f"({pattern.value}{':*' if pattern.kind == 'prefix' else ''})"
    return f"policy {policy.effect} {policy.tool}{reach} [{policy.scope}]"
