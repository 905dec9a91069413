"""Judges calls without running them, and shows and changes the policy of one workspace: settings, rules, remembered
answers, trust."""

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches
from functools import lru_cache
from os.path import expanduser
from pathlib import Path
from time import time
from typing import Any, cast

from callgate.config import AnyPath, Config, load_config
from callgate.core.gate import CheckGate
from callgate.core.ports import Case
from callgate.host.clock import LoopClock
from callgate.host.paths import Resolver
from callgate.host.sandbox.proven_sandbox import ProvenSandbox
from callgate.policy.checks import standard_checks
from callgate.policy.entries import RuleLine, SettingsFault
from callgate.policy.explanation import EFFECT_OF, ExplainedStep, Explanation, Reading, explain
from callgate.policy.fingerprint import Fingerprint, fingerprint
from callgate.policy.hooks.hook_protocol import EVENTS_NOT_SENT
from callgate.policy.hooks.hooks import Hooks
from callgate.policy.judge import Judge
from callgate.policy.layers import settings_of_arguments
from callgate.policy.memory import KeptScope, Memory, Remembered
from callgate.policy.rule_contents import UnreadableContent
from callgate.policy.rule_hints import hint
from callgate.policy.rules import Rule, Rulebook, as_rule, make_rule, parse_rule, why_not_narrower
from callgate.policy.sandbox_policy import workspace_sandbox
from callgate.policy.settings import LayerSettings, read_settings
from callgate.policy.trust import ChangedFolder, Trust, Trusted, TrustedFolder, TrustState, Untrusted
from callgate.policy.well_known import COMMANDS, TABLE, StandIn
from callgate.tools.builtin import BUILTIN
from callgate.words.decisions import ApprovalPolicy, Ask, Decision, Effect, Origin, Pattern, arguments_hash
from callgate.words.errors import UsageError, in_words
from callgate.words.modes import Mode, check_mode
from callgate.words.noun import noun

__all__ = [
    "ChangedFolder",
    "ExplainedStep",
    "Fingerprint",
    "Reading",
    "Rule",
    "TrustState",
    "Trusted",
    "TrustedFolder",
    "Untrusted",
    "fingerprint",
]


ORIGIN = "person at callgate policy"


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


@noun
class KeptAnswer:
    """A remembered answer.

    covers   the calls that the answer covers, written as a rule
    problem  the reason why the answer has no effect
    hint     a note on a rule that was added by a command and may not have the intended effect
    """

    id: str
    policy: ApprovalPolicy
    covers: str
    expired: bool = False
    problem: str = ""
    hint: str = ""


def sandbox_of(config: Config) -> ProvenSandbox | None:
    """Return the sandbox in force for commands of the workspace."""
    if not config.own_data or config.settings.sandbox_disabled:
        return None
    found = workspace_sandbox(config.data, config.root, config.home, config.rules, config.settings.sandbox_allow_hosts)
    found.test()
    return None if found.why_none else found


