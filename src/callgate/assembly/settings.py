"""The gate with the rules of a Config, and the features for hooks and remembered answers."""

import os
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from time import time
from typing import TYPE_CHECKING

from callgate.config import Config
from callgate.conversation.feature import Feature, OpenSession
from callgate.core.capabilities import facts_of
from callgate.core.gate import CheckGate
from callgate.core.ports import Check, Clock, Host, Tool
from callgate.host.clock import LoopClock
from callgate.host.environment import scrubbed
from callgate.host.local import LocalHost
from callgate.host.processes import Finished, run_process
from callgate.host.threads import in_thread
from callgate.policy.checks import standard_checks
from callgate.policy.entries import IN_REPOSITORY, RuleLine, SettingsFault
from callgate.policy.fingerprint import fingerprint
from callgate.policy.hooks.hook_protocol import CALL_EVENTS
from callgate.policy.hooks.hook_runners import Function
from callgate.policy.hooks.hooks import Hooks
from callgate.policy.judge import Judge
from callgate.policy.question_reasons import choices_for
from callgate.policy.rules import Rulebook, make_rule
from callgate.policy.settings_commands import SettingsCommands
from callgate.session.hooks import GateHooks, SessionHooks, agent_of
from callgate.session.nesting import NAME as NESTING
from callgate.session.nesting import NestingPart
from callgate.session.remembered import RememberedAnswers, remembered_feature
from callgate.words.errors import UsageError

if TYPE_CHECKING:
    from callgate.host.sandbox.proven_sandbox import ProvenSandbox

__all__ = [
    "TIME_LIMIT",
    "Finished",
    "StatusCommand",
    "broken_settings",
    "commands_of",
    "denied_whole",
    "gate_of",
    "hooks_feature",
    "RememberedAnswers",
    "remembered_feature",
    "sandbox_of",
    "withheld_of",
]

_NO_PLACE = "the data folder is in the workspace, where a command could forge the test result"


def hooks_feature(functions: Mapping[str, Function] | None = None) -> Feature:
    """Return the feature that runs the hooks of the session's config.

    functions  Python hooks, by the names used in the settings
    """

    def open_hooks(opened: OpenSession) -> GateHooks:
        config: Config | None = opened.config
        if config is None:
            raise UsageError("hooks come from settings: pass config=load_config() to the session")
        record, journal, outer = opened.record, opened.journal, opened.needed(NESTING, NestingPart).parent
        asked = {line for each in (() if outer is None else outer.configs) for line in each.hooks}
        lines = [line for line in config.hooks if line not in asked or line.event not in CALL_EVENTS]
        commands = commands_of(config)
        hooks = Hooks(
            lines,
            root=config.root,
            covers=lambda rule, case: part.concerns(rule, case),
            clock=opened.host.clock,
            report=record.write,
            session=journal.session,
            transcript="" if journal.path is None else str(journal.path),
            functions=functions,
            phase=record.publish,
            commands=commands,
            trusted=partial(config.still_trusted, fingerprint(config.root).digest if config.hooks else ""),
        )
        part: GateHooks = GateHooks(hooks)
        if config.hooks or config.settings.questions_notify is not None:
            nested = agent_of(opened.label, opened.path, record) if opened.path else None
            notify, origin = config.settings.questions_notify, config.origins.get("questions.notify")
            ours = origin is not None and origin.layer in IN_REPOSITORY
            place = partial(commands.place, notify or "", from_repository=ours)
            part = SessionHooks(hooks, opened, root=str(config.root), notify=notify, place=place, agent=nested)
        return part

    return Feature("hooks", open_hooks, needs=frozenset({NESTING}))


def gate_of(config: Config, opened: OpenSession, checks: Sequence[Check], *, sandboxed: bool) -> CheckGate:
    """Return the gate with the rules and hooks of a config.

    checks     the checks of the caller and of features
    sandboxed  True if a tool has a sandbox
    """
    part = opened.needed("hooks", GateHooks)
    host, hooks = opened.host, part.hooks
    judge = Judge(
        Rulebook.of(
            config.rules,
            root=host.resolve_path(".").resolved,
            home=str(config.home),
            now=host.clock.now(),
            faults=(*config.faults, *hooks.faults, *_bad_conditions(config)),
        )
    )
    part.concerns = judge.concerns
    return CheckGate(
        standard_checks(
            judge.rulebook, hooks=hooks.before, own=checks, free=config.frees_commands if sandboxed else None
        ),
        after=(hooks.after,) if config.hooks else (),
        attended=config.attended,
        requested=hooks.asked if config.hooks else None,
        remembered=judge.remembered,
        choices=choices_for,
    )


def broken_settings(config: Config) -> tuple[SettingsFault, ...]:
    """Return the faults in settings, rules and hook conditions. With a fault the gate denies every call, so an
    interface may check them before it opens a session."""
    faults = (*config.faults, *_bad_conditions(config))
    return Rulebook.of(config.rules, root=str(config.root), home=str(config.home), now=time(), faults=faults).faults


def denied_whole(configs: Sequence[Config]) -> Callable[[str, str], bool]:
    """Return a function with the parameters ``tool`` and ``server``. The function returns True if a rule of a config
    denies every call of the tool. ``server`` is the MCP server of the tool; empty for other tools."""
    books = [Rulebook.of(config.rules, root=str(config.root), home=str(config.home), now=time()) for config in configs]
    return lambda tool, server: any(book.denies_whole(tool, server) for book in books)


