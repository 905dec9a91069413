"""Everything that decides about calls, made of one Config: rules, modes, hooks, remembered answers."""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from os import PathLike

from callgate.config import Config
from callgate.core.executor import ExecutorSettings
from callgate.core.loop import LoopLimits
from callgate.core.ports import Case, Clock, Gate, Host, Journal
from callgate.host.local import LocalHost
from callgate.host.threads import in_thread
from callgate.policy.always import choices_for
from callgate.policy.checks import Judge, standard_checks
from callgate.policy.fingerprint import fingerprint
from callgate.policy.hooks.hooks import Hooks
from callgate.policy.hooks.runners import Function
from callgate.policy.lines import Fault
from callgate.policy.memory import Memory
from callgate.policy.rules import Rulebook, make_rule
from callgate.policy.trust import Trust, Trusted
from callgate.standalone import DecisionGate
from callgate.transcript.journal import DiskJournal
from callgate.words.decisions import ApprovalPolicy
from callgate.words.errors import UsageError, in_words
from callgate.words.events import Noted


class Gatehouse:
    """The gate of one session and what stands beside it. ``functions`` are Python hooks given in code, by the names
    that their lines in the settings use; ``report`` hears what a person should see. ``root`` is how the host spells the
    workspace."""

    def __init__(
        self,
        config: Config,
        *,
        clock: Clock,
        report: Callable[[Noted], None],
        session: str = "",
        transcript: str = "",
        functions: Mapping[str, Function] | None = None,
        attended: bool = True,
        root: str = "",
    ) -> None:
        self.config = config
        self._clock = clock
        self._report = report
        self.hooks = Hooks(
            config.hooks,
            root=config.root,
            covers=self._covers,
            clock=clock,
            report=report,
            session=session,
            transcript=transcript,
            functions=functions,
            trusted=partial(still_trusted, config, fingerprint(config.root).digest if config.hooks else ""),
        )
        self.rulebook = Rulebook.of(
            config.rules,
            root=root or str(config.root),
            home=str(config.home),
            now=clock.now(),
            faults=(*config.faults, *self.hooks.faults, *_bad_conditions(config)),
        )
        self._judge = Judge(self.rulebook)
        self._memory = config.memory()
        self._keeping: set[asyncio.Task[None]] = set()
        self._unkept: tuple[ApprovalPolicy, ...] = ()
        self.remembered: tuple[ApprovalPolicy, ...] = () if self._memory is None else self._memory.in_force()
        self.gate = DecisionGate(
            standard_checks(self.rulebook, hooks=self.hooks.before),
            after=(self.hooks.after,) if config.hooks else (),
            requested=self.hooks.asked if config.hooks else None,
            remembered=self._judge.remembered,
            choices=choices_for,
            attended=attended,
        )

    async def look_up(self) -> None:
        """Read again what is remembered beyond this session, and see to it that all of ours is."""
        if self._memory is not None:
            await self._kept()
            self.remembered = (*await in_thread(self._memory.in_force), *self._unkept)

    def keep(self, policy: ApprovalPolicy) -> None:
        """Remember an answer beyond this session; a person is told when that cannot be done."""
        self.remembered = (*self.remembered, policy)
        if self._memory is not None:
            task = asyncio.get_running_loop().create_task(self._keep(self._memory, policy))
            self._keeping.add(task)
            task.add_done_callback(self._keeping.discard)

    async def aclose(self) -> None:
        """Everything that was to be kept is."""
        await self._kept()

    async def _kept(self) -> None:
        while self._keeping:
            await asyncio.wait(tuple(self._keeping))

    async def _keep(self, memory: Memory, policy: ApprovalPolicy) -> None:
        try:
            await in_thread(partial(memory.add, policy))
        except Exception as error:
            self._unkept = (*self._unkept, policy)
            note = f"this answer is remembered for this session only: {in_words(error)}"
            self._report(Noted(self._clock.now(), note, "warning"))

    def _covers(self, rule: str, case: Case) -> bool:
        return self._judge.concerns(rule, case)


def still_trusted(config: Config, digest: str) -> bool:
    """Whether the folder's own files are as they were when the person trusted them, for good or for this once."""
    store = Trust(config.data)
    if config.own_data and store.knows(config.root):
        return isinstance(store.state(config.root), Trusted)
    return fingerprint(config.root).digest == digest


def _bad_conditions(config: Config) -> list[Fault]:
    """Conditions of hooks that are no rules: a hook that is never asked because of a typo would not be missed."""
    found: list[Fault] = []
    for line in config.hooks:
        try:
            if line.condition:
                make_rule("ask", line.condition, line.origin, root=str(config.root), home=str(config.home))
        except ValueError as error:
            found.append(Fault(f"the condition {line.condition!r} of a hook is no rule: {error}", line.origin))
    return found


Settled = tuple[str | PathLike[str] | None, ExecutorSettings, LoopLimits]


def settled(
    config: Config,
    gate: Gate | None,
    host: Host | None,
    root: str | PathLike[str] | None,
    settings: ExecutorSettings | None,
    limits: LoopLimits | None,
) -> Settled:
    """What a session works with: the workspace of the config, and its limits where none were given in code."""
    if gate is not None:
        raise UsageError("pass either gate or config: a config makes the gate")
    if root is not None:
        raise UsageError("pass either root or config: a config has its own workspace")
    if isinstance(host, LocalHost) and host.root != config.root:
        raise UsageError(f"the host works in {host.root}, the config is for {config.root}: rules would miss its files")
    if settings is None:
        patience = config.questions.deadline
        settings = replace(ExecutorSettings(), max_concurrency=config.max_concurrency, patience=patience)
    return (config.root if host is None else None), settings, limits or config.limits


def opened(
    config: Config,
    host: Host,
    journal: Journal,
    report: Callable[[Noted], None],
    functions: Mapping[str, Function] | None,
) -> Gatehouse:
    """The gatehouse of a session that is kept in this journal."""
    transcript = str(journal.path) if isinstance(journal, DiskJournal) else ""
    return Gatehouse(
        config,
        clock=host.clock,
        report=report,
        session=journal.session,
        transcript=transcript,
        functions=functions,
        root=host.place(".").resolved,
    )
