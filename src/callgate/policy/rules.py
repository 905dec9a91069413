"""Parses rules, ``Tool`` or ``Tool(content)``, and compiles all rules of a session to a Rulebook.

A tool is named exactly. ``mcp__server`` and ``mcp__server__*`` name every tool of the server. ``mcp__*`` names every
tool of every server and ``*`` names every tool; both are only valid in deny and ask rules. The content is the text
between the first ``(`` and the last character, which must be ``)``; parentheses in the content need no escape.

Remembered answers are converted to rules, which belong to no settings file.
"""

import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import cast, get_args

from callgate import shell
from callgate.policy.entries import IN_REPOSITORY, REACHES_OUTSIDE, Layer, RuleLine, SettingsFault
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
from callgate.policy.subjects import Subject
from callgate.policy.well_known import OUTSIDE, known, meant_by
from callgate.words.decisions import ApprovalPolicy, Effect, Origin, Pattern
from callgate.words.late_pattern import late_pattern
from callgate.words.noun import noun
from callgate.words.resolved_path import ResolvedPath

_TOOL = late_pattern(r"\*|mcp__\*|mcp__(?:[A-Za-z0-9-]|_(?!_))+__\*|[A-Za-z0-9_-]+")
_SERVER = late_pattern(r"mcp__(?:[A-Za-z0-9-]|_(?!_))+")
_LAYERS: tuple[str, ...] = get_args(Layer)


def parse_rule(text: str) -> tuple[str, str | None]:
    """Return the tool and the content of a rule. The content is None for a rule on the whole tool. Raise ValueError
    with the position if the rule is invalid."""
    for at, letter in enumerate(text, start=1):
        if unicodedata.category(letter) in ("Cc", "Cf", "Co", "Cs"):
            raise ValueError(f"an invisible character, U+{ord(letter):04X}, at character {at}")
    named = _TOOL.match(text)
    if named is None:
        raise ValueError("a rule must start with the name of a tool, at character 1")
    tool, rest = named[0], text[named.end() :]
    at = named.end() + 1
    if tool.endswith("__") and _SERVER.fullmatch(tool[:-2]):
        raise ValueError(f"{tool} is not a tool: write {tool[:-2]} for all tools of the server, at character 1")
    if not rest:
        return tool, None
    if rest[0] != "(":
        raise ValueError(f"{rest[0]!r} is not allowed in the name of a tool, at character {at}")
    if rest[-1] != ")":
        wrong = "the closing bracket is missing" if ")" not in rest else "there is text after the closing bracket"
        raise ValueError(f"{wrong}, at character {len(text)}")
    if not rest[1:-1].strip():
        raise ValueError(
            f"the brackets at character {at} are empty; to match every call, write {tool} without brackets"
        )
    if tool in ("*", "mcp__*"):
        raise ValueError(f"{tool} matches any tool and cannot have a content, at character {at}")
    return tool, rest[1:-1]


