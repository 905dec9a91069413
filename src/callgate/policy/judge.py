"""The judge of calls: one method for each standard check of a gate. The checks are synchronous."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import takewhile
from os.path import expanduser

from callgate import shell
from callgate.core.capabilities import facts_of
from callgate.core.ports import Case, Check, Verdict
from callgate.policy.call_grants import Grants
from callgate.policy.entries import RuleLine
from callgate.policy.implied_paths import SearchedTooLong
from callgate.policy.placement import unreviewed, why_outside
from callgate.policy.question_reasons import as_offered, what_would_read, what_would_run, why_not_allowed
from callgate.policy.rule_contents import CommandContent, PathContent, UnreadableContent
from callgate.policy.rules import EMPTY, Rule, Rulebook, as_rule, make_rule
from callgate.policy.shorten import brief, sentence
from callgate.policy.subjects import Subject, Way, may_use_paths
from callgate.policy.well_known import COMMANDS, FETCHING, OUTSIDE
from callgate.words.decisions import Allow, Ask, Deny, Effect, Origin
from callgate.words.modes import MODES, PLANNING

_READ_ONLY = Allow("default", "the call only reads")
_READ_INSIDE = Allow("default", "the call only reads files of the workspace")
_OWN_STATE = Allow("default", "the call changes only the state of the session")
_PLAN = Deny(f"mode {PLANNING}", "plan mode allows no changes; present the plan first")
_NO_QUESTION = Allow("default", "the tool declares that these arguments need no question")
DENY_RULES, MODE, DEFAULT = "deny rules", "mode", "default"

_RISKS: Mapping[Way, str] = {
    "read": "the model receives the content and may send it anywhere",
    "write": "this file may be executed later without another question",
    "remove": "removed files cannot be restored",
}


def _risk(subject: Subject, reason: str) -> str | None:
    """Return the risk to show in a question; None if there is no risk, or if the reason already names the risk."""
    if subject.look_alike is not None:
        return subject.look_alike
    if subject.doubt is not None:
        why = "" if subject.doubt.why in reason else f": {subject.doubt.why}"
        return sentence(f"the effects of this command cannot be determined{why}")
    if subject.outside and "outside the workspace" not in reason:
        return f"the call accesses {brief(subject.outside[0].path.spelled)}, outside the workspace"
    return None


@lru_cache(maxsize=256)
def _condition(text: str, root: str, home: str) -> Rule:
    return make_rule(RuleLine("ask", text, Origin()), root=root, home=home)


def loop_guard(case: Case) -> Verdict:
    """Ask the user if the same call, or the same sequence of calls, is repeated for the third time in a row. Tools
    that declare ``repeats`` are exempt."""
    recent = case.recent
    if not recent or case.traits.repeats or case.arguments_hash not in recent:
        return None
    trail = [*recent, case.arguments_hash]
    for period in range(1, len(trail) // 3 + 1):
        if trail[-period:] == trail[-2 * period : -period] == trail[-3 * period : -2 * period]:
            what = "the same call" if period == 1 else f"the same {period} calls"
            reason = f"{what} for the third time in a row, ending with {case.name}"
            return Ask("loop guard", reason, unattended="deny", unconditional=True)
    return None


class Judge:
    """The standard checks of a gate. Stores the rulebook and the subject of the current case."""

    def __init__(self, rulebook: Rulebook = EMPTY) -> None:
        self.rulebook = rulebook
        self._home = rulebook.home or expanduser("~")
        self._subject: Subject | None = None
        self._touching: tuple[Case, bool] | None = None
        self._granting: Grants | None = None
        self.checks: tuple[Check, ...] = (
            Check("settings", self.settings, again=True, idle=not rulebook.faults),
            Check(DENY_RULES, self.denied, again=True, idle=not rulebook.denies),
            Check("plan mode", self.plan_mode, again=True),
            Check("hard safety", self.hard_safety, again=True),
            Check("loop guard", loop_guard),
            Check("ask rules", self.asked, idle=not rulebook.asks and not rulebook.denies),
            Check("interaction", self.interaction),
            Check(MODE, self.mode),
            Check("allow rules", self.allowed, idle=not rulebook.allows),
            Check(DEFAULT, self.default),
        )
        """The checks in the order of the specification."""

    def subject(self, case: Case) -> Subject:
        subject = self._subject
        if subject is None or subject.case is not case:
            root = self.rulebook.root or case.root or case.resolve_path(".").resolved
            subject = self._subject = Subject(case, root=root, home=self._home)
        return subject

    def _may_touch(self, case: Case) -> bool:
        """Return False for calls that name no path, command or address. The result is cached for one case. Most calls
        need no subject then, which halves the costs of a call."""
        known = self._touching
        if known is None or known[0] is not case:
            known = self._touching = (case, may_use_paths(case))
        return known[1]

    # ---- the checks, in order -----------------------------------------------------------------------------------

    def settings(self, case: Case) -> Verdict:
        """Deny every call if a settings file has a fault, because deny rules may be missing."""
        if not self.rulebook.faults:
            return None
        first, *others = self.rulebook.faults
        more = f" (and {len(others)} more)" if others else ""
        reason = f"the settings contain an error, so every call is denied: {first}{more}; see callgate policy check"
        return Deny("settings", reason, origin=first.origin)

    def denied(self, case: Case) -> Verdict:
        if not self.rulebook.denies and not case.policies:
            return None
        found = self._against(case, "deny")
        if found is None:
            return self._uncompared(case)
        rule, why = found
        reason = rule.note or sentence(f"denied by {rule.text}: {why}; no other rule overrides it")
        return Deny(rule.text, reason, origin=rule.origin)

    def _uncompared(self, case: Case) -> Verdict:
        """Deny a call with more files than can be compared with the deny rules on paths."""
        if case.traits.declared_locks is None or not self.subject(case).declares_too_many_paths:
            return None
        denies = (rule for rule in self.rules(case, "deny") if rule.is_active(case.now))
        rule = next((rule for rule in denies if isinstance(rule.content, PathContent)), None)
        if rule is None:
            return None
        reason = sentence(f"the call names too many files to compare them with {rule.text}")
        return Deny(rule.text, reason, origin=rule.origin)

    def plan_mode(self, case: Case) -> Verdict:
        if not MODES[case.mode].forbids_changes:
            return None
        if case.traits.effects == "none" and not self._may_touch(case):
            return None
        return None if self._own_state(case) or self.subject(case).effects == "none" else _PLAN

    def hard_safety(self, case: Case) -> Verdict:
        if not self._may_touch(case):
            return None
        subject = self.subject(case)
        danger = subject.danger
        if danger is None:
            return None
        way: Way = "write"  # with too many paths, the kind of access is unknown
        if not subject.has_too_many_paths:
            way = next(each.way for each in subject.accesses if subject.danger_of(each.path, each.way) is not None)
        reason = sentence(f"{danger}; the user must approve every such call")
        return Ask("hard safety", reason, risk=_RISKS[way], unconditional=True)

    def asked(self, case: Case) -> Verdict:
        hooked = case.hooked
        if not self.rulebook.asks and not case.policies and hooked is None and not self._guards(case):
            return None
        found = self._against(case, "ask")
        if found is not None:
            rule, why = found
            reason = rule.note or sentence(f"the ask rule {rule.text} applies: {why}")
            return Ask(rule.text, reason, unconditional=True, origin=rule.origin)
        doubt = self._doubt(case)
        if doubt is not None and doubt.kind == "unread":
            reason = sentence(f"the command cannot be parsed, so deny rules cannot be checked: {doubt.why}")
            return Ask("ask rules", reason, risk="the command may do what a rule forbids", unconditional=True)
        if hooked is not None and isinstance(hooked.decision, Ask):
            return replace(hooked.decision, unconditional=True)  # the hook would ask again, whatever is remembered
        return None

    def interaction(self, case: Case) -> Verdict:
        if case.traits.requires_interaction:
            return Ask("interaction", f"{case.name} needs an answer of the user", unconditional=True)
        return None

    def mode(self, case: Case) -> Verdict:
        rules = MODES[case.mode]
        if rules.allows_all:
            return Allow(f"mode {case.mode}")
        if rules.allows_edits:
            subject = self.subject(case)
            edits = subject.edits_files and subject.declares_paths and subject.declared.command is None
            if edits and any(access.way == "write" for access in subject.accesses) and not subject.outside:
                return Allow(f"mode {case.mode}", "the call edits files of the workspace")
        return None

    def allowed(self, case: Case) -> Verdict:
        hooked = case.hooked
        if not self.rulebook.allows and not case.policies and hooked is None:
            return None
        rule = self.allows(case).by()
        if rule is not None:
            return Allow(rule.text, rule.note or f"allowed by {rule.text}", origin=rule.origin)
        if hooked is not None and isinstance(hooked.decision, Allow) and not self.subject(case).outside:
            return hooked.decision
        return None

    def default(self, case: Case) -> Verdict:
        if case.traits.effects == "none" and not self._may_touch(case):
            return _READ_ONLY
        subject = self.subject(case)
        if case.traits.needs_no_question and not subject.outside:
            return _NO_QUESTION
        if subject.effects == "none":
            return self._network(case) if subject.has("address") else self._reading(case)
        if self._own_state(case):
            return _OWN_STATE
        guard = self._guard(case)
        reason = sentence(why_not_allowed(self.allows(case), guard))
        return Ask("default", reason, risk=_risk(subject, reason))

    def _network(self, case: Case) -> Ask:
        subject = self.subject(case)
        if not subject.address:
            return Ask("default", f"{case.name} sends data to the network; the rule {case.name} would allow this")
        if subject.host is None:
            return Ask("default", "the host of the URL is unclear", risk="the URL has an unusual form")
        rule = as_offered(f"{FETCHING}(domain:{subject.host})", case) if subject.is_just("address") else case.name
        reason = f"no rule covers fetching from {subject.host}; the rule {rule} would allow this"
        return Ask("default", reason, risk=subject.look_alike)

    def _reading(self, case: Case) -> Allow | Ask:
        subject = self.subject(case)
        unnamed = self.unnamed_read(case)
        if unnamed is not None:
            return Ask("default", sentence(unnamed))
        if not subject.outside and subject.hidden is None:
            return _READ_INSIDE if subject.accesses else _READ_ONLY
        grants = self.allows(case)
        if not subject.outside:
            return Ask("default", sentence(f"the command only reads, but {subject.hidden}{what_would_run(grants)}"))
        would = what_would_read(grants) if subject.hidden is None else what_would_run(grants)
        reason = f"no rule covers reading {brief(subject.outside[0].path.spelled)}, outside the workspace{would}"
        return Ask("default", sentence(reason))

    def _own_state(self, case: Case) -> bool:
        """Return True if the tool changes only the session's state. Return False for a tool that runs commands,
        because its effect depends on the command."""
        return case.traits.own_state and "command" not in case.traits.declared.kinds

    # ---- what they share ----------------------------------------------------------------------------------------

    def remembered(self, case: Case) -> Allow | None:
        """Return the remembered answer that allows the call, or None. Return None if a check before the mode decides
        the call."""
        if not case.policies:
            return None
        before = takewhile(lambda check: check.name != MODE, self.checks)
        if any(check.judge(case) is not None for check in before):
            return None
        answers = self._answers(case, "allow")
        outside = why_outside(self.subject(case))
        if outside and unreviewed(self.subject(case)) is not None:
            return None
        rule = self.outside_grants(case, answers).of_commands() if outside else self.grants(case, answers).by()
        return rule and Allow(rule.text, rule.note or "allowed by a remembered answer", origin=rule.origin)

    def concerns(self, text: str, case: Case) -> bool:
        """Return True if the rule in the text matches the call in the wide sense of deny rules. Used for conditions
        of hooks. Raise ValueError if the text is not a rule."""
        subject = self.subject(case)
        return _condition(text, subject.root, self._home).against(subject) is not None

    def allows(self, case: Case) -> Grants:
        made = self._granting
        if made is None or made.subject is not self.subject(case):
            made = self._granting = self.grants(case, self.rules(case, "allow"))
        return made

    def grants(self, case: Case, rules: Sequence[Rule]) -> Grants:
        doubt = self._doubt(case)
        guarded = None if doubt is None else doubt.why
        return Grants(
            subject=self.subject(case),
            rules=rules,
            edits=MODES[case.mode].allows_edits,
            guarded=guarded,
            reads_folders=self.unnamed_read(case) is not None,
        )

    def outside_grants(self, case: Case, rules: Sequence[Rule]) -> Grants:
        """Return the grants of the rules for a command outside the sandbox: rules on ``Outside``, and rules on paths
        for the files that the command names."""
        chosen = [rule for rule in rules if rule.tool == OUTSIDE or rule.kind in ("reads", "writes")]
        return replace(self.grants(case, chosen), tool=OUTSIDE)

    def rules(self, case: Case, effect: Effect) -> Sequence[Rule]:
        book = self.rulebook
        rules = {"deny": book.denies, "ask": book.asks, "allow": book.allows}[effect]
        return (*rules, *self._answers(case, effect)) if case.policies else rules

    def _answers(self, case: Case, effect: Effect) -> list[Rule]:
        root = self.subject(case).root
        found = [as_rule(policy, root, self._home) for policy in case.policies if policy.effect == effect]
        return sorted(found, key=lambda rule: rule.text)

    def _against(self, case: Case, effect: Effect) -> tuple[Rule, str] | None:
        """Return the first rule with this effect that applies to the call, and why; None if no rule applies."""
        subject = self.subject(case)
        for rule in self.rules(case, effect):
            if rule.tool == OUTSIDE and why_outside(subject) == "":
                continue
            why = rule.against(subject)
            if why is not None:
                return rule, why
        return None

    def unnamed_read(self, case: Case, hides: Callable[[str], bool] = lambda path: False) -> str | None:
        """Return why a call that reads whole folders, or shows files of a repository, may read a file that a rule names
        or a file with secrets, or None.

        hides  callback that returns True for files with secrets that the call cannot read
        """
        subject = self.subject(case)
        readers = (*subject.folder_readers, *(subject.git.readers if subject.git else ()))
        if not readers:
            return None
        facts = facts_of(case.tool)
        rules = self._answers if facts.leaves_out_withheld else self.rules
        for rule in (*rules(case, "deny"), *rules(case, "ask")):
            if not isinstance(rule.content, PathContent) or not rule.is_active(case.now):
                continue
            if (why := rule.content.unnamed_read(subject)) is not None:
                return f"{why}, and {rule.text} may apply to a file in it"
        if facts.leaves_out_secrets:
            return None
        try:
            secret = next((path for path in subject.readable_secrets if not hides(path)), None)
        except SearchedTooLong as error:
            return f"{readers[0]} reads whole folders, and {brief(str(error))} is too large to search for secrets"
        if secret is not None:
            return f"{readers[0]} reads whole folders, and {brief(secret)} contains keys or passwords"
        unlisted = subject.git and subject.git.unlisted
        return unlisted and f"git cannot list the files of {brief(unlisted)}, which {readers[0]} may show"

    def _guards(self, case: Case) -> bool:
        """Return True if a deny or ask rule may exist that a command of unknown effect could bypass."""
        if not self.rulebook.denies and not self.rulebook.asks and not case.policies:
            return False
        return self.subject(case).has("command")

    def _guard(self, case: Case) -> Rule | None:
        """Return the first deny or ask rule on commands, which a command of unknown effect could bypass; None if
        there is none."""
        rules = (*self.rules(case, "deny"), *self.rules(case, "ask"))
        on_commands = [each for each in rules if isinstance(each.content, CommandContent | UnreadableContent)]
        return next((each for each in on_commands if each.is_active(case.now) and each.names(COMMANDS)), None)

    def _doubt(self, case: Case) -> "shell.Doubt | None":
        """Return why the effect of the command is unknown, if a deny or ask rule may match that effect; otherwise
        None. A command that runs other code could bypass command rules; a command that cannot be parsed could bypass
        path rules too."""
        doubt = self.subject(case).doubt if self._guards(case) else None
        if doubt is None or self._guard(case) is not None:
            return doubt
        rules = (*self.rules(case, "deny"), *self.rules(case, "ask"))
        on_paths = any(isinstance(rule.content, PathContent) and rule.is_active(case.now) for rule in rules)
        return doubt if doubt.kind == "unread" and on_paths else None
