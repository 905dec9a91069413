"""Cases for the gate without a machine: a workspace at /srv/app, a home at /home/me, and links that a test names."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from inspect import isawaitable
from posixpath import basename, join, normpath
from typing import Any

from callgate.core.ports import Case, Check, Hooked
from callgate.policy.checks import standard_checks
from callgate.policy.entries import RuleLine
from callgate.policy.rules import EMPTY, Rulebook
from callgate.policy.well_known import StandIn
from callgate.words.decisions import Allow, ApprovalPolicy, Ask, Decision, Deny, Effect, Origin, Pattern, arguments_hash
from callgate.words.modes import MODES as MODES
from callgate.words.modes import Mode
from callgate.words.resolved_path import ResolvedPath
from callgate.words.traits import Traits

ROOT = "/srv/app"
HOME = "/home/me"
NOW = 1_700_000_000.0


def place(path: str, links: Mapping[str, str] | None = None) -> ResolvedPath:
    """The path taken by its letters; a name without a dot is a folder. ``links`` lead from whole paths to others."""
    spelled = normpath(join(ROOT, path))
    target = (links or {}).get(spelled)
    hops = (spelled,) if target is None else (spelled, target)
    inside = all(hop == ROOT or hop.startswith(f"{ROOT}/") for hop in hops)
    return ResolvedPath(path, hops, hops[-1], inside, "file" if "." in basename(hops[-1]) else "folder")


def line(effect: Effect, text: str, layer: str = "user", **more: Any) -> RuleLine:
    return RuleLine(effect, text, Origin(layer, f"{layer.replace(' ', '-')}.toml", 1), **more)


def book(*lines: RuleLine, now: float = NOW) -> Rulebook:
    """A rulebook that must have no faults."""
    made = Rulebook.of(lines, root=ROOT, home=HOME, now=now)
    assert made.faults == ()
    return made


def rules(
    deny: Sequence[str] = (), ask: Sequence[str] = (), allow: Sequence[str] = (), layer: str = "user"
) -> Rulebook:
    return book(
        *(line("deny", text, layer) for text in deny),
        *(line("ask", text, layer) for text in ask),
        *(line("allow", text, layer) for text in allow),
    )


def policy(effect: Effect, tool: str, pattern: Pattern | None = None, **more: Any) -> ApprovalPolicy:
    """A remembered answer."""
    return ApprovalPolicy(effect, tool, pattern, **more)


def case_of(
    name: str,
    arguments: Mapping[str, Any] | None = None,
    *,
    traits: Traits | None = None,
    mode: Mode = "default",
    policies: Sequence[ApprovalPolicy] = (),
    recent: Sequence[str] = (),
    links: Mapping[str, str] | None = None,
    **fields: Any,
) -> Case:
    given = {**(arguments or {}), **fields}
    tool = StandIn(name)
    return Case(
        call_id="c1",
        tool=tool,
        name=name,
        arguments=given,
        arguments_hash=arguments_hash(name, given),
        traits=tool.traits(given) if traits is None else replace(traits, declared=tool.traits(given).declared),
        policies=policies,
        mode=mode,
        now=NOW,
        recent=recent,
        resolve_path=lambda path: place(path, links),
    )


def shell(command: str, **more: Any) -> Case:
    return case_of("Bash", {"command": command}, **more)


def hooked(case: Case, decision: Allow | Ask) -> Case:
    """The case after a hook said this of it."""
    return replace(case, hooked=Hooked("hook", decision))


SRC = case_of("Write", file_path="src/a.py")


def decided(
    case: Case, rulebook: Rulebook = EMPTY, *, hooks: Check | None = None, free: bool | None = None
) -> Decision:
    """What the standard checks say, the way a gate asks them. Without a rulebook, an empty one of this workspace."""
    here = rulebook if rulebook is not EMPTY else replace(EMPTY, root=ROOT, home=HOME)
    for check in standard_checks(here, hooks=hooks, free=free):
        answer = check.judge(case)
        assert not isawaitable(answer)
        if answer is not None:
            assert isinstance(answer, Decision)
            return answer
    return Deny("gate", "no check decided")


def outcome(case: Case, rulebook: Rulebook = EMPTY, *, hooks: Check | None = None) -> str:
    return type(decided(case, rulebook, hooks=hooks)).__name__.lower()
