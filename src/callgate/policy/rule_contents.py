"""The content of a rule in parentheses: a command, a path, a host, an agent or arguments.

Each kind of content has two methods, which are not opposites. ``against`` returns why a deny or ask rule applies,
and matches widely. ``covers`` returns whether an allow rule covers the call, and matches narrowly.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from posixpath import join, normpath
from typing import Protocol

from callgate import shell
from callgate.policy.hosts import HostPattern, host_pattern
from callgate.policy.implied_paths import is_broad_glob, may_contain, spellings
from callgate.policy.path_patterns import PathPattern, parse_path_pattern
from callgate.policy.rule_fields import FieldPattern, Wild, example, parse_fields
from callgate.policy.shorten import brief
from callgate.policy.subjects import PathAccess, Subject, Way
from callgate.policy.well_known import Content as Kind
from callgate.policy.well_known import known, meant_by
from callgate.words.decisions import Effect
from callgate.words.noun import noun
from callgate.words.resolved_path import ResolvedPath

WRITES: frozenset[Way] = frozenset({"write", "remove"})
READS: frozenset[Way] = frozenset({"read"})
_ANY_NAME = "any name at all"
"""A file name that no rule contains. It is used to test whether a rule matches everything in a folder."""


class Content(Protocol):
    def against(self, subject: Subject) -> str | None:
        """Return why a deny or ask rule with this content applies to the call, or None."""
        ...

    def covers(self, subject: Subject) -> bool:
        """Return True if an allow rule with this content covers the whole call."""
        ...


class RuleContent(Content, Protocol):
    """The interface of the contents that users write in rules."""

    def tried(self, text: str, effect: Effect, *, root: str, home: str) -> bool:
        """Run a self-test: return True if a rule with this effect and content covers the example. Raise ValueError
        if the example is invalid."""
        ...


@noun
class CommandContent:
    """A pattern for the declared command of a call. With ``field`` it is a pattern for the command in that argument."""

    pattern: "shell.ShellPattern"
    field: str = ""

    def against(self, subject: Subject) -> str | None:
        analysis = subject.analysis_of(self.field)
        return None if analysis is None else shell.reaches(analysis, self.pattern)

    def covers(self, subject: Subject) -> bool:
        analysis = subject.analysis_of(self.field)
        if analysis is None or subject.not_granted is not None:
            return False
        return isinstance(shell.grant(analysis, (self.pattern,)), shell.Granted)

    def tried(self, text: str, effect: Effect, *, root: str, home: str) -> bool:
        if effect == "allow":
            return isinstance(shell.grant(shell.analyse(text), (self.pattern,)), shell.Granted)
        return shell.reaches(shell.analyse(text), self.pattern) is not None


@noun
class PathContent:
    """A pattern for the paths that a call accesses, limited to the kinds of access in ``ways``. With ``field`` it is
    a pattern for the path in that argument."""

    pattern: PathPattern
    ways: frozenset[Way]
    field: str = ""

    def against(self, subject: Subject) -> str | None:
        for access in self._meant(subject):
            place = access.path
            inner = (_something_in(place),) if place.kind == "folder" else ()
            if any(map(self.pattern.may_match, (place, *inner))):
                return f"the call {access.way}s {place.spelled}"
            for spelled in spellings(place.hops[0], self.pattern):
                guessed = subject.case.resolve_path(spelled)
                if self.pattern.may_match(guessed) and (not is_broad_glob(place.spelled) or guessed.kind != "missing"):
                    return f"{place.spelled} may expand to {guessed.spelled}"
        return None

    def unnamed_read(self, subject: Subject) -> str | None:
        """Return why a call that reads whole folders may read a file that the pattern matches, or None."""
        if self.field or "read" not in self.ways:
            return None
        for folder in subject.read_folders:
            if may_contain(folder, self.pattern, root=subject.root, home=subject.home):
                return f"{subject.folder_readers[0]} reads everything in {folder.spelled}"
        for path in subject.git.files if subject.git else ():
            if self.pattern.may_match(ResolvedPath(path, (path,), path, inside=True)):
                return f"git may show {brief(path)}"
        return None

    def covers(self, subject: Subject) -> bool:
        if not (self.field or subject.declares_paths or subject.declared.command is not None):
            return False  # its paths are only guessed
        meant = self._meant(subject)
        others = all(access.path.inside or self.opens(access) for access in subject.accesses)
        return bool(meant) and others and all(map(self.opens, meant))

    def opens(self, access: PathAccess) -> bool:
        """Return True if an allow rule with this content covers the access to its path."""
        return self.pattern.covers(access.path, changed=access.way != "read")

    def _meant(self, subject: Subject) -> Sequence[PathAccess]:
        if self.field:
            value = subject.case.arguments.get(self.field)
            return (PathAccess(subject.case.resolve_path(value), "write"),) if isinstance(value, str) else ()
        ways = self.ways
        if ways == READS and subject.case.tool.previews:
            ways = READS | WRITES  # a preview of a change shows the old content of the file
        return tuple(access for access in subject.accesses if access.way in ways)

    def tried(self, text: str, effect: Effect, *, root: str, home: str) -> bool:
        spelled = join(home, text[2:]) if text.startswith("~/") else text
        path = normpath(join(root, spelled))
        inside = path == root or path.startswith(root.rstrip("/") + "/")
        place = ResolvedPath(text, (path,), path, inside)
        return self.pattern.covers(place) if effect == "allow" else self.pattern.may_match(place)


def _something_in(place: ResolvedPath) -> ResolvedPath:
    """Return a placeholder path below the folder. A rule on everything in a folder also applies to a call that reads
    the folder."""
    return replace(
        place,
        spelled=join(place.spelled, _ANY_NAME),
        hops=tuple(join(hop, _ANY_NAME) for hop in place.hops),
        resolved=join(place.resolved, _ANY_NAME),
        kind="missing",
    )


@noun
class HostContent:
    pattern: HostPattern

    def against(self, subject: Subject) -> str | None:
        if subject.address is None:
            return None if subject.declared.fault is None else "the host of the call is unknown"
        if subject.host is None:
            return "the host of the call is ambiguous"
        return f"the host of the call is {subject.host}" if self.pattern.may_match(subject.host) else None

    def covers(self, subject: Subject) -> bool:
        return subject.host is not None and self.pattern.covers(subject.host)

    def tried(self, text: str, effect: Effect, *, root: str, home: str) -> bool:
        return self.pattern.covers(text) if effect == "allow" else self.pattern.may_match(text)


@noun
class AgentContent:
    pattern: Wild

    def against(self, subject: Subject) -> str | None:
        agent, fault = subject.declared.agent, subject.declared.fault
        if agent is None:
            return None if fault is None else "the agent type of the call is unknown"
        return f"the call starts an agent of type {agent}" if self.pattern.fits(agent) else None

    def covers(self, subject: Subject) -> bool:
        return subject.declared.agent is not None and self.pattern.fits(subject.declared.agent)

    def tried(self, text: str, effect: Effect, *, root: str, home: str) -> bool:
        return self.pattern.fits(text)


@noun
class FieldsContent:
    patterns: tuple[FieldPattern, ...]

    def against(self, subject: Subject) -> str | None:
        arguments = subject.case.arguments
        if not all(each.may_match(arguments) for each in self.patterns):
            return None
        return ", ".join(f"{each.name} is {each.value}" for each in self.patterns)

    def covers(self, subject: Subject) -> bool:
        return all(each.covers(subject.case.arguments) for each in self.patterns)

    def tried(self, text: str, effect: Effect, *, root: str, home: str) -> bool:
        arguments = example(text)
        return all(each.covers(arguments) for each in self.patterns)


@noun
class ExactArguments:
    hashed: str

    def against(self, subject: Subject) -> str | None:
        same = subject.case.arguments_hash == self.hashed
        return "the arguments are equal to the remembered arguments" if same else None

    def covers(self, subject: Subject) -> bool:
        same = subject.case.arguments_hash == self.hashed
        return same and (subject.replaced_program is None or subject.has_sandbox)


@noun
class UnreadableContent:
    """A remembered content that cannot be parsed. It allows nothing; as deny or ask it matches every call."""

    why: str

    def against(self, subject: Subject) -> str | None:
        return f"the remembered answer is invalid ({self.why}), so it applies to the whole tool"

    def covers(self, subject: Subject) -> bool:
        return False


@noun
class DeclaredContent:
    """The content of a rule on a tool without a known syntax. The declaration of the tool determines at each call
    whether the content is a command, a path or an agent type. Without such a declaration the rule allows nothing,
    and as deny or ask it matches every call."""

    text: str
    root: str
    home: str

    def against(self, subject: Subject) -> str | None:
        content = self._content(subject)
        return "the meaning of the rule's content is unknown" if content is None else content.against(subject)

    def covers(self, subject: Subject) -> bool:
        content = self._content(subject)
        return content is not None and content.covers(subject)

    def _content(self, subject: Subject) -> "Content | None":
        kinds = subject.declared.kinds
        content = "command" if "command" in kinds else "agent" if "agent" in kinds else None
        if content is None and kinds & {"reads", "writes"}:
            content = "path"
        return content and _parsed(content, self.text, self.root, self.home)

    def tried(self, text: str, effect: Effect, *, root: str, home: str) -> bool:
        raise ValueError("the meaning of the content is known only when the tool is called")


def parse_content(tool: str, content: str, *, root: str, home: str) -> RuleContent:
    """Parse the content of a rule. Raise ValueError with the position if the content is invalid."""
    row = known(tool)
    if row.content is not None:
        ways = {"reads": READS, "writes": WRITES}.get(row.kind, READS | WRITES)
        return _parse(row.content, content, ways, root, home)
    if content.startswith("domain:") and meant_by(tool) is None:
        return _parse("address", content, READS, root, home)
    try:
        return FieldsContent(parse_fields(content))
    except ValueError:
        if tool.startswith("mcp__") or meant_by(tool) is not None or "=" in content:
            raise
        _parsed("command", content, root, home)
        return DeclaredContent(content, root, home)


@lru_cache(maxsize=256)
def _parsed(kind: Kind, content: str, root: str, home: str) -> RuleContent:
    return _parse(kind, content, READS | WRITES, root, home)


def _parse(kind: Kind, content: str, ways: frozenset[Way], root: str, home: str) -> RuleContent:
    if kind == "command":
        return CommandContent(shell.parse_pattern(content))
    if kind == "path":
        return PathContent(parse_path_pattern(content, root=root, home=home), ways)
    if kind == "agent":
        return AgentContent(_agent(content))
    prefix, colon, host = content.partition(":")
    if prefix != "domain" or not colon:
        raise ValueError("a rule for WebFetch must name a host, as domain:example.com, at character 1")
    try:
        return HostContent(host_pattern(host, star=True))  # files of a repository have no allow rules
    except ValueError as error:
        raise ValueError(f"{error}, at character {len(prefix) + 2}") from None


def _agent(content: str) -> Wild:
    if content != content.strip():
        at = 1 if content[0].isspace() else len(content)
        raise ValueError(f"remove the blank before or after the type, at character {at}")
    if "=" in content:
        at = content.index("=")
        raise ValueError(f"a rule for Agent must contain only the type: remove {content[: at + 1]!r}, at character 1")
    return Wild(tuple(content.split("*")))
