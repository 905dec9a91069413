"""Explains a decision: the gate's own walk through its checks, step by step, and how near each rule was."""

from collections.abc import Callable, Iterator

from callgate.core.ports import Case, Hooked, Judged
from callgate.policy.checks import Judge
from callgate.policy.contents import AgentType, Command, Host, Path
from callgate.policy.rules import EMPTY, Rule, Rulebook
from callgate.policy.subjects import Subject
from callgate.words.decisions import Allow, Ask, Decision, Deny, Effect
from callgate.words.noun import noun

_WORDS = {Allow: "allow", Ask: "ask", Deny: "deny"}
_EFFECTS: tuple[Effect, ...] = ("deny", "ask", "allow")
_NOT_ASKED = {"later": "answers only when the call is made", "skipped": "not asked any more"}


@noun
class Step:
    """One check and what it said; ``decided`` for the one that ended it."""

    check: str
    said: str
    decided: bool = False


@noun
class Reading:
    """A rule for this tool, whether it applies, and why or why not."""

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
        """Plain text, one thing a line; texts from the call are not made safe to show."""
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


def explain(
    judge: Callable[[Case, Callable[[Judged], None]], Decision], case: Case, rulebook: Rulebook = EMPTY
) -> Explanation:
    """The decision of a gate with every step it took. ``judge`` is the gate's own ``explain``, which runs nothing."""
    walked: list[Judged] = []
    decision = judge(case, walked.append)
    undecided = isinstance(decision, Deny) and decision.by == "gate"
    last = None if undecided else next((each for each in reversed(walked) if each.answer is not None), None)
    steps = tuple(Step(each.check, _said(each), each is last) for each in walked)
    return Explanation(decision, steps, tuple(_readings(walked[-1].case if walked else case, rulebook)))


def _said(step: Judged) -> str:
    answer = step.answer
    if answer is None:
        return _NOT_ASKED.get(step.how, "nothing")
    if isinstance(answer, Hooked):
        inner = "nothing" if answer.decision is None else _in_short(answer.decision)
        return inner if answer.arguments is None else f"{inner}, and changes the arguments"
    return _in_short(answer)


def _in_short(decision: Decision) -> str:
    return f"{_WORDS[type(decision)]}, {decision.reason or decision.by}"


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
    """The reason why a deny or ask rule does not apply."""
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
