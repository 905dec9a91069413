"""Why a call is decided as it is: which checks were asked, what each said, and how near each rule was."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from inspect import isawaitable
from typing import Any, cast

from callgate.core.ports import Case, Check, Hooked, Verdict
from callgate.policy.checks import Judge
from callgate.policy.contents import AgentType, Command, Host, Path
from callgate.policy.rules import EMPTY, Rule, Rulebook
from callgate.policy.subjects import Subject
from callgate.words.arguments import Rejected
from callgate.words.decisions import Allow, Ask, Decision, Deny, Effect, arguments_hash
from callgate.words.errors import in_words
from callgate.words.noun import noun

_UNDECIDED = Deny("gate", "no check decided about this call")
_WORDS = {Allow: "allow", Ask: "ask", Deny: "deny"}
_EFFECTS: tuple[Effect, ...] = ("deny", "ask", "allow")


@noun
class Step:
    """One check and what it said; ``decided`` for the one that ended it."""

    check: str
    said: str
    decided: bool = False


@noun
class Reading:
    """A rule that is about this tool, whether it applies, and why or why not."""

    rule: Rule
    applies: bool
    why: str

    def __str__(self) -> str:
        origin = f" ({self.rule.origin})" if str(self.rule.origin) else ""
        says = "applies" if self.applies else "does not apply"
        why = f": {self.why}" if self.why else ""
        return f"{self.rule.effect} {self.rule.text}{origin} {says}{why}"


@noun
class Explanation:
    decision: Decision
    steps: tuple[Step, ...]
    rules: tuple[Reading, ...] = ()

    def lines(self) -> tuple[str, ...]:
        """Plain text, one thing a line; what comes from the call is not made safe to show."""
        decision = self.decision
        origin = f" ({decision.origin})" if decision.origin and str(decision.origin) else ""
        reason = f": {decision.reason}" if decision.reason else ""
        return (
            f"{_WORDS[type(decision)]} by {decision.by}{origin}{reason}",
            "checks:",
            *(f"  {'>' if step.decided else '-'} {step.check}: {step.said}" for step in self.steps),
            *(("rules:",) if self.rules else ()),
            *(f"  - {reading}" for reading in self.rules),
        )


def explain(checks: Sequence[Check], case: Case, rulebook: Rulebook = EMPTY) -> Explanation:
    """Judge the case as a gate with these checks would, and keep what each said. A check that answers later, as hooks
    do, is not waited for: nothing is run to explain something."""
    steps: list[Step] = []
    decision: Decision | None = None
    asked: set[str] = set()
    waiting = list(checks)
    while waiting and decision is None:
        check = waiting.pop(0)
        verdict, said = _said(check, case)
        if isinstance(verdict, Hooked):
            asked.add(check.name)
            if verdict.arguments is not None:
                waiting = [each for each in checks if each.name not in asked]
            case, verdict = _with_hooked(case, verdict)
        decision = verdict
        steps.append(Step(check.name, said, decision is not None))
    steps += [Step(check.name, "not asked any more") for check in waiting]
    if isinstance(decision, Ask) and case.mode == "dont_ask":
        decision = _not_asked(decision)
        steps = [
            *(replace(step, decided=False) for step in steps),
            Step(decision.by, _in_short(decision), decided=True),
        ]
    return Explanation(decision or _UNDECIDED, tuple(steps), tuple(_readings(case, rulebook)))


def _not_asked(ask: Ask) -> Deny:
    """What the gate makes of a question in mode dont_ask."""
    reason = f"this would need a person's approval ({ask.reason or ask.by})"
    return Deny("mode dont_ask", reason, origin=ask.origin)


def _said(check: Check, case: Case) -> tuple[Verdict | Hooked, str]:
    try:
        answer = check.judge(case)
    except Exception as error:
        return Deny(check.name, f"the check failed, so the call is refused: {in_words(error)}"), "it failed"
    if isawaitable(answer):
        close = getattr(cast(Any, answer), "close", None)
        if close is not None:
            close()
        return None, "answers only when the call is made"
    if answer is None:
        return None, "nothing"
    if isinstance(answer, Hooked):
        inner = "nothing" if answer.decision is None else _in_short(answer.decision)
        return answer, inner if answer.arguments is None else f"{inner}, and changes the arguments"
    return answer, _in_short(answer)


def _in_short(decision: Decision) -> str:
    return f"{_WORDS[type(decision)]}, {decision.reason or decision.by}"


def _with_hooked(case: Case, hooked: Hooked) -> tuple[Case, Deny | None]:
    """The case as the hooks left it, and their block."""
    if isinstance(hooked.decision, Deny) or hooked.arguments is None:
        return replace(case, hooked=hooked), hooked.decision if isinstance(hooked.decision, Deny) else None
    read = case.tool.read(hooked.arguments)
    if isinstance(read, Rejected):
        fault = "; ".join(read.errors)
        return case, Deny(hooked.by, f"the arguments it put in are not valid: {fault}", "blocked_by_hook")
    changed = replace(
        case,
        arguments=read.arguments,
        arguments_hash=arguments_hash(case.name, read.arguments),
        traits=case.tool.traits(read.arguments),
        hooked=hooked,
    )
    return changed, None


def _readings(case: Case, rulebook: Rulebook) -> Iterator[Reading]:
    judge = Judge(rulebook)
    subject = judge.subject(case)
    for effect in _EFFECTS:
        rules = judge.rules(case, effect)
        grants = judge.grants(case, rules)
        for rule in rules:
            if not rule.concerns(subject):
                continue
            if effect == "allow":
                why = grants.why_not(rule)
                yield Reading(rule, why is None, why or "")
            else:
                why = rule.against(subject)
                yield Reading(rule, why is not None, why or _why_not(rule, subject))


def _why_not(rule: Rule, subject: Subject) -> str:
    """Why a deny or ask rule does not apply."""
    if not rule.lives(subject.case.now):
        return "it has expired"
    match rule.content:
        case None:
            return f"{subject.case.name} is none of the tools it stands for"
        case Command():
            return "no command in it is what the rule is about"
        case Path():
            return "no file that the call is known to touch is one of those"
        case Host():
            return f"its host is {subject.host}"
        case AgentType():
            return f"it starts an agent of type {subject.agent}"
        case _:
            return "the arguments are others"
