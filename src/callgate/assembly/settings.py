"""The parts of a session that a Config brings: the gate with its rules and hooks, and remembered answers."""

from collections.abc import Mapping, Sequence
from functools import partial

from callgate.config import Config
from callgate.core.gate import CheckGate
from callgate.core.ports import Case, Check, Host, Journal
from callgate.core.record import Record
from callgate.policy.checks import Judge, standard_checks
from callgate.policy.choices import choices_for
from callgate.policy.entries import SettingsFault
from callgate.policy.fingerprint import fingerprint
from callgate.policy.hooks.hooks import Hooks
from callgate.policy.hooks.runners import Function
from callgate.policy.rules import Rulebook, make_rule
from callgate.session.hooks import SessionHooks, agent_of
from callgate.session.remembered import RememberedAnswers
from callgate.session.tree import TreeNode
from callgate.words.events import Noted


class SettingsParts:
    """``functions`` are Python hooks by the names in the settings, ``checks`` the caller's own for the gate."""

    def __init__(
        self,
        config: Config,
        host: Host,
        journal: Journal,
        record: Record,
        node: TreeNode,
        functions: Mapping[str, Function] | None,
        checks: Sequence[Check],
    ) -> None:
        clock = host.clock
        hooks = Hooks(
            config.hooks,
            root=config.root,
            covers=self._covers,
            clock=clock,
            report=record.write,
            session=journal.session,
            transcript="" if journal.path is None else str(journal.path),
            functions=functions,
            trusted=partial(config.still_trusted, fingerprint(config.root).digest if config.hooks else ""),
        )
        rulebook = Rulebook.of(
            config.rules,
            root=host.place(".").resolved,
            home=str(config.home),
            now=clock.now(),
            faults=(*config.faults, *hooks.faults, *_bad_conditions(config)),
        )
        self._judge = judge = Judge(rulebook)
        self.gate = CheckGate(
            standard_checks(rulebook, hooks=hooks.before, own=checks),
            after=(hooks.after,) if config.hooks else (),
            requested=hooks.asked if config.hooks else None,
            remembered=judge.remembered,
            choices=choices_for,
        )
        self.remembered = RememberedAnswers(
            config.memory(), lambda text: record.write(Noted(clock.now(), text, "warning"))
        )
        notify = config.questions.notify
        self.session_hooks = None
        if config.hooks or notify is not None:
            root, agent = str(config.root), agent_of(node, record) if node.nested else None
            self.session_hooks = SessionHooks(
                hooks, root=root, clock=clock, report=record.write, notify=notify, agent=agent
            )

    def _covers(self, rule: str, case: Case) -> bool:
        return self._judge.concerns(rule, case)


def _bad_conditions(config: Config) -> list[SettingsFault]:
    """Faults for conditions of hooks that are no rules: a hook with a typo there would never be asked, unnoticed."""
    found: list[SettingsFault] = []
    for line in config.hooks:
        try:
            if line.condition:
                make_rule("ask", line.condition, line.origin, root=str(config.root), home=str(config.home))
        except ValueError as error:
            found.append(SettingsFault(f"the condition {line.condition!r} of a hook is no rule: {error}", line.origin))
    return found