class WorkspacePolicy:
    """The settings, rules and remembered answers of a workspace. Faults of files are in ``faults``.

    Raise UsageError for an invalid environment variable or argument.
    """

    def __init__(self, root: AnyPath | None = None, *, mode: Mode | None = None) -> None:
        self.config = config = load_config(root, mode=mode)
        self._root, self._home = str(config.root), str(config.home)
        self._hooks = Hooks(
            config.hooks, root=config.root, covers=self._concerns, clock=LoopClock(), report=lambda noted: None
        )
        self.rulebook = Rulebook.of(
            config.rules, root=self._root, home=self._home, now=time(), faults=(*config.faults, *self._hooks.faults)
        )

    @property
    def faults(self) -> tuple[SettingsFault, ...]:
        """The faults of the settings. If there is a fault, every call is denied."""
        return self.rulebook.faults

    @property
    def notes(self) -> tuple[SettingsFault, ...]:
        """Notes about ignored entries, with the reason, and about rules that may not have the intended effect."""
        unused = (
            SettingsFault(f"{each.line.effect} {each.line.text}: {each.why}", each.line.origin)
            for each in self.rulebook.ignored
        )
        useless = (
            SettingsFault(f"{each.id}, {each.policy.effect} {each.covers}: {why}", Origin("remembered"))
            for each in self.answers()
            if (why := each.problem or each.hint)
        )
        untold = (
            SettingsFault(f"{hook.event} is not published yet, so this hook never runs", hook.origin)
            for hook in self.config.hooks
            if hook.event in EVENTS_NOT_SENT
        )
        return (*self.config.notes, *unused, *useless, *untold, *self._doubtful())

    def _doubtful(self) -> Iterator[SettingsFault]:
        servers = self._servers()
        for rule in self.rulebook.rules:
            found = hint(rule, BUILTIN, servers)
            if found is not None:
                yield SettingsFault(f"{rule.effect} {rule.text}: {found}", rule.origin)

    def _servers(self) -> list[str]:
        """Return the names of the MCP servers, or an empty list if no rule is about an MCP tool."""
        if not any(rule.tool.startswith("mcp__") for rule in self.rulebook.rules):
            return []
        from callgate.assembly.options import ServerFlags  # only where a rule is about one
        from callgate.assembly.servers import server_configs

        return [each.name for each in server_configs(self.config, ServerFlags()).servers]

    # ---- a call -------------------------------------------------------------------------------------------------

    def explain(self, tool: str, arguments: Mapping[str, Any]) -> tuple[Ruling, Explanation]:
        """Return the decision about a call; hooks are not run. Bash commands are judged as in a session: in the
        sandbox, if a sandbox is in force."""
        config, memory = self.config, self.config.memory()
        policies = () if memory is None else memory.in_force()
        sandbox = sandbox_of(config) if tool == COMMANDS else None
        resolver = Resolver(self._root)
        case = case_of(tool, arguments, resolver, mode=config.mode, policies=policies, sandbox=sandbox)
        hooks = self._hooks.before if config.hooks else None
        free = None if sandbox is None else config.frees_commands
        gate = CheckGate(standard_checks(self.rulebook, hooks=hooks, free=free))
        found = explain(gate.explain, case, self.rulebook)
        return ruling(found.decision, self.rulebook), found

    def _concerns(self, rule: str, case: Case) -> bool:
        return Judge(self.rulebook).concerns(rule, case)

    # ---- remembered answers -------------------------------------------------------------------------------------

    def answers(self) -> tuple[KeptAnswer, ...]:
        """Return all remembered answers, including expired answers."""
        memory = self.config.memory()
        return () if memory is None else tuple(map(self._answer, memory.policies()))

    def remember(
        self, effect: Effect, text: str, *, scope: KeptScope, expires_at: float | None = None, note: str | None = None
    ) -> KeptAnswer:
        """Store an answer. Raise UsageError if the text is not a rule about one tool or one MCP server."""
        tool, pattern = self._read(effect, text)
        policy = ApprovalPolicy(
            effect=effect,
            tool=tool,
            pattern=pattern,
            scope=scope,
            created_at=time(),
            expires_at=expires_at,
            origin=ORIGIN,
            note=note,
        )
        return self._answer(self._memory().add(policy))

    def revoke(self, ids: Sequence[str]) -> tuple[KeptAnswer, ...]:
        """Remove the answers with these ids. If an id is unknown, no answer is removed."""
        memory = self._memory()
        wanted = tuple(dict.fromkeys(ids))
        for id in wanted:
            self._find(memory, id)
        return tuple(self._answer(memory.revoke(id)) for id in wanted)

    def narrow(self, id: str, text: str) -> tuple[KeptAnswer, KeptAnswer]:
        """Replace the pattern of an answer by a narrower pattern. Return the answer before and after the change.
        Raise UsageError if the rule is about another tool or is not narrower."""
        memory = self._memory()
        before = self._find(memory, id)
        tool, pattern = self._read(before.policy.effect, text)
        if tool != before.policy.tool:
            raise UsageError(f"{id} is a rule for {before.policy.tool}; {text} is for another tool")
        after = replace(before.policy, pattern=pattern)
        why = why_not_narrower(before.policy, after, root=self._root, home=self._home)
        if why is not None:
            now = before.policy.covers
            raise UsageError(f"{text} is not narrower than {now}: {why}; revoke {id} and add another")
        return self._answer(before), self._answer(memory.replace(id, after))

    def expire(self, id: str, at: float | None) -> KeptAnswer:
        """Set the expiry time of an answer; None for an answer that never expires. An expired answer can be renewed."""
        memory = self._memory()
        found = self._find(memory, id)
        return self._answer(memory.replace(id, replace(found.policy, expires_at=at)))

    def _memory(self) -> Memory:
        memory = self.config.memory()
        if memory is None:
            raise UsageError(f"answers cannot be stored in {self.config.data}, because the folder is in the workspace")
        return memory

    def _find(self, memory: Memory, id: str) -> Remembered:
        known = {each.id: each for each in memory.policies()}
        if id not in known:
            close = get_close_matches(id, known, n=1)
            hint = f", did you mean {close[0]}?" if close else "; `callgate policy list` lists the remembered answers"
            raise UsageError(f"no remembered answer has the id {id!r}{hint}")
        return known[id]

    def _read(self, effect: Effect, text: str) -> tuple[str, Pattern | None]:
        try:
            rule = make_rule(RuleLine(effect, text, Origin("user")), root=self._root, home=self._home)
        except ValueError as error:
            raise UsageError(f"the rule {text!r} cannot be read: {error}") from None
        if rule.server == "*" or rule.tool == "*":
            which = f"a remembered answer is about one tool or one server, not {rule.tool}"
            raise UsageError(f"{which}: put the rule into your settings")
        tool, content = parse_rule(text)
        tool = tool if rule.server is None else f"mcp__{rule.server}"  # as the answer `always` says it
        return tool, None if content is None else Pattern("rule", content)

    def _answer(self, found: Remembered) -> KeptAnswer:
        rule = as_rule(found.policy, self._root, self._home)
        content = rule.content
        problem = f"it cannot be read ({content.why}); revoke it" if isinstance(content, UnreadableContent) else ""
        doubt = hint(rule, BUILTIN) if found.policy.origin == ORIGIN and not problem else None
        return KeptAnswer(
            id=found.id,
            policy=found.policy,
            covers=found.policy.covers,
            expired=found.expired,
            problem=problem,
            hint=doubt or "",
        )


def trust_store(root: AnyPath | None = None) -> Trust:
    """Return the store of trusted folders. Raise UsageError if the data folder is in the workspace, because files of
    the workspace could then change the store."""
    config = load_config(root)
    if not config.own_data:
        raise UsageError(f"{config.data} is in the workspace, so it cannot store trust: set CALLGATE_DATA_DIR")
    return Trust(config.data)