@noun
class Rule:
    """A compiled rule.

    server   the MCP server that the rule names; ``*`` for all servers, None if the rule names a tool
    kind     the part of a subject, such as ``command``, by which the rule applies to tools of any name
    reaches  the rule may allow access outside the workspace
    """

    effect: Effect
    text: str
    tool: str
    origin: Origin
    content: Content | None = None
    expires_at: float | None = None
    note: str | None = None
    server: str | None = None
    kind: str = ""
    reaches: bool = False

    def is_active(self, now: float) -> bool:
        return self.expires_at is None or now < self.expires_at

    def names(self, tool: str, server: str = "") -> bool:
        """Return True if a deny or ask rule names the tool. If the name of the tool is ambiguous, every possible server
        matches.

        server  the server of the tool; empty if it is unknown
        """
        if self.tool in (tool, "*") or (server and self.tool == f"mcp__{server}"):
            return True
        if self.server is None:
            return False
        if self.server == "*":
            return bool(server) or tool.startswith("mcp__")
        return server == self.server if server else tool.startswith(f"mcp__{self.server}__")

    def names_surely(self, tool: str, server: str = "") -> bool:
        """Return True if an allow rule names the tool or its MCP server. A tool name that could belong to two servers
        matches no server."""
        return self.tool == tool or (self.server is not None and (server or sure_server(tool)) == self.server)

    def concerns(self, subject: Subject) -> bool:
        """Return True if a deny or ask rule applies to the tool. The content of the rule is not compared."""
        if self.kind and (subject.has(self.kind) or (self.content is not None and self.kind in ("reads", "writes"))):
            return True
        return any(self.names(name, subject.case.traits.server) for name in subject.names)

    def against(self, subject: Subject) -> str | None:
        """Return why a deny or ask rule applies to the call, or None."""
        if not self.is_active(subject.case.now) or not self.concerns(subject):
            return None
        return f"the rule matches every call of {self.tool}" if self.content is None else self.content.against(subject)

    def is_for(self, subject: Subject) -> bool:
        """Return True if an allow rule applies to the tool. It applies by the name of the tool, or by its kind if
        the tool declares nothing else."""
        own = self.names_surely(subject.case.name, subject.case.traits.server)
        return own or (self.kind not in ("", "reads", "writes") and subject.is_just(self.kind))

    def covers(self, subject: Subject) -> bool:
        """Return True if an allow rule covers the call. Paths outside the workspace are not checked here."""
        if not self.is_active(subject.case.now) or not self.is_for(subject):
            return False
        return self.content is None or self.content.covers(subject)


def make_rule(line: RuleLine, *, root: str, home: str) -> Rule:
    """Compile a rule. Raise ValueError with the position in the text if the rule is invalid."""
    tool, inside = parse_rule(line.text)
    if line.effect == "allow" and tool in ("*", "mcp__*"):
        raise ValueError(f"{tool} is possible only in deny and ask rules: name a tool or a server, at character 1")
    content = None
    if inside is not None and not (known(tool).content == "command" and inside.strip() == "*"):
        try:
            content = parse_content(tool, inside, root=root, home=home)
        except ValueError as error:
            if meant := meant_by(tool):
                raise ValueError(f"names of tools must be exact: write {meant}, at character 1") from error
            raise ValueError(_moved(str(error), len(tool) + 1)) from error
    return Rule(
        effect=line.effect,
        text=line.text,
        tool=tool,
        origin=line.origin,
        content=content,
        expires_at=line.expires_at,
        note=line.note,
        server=server_of(tool),
        kind=known(tool).kind,
        reaches=line.origin.layer in REACHES_OUTSIDE,
    )


def server_of(tool: str) -> str | None:
    """Return the MCP server that the rule names: ``a`` for ``mcp__a`` and ``mcp__a__*``, ``*`` for ``mcp__*``.
    Return None if the rule names a tool."""
    whole = tool.removesuffix("__*") if tool != "mcp__*" else tool
    found = _SERVER.fullmatch(whole)
    return "*" if tool == "mcp__*" else whole.removeprefix("mcp__") if found else None


def sure_server(tool: str) -> str:
    """Return the MCP server in the name of a tool; empty if the name is ambiguous."""
    found = re.fullmatch(r"mcp__((?:[^_]|_(?!_))*[^_])__([^_](?:[^_]|_(?!_))*)", tool)
    return found[1] if found else ""


def _moved(message: str, by: int) -> str:
    return re.sub(r"\bcharacter (\d+)", lambda found: f"character {int(found[1]) + by}", message)


@noun
class Ignored:
    """A rule without effect, and the reason."""

    line: RuleLine
    why: str


