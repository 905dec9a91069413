"""A call that is judged without being made, and the ruling on it."""

from collections.abc import Mapping, Sequence
from time import time
from typing import Any

from callgate.core.ports import Case
from callgate.host.paths import Resolver
from callgate.policy.rules import Rulebook
from callgate.policy.well_known import TABLE, StandIn
from callgate.words.decisions import Allow, ApprovalPolicy, Ask, Decision, Deny, Effect, Origin, arguments_hash
from callgate.words.errors import UsageError, in_words
from callgate.words.modes import Mode
from callgate.words.noun import noun

CONTENT: Mapping[str, str] = {name: row.argument for name, row in TABLE.items() if row.argument}
"""The argument of each well-known tool that its rules match."""

_WORDS: Mapping[type[Decision], Effect] = {Allow: "allow", Ask: "ask", Deny: "deny"}


@noun
class Ruling:
    """A decision in words. ``rule`` is the text of the rule or remembered answer that decided, None where something
    else did: a mode, hard safety, the tool's own default. ``by`` names it in either case."""

    decision: Effect
    by: str
    why: str
    rule: str | None = None
    origin: Origin = Origin()
    risk: str | None = None


def case_of(
    tool: str,
    arguments: Mapping[str, Any],
    resolver: Resolver,
    *,
    mode: Mode = "default",
    policies: Sequence[ApprovalPolicy] = (),
) -> Case:
    """The call of a tool that is known by its name alone. UsageError for what no call can be."""
    stand = StandIn(tool)
    try:
        hashed, traits = arguments_hash(tool, arguments), stand.traits(arguments)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"this cannot be a call: {in_words(error)}") from None
    return Case(
        call_id="none",
        tool=stand,
        name=tool,
        arguments=arguments,
        arguments_hash=hashed,
        traits=traits,
        policies=policies,
        mode=mode,
        now=time(),
        normal=resolver.normal,
        place=resolver.place,
    )


def ruling(decision: Decision, rulebook: Rulebook) -> Ruling:
    by_rule = decision.origin is not None and not rulebook.faults and decision.by != "mode dont_ask"
    word = _WORDS[type(decision)]
    return Ruling(
        decision=word,
        by=decision.by,
        why=decision.reason or f"{decision.by} {word}s it",
        rule=decision.by if by_rule else None,
        origin=decision.origin or Origin(),
        risk=decision.risk if isinstance(decision, Ask) else None,
    )
