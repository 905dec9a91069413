"""Decides about tool calls without running them. Only the names of the tools are needed."""

import os
from collections.abc import Mapping, Sequence
from functools import lru_cache
from os.path import expanduser
from pathlib import Path
from time import time
from typing import Any, cast

from callgate.core.gate import CheckGate
from callgate.core.ports import Case
from callgate.host.paths import Resolver
from callgate.policy.checks import standard_checks
from callgate.policy.explanation import EFFECT_OF
from callgate.policy.layers import settings_of_arguments
from callgate.policy.rules import Rulebook
from callgate.policy.settings import LayerSettings, read_settings
from callgate.policy.well_known import TABLE, StandIn
from callgate.words.decisions import ApprovalPolicy, Ask, Decision, Effect, Origin, arguments_hash
from callgate.words.errors import UsageError, in_words
from callgate.words.modes import Mode, check_mode
from callgate.words.noun import noun

CONTENT: Mapping[str, str] = {name: row.argument for name, row in TABLE.items() if row.argument}
"""The argument of each well-known tool that its rules match."""

_SETS_OF_RULES = 1_000


@noun
class Ruling:
    """A decision as text.

    by       names the rule, mode or check that decided
    rule     the text of the rule or remembered answer that decided; None if something else did
    """

    decision: Effect
    by: str
    why: str
    rule: str | None = None
    origin: Origin = Origin()
    risk: str | None = None


@noun
class CallToJudge:
    """A call and the rules to judge it by.

    mode  the permission mode; None for the mode of the settings file, or ``default``
    root  the workspace, which need not exist; empty for the current folder
    """

    tool: str
    arguments: Mapping[str, Any]
    allow: tuple[str, ...] = ()
    ask: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()
    mode: Mode | None = None
    root: str = ""


class CallJudge:
    """Judges calls by one settings file.

    Each set of rules is compiled once. Symbolic links are resolved again for each call.
    """

    def __init__(self, settings: str | None = None, *, home: str | None = None) -> None:
        self._home = home or expanduser("~")
        self._settings = LayerSettings("command line") if settings is None else _named(settings)
        modes = [each.value for each in self._settings.plain if each.name == "mode"]
        self._mode: Mode = cast(Mode, modes[-1]) if modes else "default"
        self._compiled = lru_cache(maxsize=_SETS_OF_RULES)(self._compile)

    def judge(self, call: CallToJudge) -> Ruling:
        """Decide about one call. Raise UsageError for an invalid rule, mode or root."""
        mode = self._mode if call.mode is None else check_mode(call.mode)
        resolver = _resolver(call.root)
        found = self._compiled(call.allow, call.ask, call.deny, resolver.root)
        if isinstance(found, str):
            raise UsageError(found)
        gate, rulebook = found
        # Nothing in this gate waits: it has no hooks.
        decision = cast(Decision, gate.judge(case_of(call.tool, call.arguments, resolver, mode=mode)))
        return ruling(decision, rulebook)

    def _compile(
        self, allow: tuple[str, ...], ask: tuple[str, ...], deny: tuple[str, ...], root: str
    ) -> tuple[CheckGate, Rulebook] | str:
        """Return the gate and the compiled rules. If a rule that the caller passed is invalid, return a description
        of the fault instead. A fault in the settings file is not returned, because the gate then denies every call."""
        given, settings = settings_of_arguments("command line", allow=allow, ask=ask, deny=deny).rules, self._settings
        faults = Rulebook.of(given, root=root, home=self._home).faults
        if faults:
            return "; ".join(fault.text for fault in faults)
        lines = (*settings.rules, *given)
        rulebook = Rulebook.of(lines, root=root, home=self._home, now=time(), faults=settings.faults)
        return CheckGate(standard_checks(rulebook)), rulebook


def case_of(
    tool: str,
    arguments: Mapping[str, Any],
    resolver: Resolver,
    *,
    mode: Mode = "default",
    policies: Sequence[ApprovalPolicy] = (),
    sandbox: object = None,
) -> Case:
    """Create a Case from a tool name and arguments. Raise UsageError if the arguments are not valid for a call."""
    stand = StandIn(tool, sandbox)
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
        resolve_path=resolver.resolve_path,
    )


def ruling(decision: Decision, rulebook: Rulebook) -> Ruling:
    by_rule = decision.origin is not None and not rulebook.faults and decision.by != "mode dont_ask"
    effect = EFFECT_OF[type(decision)]
    return Ruling(
        decision=effect,
        by=decision.by,
        why=decision.reason or f"{decision.by} {effect}s it",
        rule=decision.by if by_rule else None,
        origin=decision.origin or Origin(),
        risk=decision.risk if isinstance(decision, Ask) else None,
    )


def _resolver(root: str) -> Resolver:
    if root and not os.path.isabs(root):
        raise UsageError(f"the root must be an absolute path, not {root!r}")
    try:
        return Resolver(root or os.getcwd())
    except ValueError as error:
        raise UsageError(f"the root {root!r} is no path: {error}") from None


def _named(file: str) -> LayerSettings:
    found = read_settings(Path(file), "command line")
    if not found.sha256 and not found.faults:
        raise UsageError(f"there is no settings file {file!r}")
    return found
