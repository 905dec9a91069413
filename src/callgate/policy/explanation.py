"""Explains a decision: the answer of each check, and whether each rule applies."""

from collections.abc import Callable, Iterator, Mapping

from callgate.core.ports import Case, Hooked, Judged
from callgate.policy.judge import Judge
from callgate.policy.rule_contents import AgentContent, CommandContent, HostContent, PathContent
from callgate.policy.rules import EMPTY, Rule, Rulebook
from callgate.policy.subjects import Subject
from callgate.words.decisions import Allow, Ask, Decision, Deny, Effect
from callgate.words.noun import noun

EFFECT_OF: Mapping[type[Decision], Effect] = {Allow: "allow", Ask: "ask", Deny: "deny"}
_EFFECTS: tuple[Effect, ...] = ("deny", "ask", "allow")
_NOT_ASKED = {"later": "decides only when the call is made", "skipped": "not reached"}


@noun
class ExplainedStep:
    """A check and its answer. ``decided`` is True if this check made the decision."""

    check: str
    said: str
    decided: bool = False


@noun
class Reading:
    """The result of applying one rule on the tool to the call. ``why`` is the reason why the rule applies or does
    not apply."""

    rule: Rule
    applies: bool
    why: str


@noun
class Explanation:
    decision: Decision
    steps: tuple[ExplainedStep, ...]
    rules: tuple[Reading, ...] = ()


def explain(
    judge: Callable[[Case, Callable[[Judged], None]], Decision], case: Case, rulebook: Rulebook = EMPTY
) -> Explanation:
    """Return the decision of a gate with the answer of each check and the result of each rule. ``judge`` is
    ``CheckGate.explain``, which runs nothing."""
    walked: list[Judged] = []
    decision = judge(case, walked.append)
    undecided = isinstance(decision, Deny) and decision.by == "gate"
    last = None if undecided else next((each for each in reversed(walked) if each.answer is not None), None)
    steps = tuple(ExplainedStep(each.check, _said(each), each is last) for each in walked)
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
    return f"{EFFECT_OF[type(decision)]}, {decision.reason or decision.by}"


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
    if not rule.is_active(subject.case.now):
        return "the rule has expired"
    match rule.content:
        case None:
            return f"{subject.case.name} is not one of the tools that the rule matches"
        case CommandContent():
            return "no command of the call matches the rule"
        case PathContent():
            return "no file that the call is known to access matches the rule"
        case HostContent():
            return f"the host of the call is {subject.host}"
        case AgentContent():
            return f"the call starts an agent of type {subject.declared.agent}"
        case _:
            return "the arguments are different"