def withheld_of(configs: Sequence[tuple[Config, str]], clock: Clock) -> Callable[[str], str | None]:
    """Return a function of a path. The function returns the rule that denies reading the file, or None. The rules
    are compiled at its first call.

    configs  the configs, each with the folder of its session
    """

    @cache
    def compiled() -> Sequence[Callable[[str], str | None]]:
        now = clock.now()
        books = [Rulebook.of(config.rules, root=root, home=str(config.home), now=now) for config, root in configs]
        return [book.withheld() for book in books]

    return lambda path: next((rule for find in compiled() if (rule := find(path)) is not None), None)


def commands_of(config: Config) -> SettingsCommands:
    """Return where the commands that are configured in the settings run: in the sandbox or outside. The sandbox is
    tested when the first command runs."""

    def sandbox() -> "ProvenSandbox | None":
        from callgate.policy.sandbox_policy import workspace_sandbox  # for commands alone

        if not config.own_data or config.settings.sandbox_disabled:
            return None
        hosts = config.settings.sandbox_allow_hosts
        found = workspace_sandbox(config.data, config.root, config.home, config.rules, hosts)
        found.test()
        return None if found.why_none else found

    return SettingsCommands(str(config.root), sandbox)


def sandbox_of(
    tools: Sequence[Tool], configs: Sequence[Config], hosts: Sequence[Host], report: Callable[[str], None]
) -> "tuple[ProvenSandbox | None, tuple[str, ...]]":
    """Return the sandbox for the commands of a session, or None, and notes for the user. Return None also if no tool
    runs commands in a sandbox, if no host is local, or if the settings of the root session disable the sandbox.

    configs  the configs of the parent sessions, the root first, and of the session. The first one with a data folder
             outside the workspace determines the sandbox; the other configs can only restrict it
    hosts    the hosts of these sessions
    report   called with a note for the user if the sandbox, which is tested at its first use, does not hold
    """
    is_local = any(isinstance(each, LocalHost) for each in hosts)
    if configs[0].settings.sandbox_disabled or not is_local or not any(facts_of(each).takes_sandbox for each in tools):
        return None, ()
    from callgate.host.sandbox.proven_sandbox import NONE_IN_FORCE
    from callgate.policy.sandbox_policy import workspace_sandbox  # for commands alone

    config = next((each for each in configs if each.own_data), None)
    if config is None:
        return None, (f"{NONE_IN_FORCE} ({_NO_PLACE})",)
    allowed = configs[-1].settings.sandbox_allow_hosts
    allowed = tuple(each for each in allowed if all(each in other.settings.sandbox_allow_hosts for other in configs))
    others = [Rulebook.of(each.rules, root=str(each.root), home=str(each.home)) for each in configs]
    return workspace_sandbox(config.data, config.root, config.home, config.rules, allowed, others, report), ()


def _bad_conditions(config: Config) -> list[SettingsFault]:
    """Return a fault for each hook condition that is not a valid rule. Without the fault, the hook would never run,
    without any message."""
    found: list[SettingsFault] = []
    for line in config.hooks:
        try:
            if line.condition:
                make_rule(RuleLine("ask", line.condition, line.origin), root=str(config.root), home=str(config.home))
        except ValueError as error:
            found.append(
                SettingsFault(f"the condition {line.condition!r} of a hook is not a valid rule: {error}", line.origin)
            )
    return found


# ---- the status line -------------------------------------------------------------------------------------------------


TIME_LIMIT = 5.0
"""The timeout of the command in seconds."""
_GRACE = 0.5  # seconds between SIGTERM and SIGKILL
_LARGEST = 16_384  # bytes that are read of each output
_CHANGED = "files of this folder changed since you trusted it; see callgate trust"


class StatusCommand:
    """A command line for ``/bin/sh``, run in the workspace with the environment and the placement of hooks.

    A command that the repository sets runs only while the repository files are the files that the user trusted.

    command  replaces the command in the settings
    """

    def __init__(
        self,
        config: Config,
        clock: Clock | None = None,
        *,
        command: str | None = None,
        environ: Mapping[str, str] | None = None,
    ) -> None:
        settings = config.statusline
        self._command = command or settings.command or ""
        self._config = config
        self._clock = LoopClock() if clock is None else clock
        self._environment = {
            **scrubbed(os.environ if environ is None else environ),
            "CALLGATE_PROJECT_DIR": str(config.root),
            "CALLGATE_EVENT": "StatusLine",
        }
        self._commands = commands_of(config)
        self._checked = command is None and settings.from_repository
        self._digest = fingerprint(config.root).digest if self._checked else ""

    async def __call__(self, stdin: bytes) -> Finished | str:
        """Run the command and return its exit, or the reason why it was not run. A cancel kills the process tree."""
        if self._checked and not await in_thread(lambda: self._config.still_trusted(self._digest)):
            return _CHANGED
        return await run_process(
            ["/bin/sh", "-c", self._command],
            cwd=self._config.root,
            env=self._environment,
            clock=self._clock,
            stdin=stdin,
            timeout=TIME_LIMIT,
            limit=_LARGEST,
            grace=_GRACE,
            place=partial(self._commands.place, self._command, from_repository=self._checked),
            linger=0.1,
        )