@noun
class Rulebook:
    """All effective rules of a session. If several rules apply, their order determines which rule is reported, never
    the decision."""

    root: str = ""
    home: str = ""
    denies: tuple[Rule, ...] = ()
    asks: tuple[Rule, ...] = ()
    allows: tuple[Rule, ...] = ()
    faults: tuple[SettingsFault, ...] = ()
    ignored: tuple[Ignored, ...] = ()

    @staticmethod
    def of(
        lines: Iterable[RuleLine], *, root: str, home: str, now: float = 0.0, faults: Iterable[SettingsFault] = ()
    ) -> "Rulebook":
        """Compile every rule and run its self-tests. ``faults`` are faults that were already found in the files."""
        wrong = list(faults)
        ignored: list[Ignored] = []
        rules: list[Rule] = []
        for line in lines:
            made = _compiled(line, root, home)
            if isinstance(made, SettingsFault):
                wrong.append(made)
            elif (why := _no_use(line, now)) is not None:
                ignored.append(Ignored(line, why))
            else:
                rules.append(made)
        rules.sort(key=_rank)
        return Rulebook(
            root=root,
            home=home,
            denies=tuple(rule for rule in rules if rule.effect == "deny"),
            asks=tuple(rule for rule in rules if rule.effect == "ask"),
            allows=tuple(rule for rule in rules if rule.effect == "allow"),
            faults=tuple(wrong),
            ignored=tuple(ignored),
        )

    @property
    def rules(self) -> tuple[Rule, ...]:
        return (*self.denies, *self.asks, *self.allows)

    def denies_whole(self, tool: str, server: str = "") -> bool:
        """Return True if a rule without an expiry denies every call of the tool. Such a tool is not offered to the
        model."""
        whole = (rule for rule in self.denies if rule.content is None and rule.expires_at is None)
        return any(rule.names(tool, server) for rule in whole)

    def withheld(self) -> Callable[[str], str | None]:
        """Return a function from a path to the text of the deny or ask rule that applies to reading the file, or
        None. The path must be absolute and without links."""
        found = [(rule, content) for rule, content in path_rules((*self.denies, *self.asks)) if "read" in content.ways]

        def rule_for(path: str) -> str | None:
            place = ResolvedPath(path, (path,), path, inside=True)
            return next((rule.text for rule, content in found if content.pattern.may_match(place)), None)

        return rule_for if found else lambda path: None


EMPTY = Rulebook()


def path_rules(rules: Sequence[Rule]) -> list[tuple[Rule, PathContent]]:
    """Return the rules on paths, except rules on the path in an argument."""
    return [(rule, rule.content) for rule in rules if isinstance(rule.content, PathContent) and not rule.content.field]


def _rank(rule: Rule) -> tuple[int, str, str, int]:
    origin = rule.origin
    return _LAYERS.index(origin.layer), rule.text, origin.file, origin.line


def _no_use(line: RuleLine, now: float) -> str | None:
    if line.effect == "allow" and line.origin.layer in IN_REPOSITORY:
        return f"a repository can only add restrictions, so allow rules of {line.origin.layer} settings are ignored"
    if line.expires_at is not None and line.expires_at <= now:
        return "the rule has expired"
    return None


def _compiled(line: RuleLine, root: str, home: str) -> Rule | SettingsFault:
    text, origin = line.text, line.origin
    if origin.layer not in _LAYERS:
        return SettingsFault(f"the rule {text} comes from {origin.layer!r}, which is not a layer of settings", origin)
    try:
        rule = make_rule(line, root=root, home=home)
    except ValueError as error:
        return SettingsFault(f"the {line.effect} rule {text} is invalid: {error}", origin)
    for wanted, examples in (("match", line.match), ("not_match", line.not_match)):
        for example in examples:
            try:
                covered = _tried(rule, example, root, home)
            except ValueError as error:
                return SettingsFault(f"a self-test of {text} is invalid: {wanted} {example!r}: {error}", origin)
            if covered is not (wanted == "match"):
                says = "covers" if covered else "does not cover"
                return SettingsFault(f"a self-test of {text} fails: {wanted} {example!r}: the rule {says} it", origin)
    return rule


def _tried(rule: Rule, example: str, root: str, home: str) -> bool:
    """Run a self-test. For a rule without content the example is the name of a tool."""
    if rule.content is None:
        return rule.names(example) if rule.effect != "allow" else rule.names_surely(example)
    return cast(RuleContent, rule.content).tried(example, rule.effect, root=root, home=home)


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
    # a path relative to the root is never outside
    reaches = one_command or isinstance(content, ExactArguments | PathContent)
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
