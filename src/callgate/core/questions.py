"""Questions to the user and their answers: make a question, validate an answer, derive the policy of an "always".

All functions are pure.
"""

# Gates of other packages may violate their types.

from dataclasses import replace

from callgate.core.call import Call
from callgate.core.gate import choices_for, policy_fault
from callgate.core.ports import Case, Gate
from callgate.words import decisions
from callgate.words.calls import Rejected
from callgate.words.errors import in_words
from callgate.words.traits import Traits

UNDECIDED = decisions.Deny("gate", "no check decided this call")


def question_about(
    call: Call,
    ask: decisions.Ask,
    choices: tuple[decisions.Choice, ...],
    *,
    now: float,
    patience: float | None,
    path: tuple[str, ...],
) -> decisions.Question:
    case = call.case
    return decisions.Question(
        call_id=call.id,
        tool=case.name,
        arguments=case.arguments,
        arguments_hash=case.arguments_hash,
        by=ask.by,
        reason=ask.reason,
        asked_at=now,
        choices=() if ask.unconditional else choices,
        preview=call.preview,
        risk=ask.risk,
        path=path,
        origin=ask.origin,
        deadline=None if patience is None else now + patience,
        through="" if case.name == call.name else call.name,
        shown="" if call.preview is None else call.preview.fingerprint,
        asks=case.traits.asks,
    )


def choices_of(gate: Gate, case: Case) -> tuple[decisions.Choice, ...]:
    try:
        return gate.choices(case)
    except Exception:  # then an "always" allows only these arguments
        return choices_for(replace(case, traits=Traits()))


def answer_fault(call: Call, answer: decisions.Confirmation) -> str | None:
    """Return the reason to refuse an answer, or None if the answer is valid."""
    case = call.case
    if answer.outcome not in ("yes", "yes_always", "no"):
        return f"the outcome of an answer must be yes, yes_always or no, not {answer.outcome!r}"
    if answer.arguments_hash != case.arguments_hash:
        return f"the answer is for arguments that differ from the arguments of call {call.id}"
    asks = case.traits.asks
    if answer.arguments is not None and any(field.required for field in asks):
        return f"the arguments of call {call.id} cannot be changed, because it asks the user for answers"
    if answer.outcome != "no" and (asks or answer.answers):
        fault = decisions.answers_fault(asks, answer.answers)
        if fault is not None:
            return fault
    if answer.outcome != "no" and answer.arguments is not None:
        try:
            read = case.tool.read(answer.arguments)
        except Exception as error:
            return f"the changed arguments are invalid: {in_words(error)}"
        if isinstance(read, Rejected):
            return "the changed arguments are invalid: " + "; ".join(read.errors)
        try:
            decisions.arguments_hash(call.name, answer.arguments)
        except (TypeError, ValueError) as error:
            return f"the changed arguments are not JSON: {error}"
    if answer.always is not None:
        choices = () if call.question is None else call.question.choices
        if answer.always.tool not in (case.name, *(each.tool for each in choices if each.tool)):
            return f"the policy is for {answer.always.tool}, but the question was about {case.name}"
        return policy_fault(answer.always)
    return None


def decision_of(call: Call, answer: decisions.Confirmation) -> decisions.Allow | decisions.Deny:
    """Return the decision that an answer makes about a call."""
    origin = decisions.Origin(door=answer.door) if answer.door else None
    if answer.outcome == "no":
        return decisions.Deny(answer.by, answer.note or "", stop=answer.stop, origin=origin)
    context = call.decision.context if isinstance(call.decision, decisions.Ask) else ()
    return decisions.Allow(answer.by, answer.note or "", answer.arguments, origin, context, answers=answer.answers)


def policy_of(call: Call, answer: decisions.Confirmation, gate: Gate, now: float) -> decisions.ApprovalPolicy | None:
    """Return the policy that the user chose for an "always", or the policy of the narrowest scope of the question.
    Return None for any other answer."""
    ask = call.decision
    if answer.outcome != "yes_always" or not isinstance(ask, decisions.Ask) or ask.unconditional:
        return None
    case, policy = call.case, answer.always
    if answer.arguments is not None:  # the policy is for the changed arguments
        read = case.tool.read(answer.arguments)
        given = answer.arguments if isinstance(read, Rejected) else read.arguments
        asked, case = case.arguments_hash, replace(case, arguments_hash=decisions.arguments_hash(call.name, given))
        if policy is not None and policy.pattern == decisions.Pattern("exact", asked):
            policy = replace(policy, pattern=decisions.Pattern("exact", case.arguments_hash))
    if policy is None:
        narrowest = choices_of(gate, case)[0]
        policy = decisions.ApprovalPolicy("allow", narrowest.tool or case.name, narrowest.pattern)
    if case.traits.judged_as and policy.pattern is not None and policy.pattern.kind == "exact":
        policy = replace(policy, scope="session")  # the arguments name something that only this session has
    return replace(
        policy,
        created_at=policy.created_at or now,
        origin=policy.origin or f"{answer.by}, call {call.id}",
    )


def weighed(call: Call, verdict: decisions.Decision | None, before: decisions.Decision | None) -> decisions.Decision:
    """Return the combination of a verdict of the gate and the earlier decision."""
    if isinstance(verdict, decisions.Ask) and isinstance(before, decisions.Allow) and _answered_before(call, verdict):
        verdict = None  # the user allowed exactly this call
    decision = verdict or before or UNDECIDED
    if (
        isinstance(decision, decisions.Ask)
        and isinstance(before, decisions.Allow | decisions.Ask)
        and decision is not before
    ):
        return _with_change(decision, before)
    return decision


def _answered_before(call: Call, ask: decisions.Ask) -> bool:
    """Return True if the user already answered the same question about the same arguments, in this program or before
    a restart."""
    question = call.question or call.given.question
    return (
        question is not None
        and question.arguments_hash == call.case.arguments_hash
        and (question.by, question.reason) == (ask.by, ask.reason)
    )


def _with_change(ask: decisions.Ask, before: decisions.Allow | decisions.Ask) -> decisions.Ask:
    """Return a new question that keeps the changed arguments and the context of hooks of the earlier decision."""
    if before.arguments is not None and ask.arguments is None:
        ask = replace(ask, arguments=before.arguments, changed_by=before.changed_by or before.by)
    return replace(ask, context=before.context) if before.context and not ask.context else ask
