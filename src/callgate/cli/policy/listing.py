"""``callgate policy list``: the rules in force, and the remembered answers."""

from argparse import Namespace
from collections.abc import Iterator
from typing import Any

from callgate.admin.policy import KeptAnswer, Rule, WorkspacePolicy
from callgate.admin.sessions import moment
from callgate.cli.policy.words import COLOURS, item, origin_as_json, room_on
from callgate.cli.session.output import out, put, put_json, say
from callgate.cli.terminal import Line, Span
from callgate.formats.display import counted
from callgate.formats.jsonable import to_json


def list_rules(options: Namespace) -> int:
    policy = WorkspacePolicy(options.root)
    stream = out()
    if options.json:
        for rule in policy.rulebook.rules:
            put_json(_rule_as_json(rule), stream)
        for answer in policy.answers():
            put_json(_answer_as_json(answer), stream)
    else:
        put(_lines(policy, room_on(stream)), stream)
    stream.flush()
    if policy.faults:
        say("settings are broken, so every call is denied; `callgate policy check` says what is wrong")
    return 0


def _rule_as_json(rule: Rule) -> dict[str, Any]:
    about = {"kind": "rule", "effect": rule.effect, "rule": rule.text, **origin_as_json(rule.origin)}
    return {**about, "expires_at": rule.expires_at, "note": rule.note}


def _answer_as_json(answer: KeptAnswer) -> dict[str, Any]:
    policy = answer.policy
    return {
        "kind": "answer",
        "id": answer.id,
        "effect": policy.effect,
        "tool": policy.tool,
        "pattern": None if policy.pattern is None else to_json(policy.pattern),
        "covers": answer.covers,
        "scope": policy.scope,
        "created_at": policy.created_at,
        "expires_at": policy.expires_at,
        "expired": answer.expired,
        "origin": policy.origin,
        "note": policy.note,
        "problem": answer.problem,
    }


def _lines(policy: WorkspacePolicy, room: int) -> Iterator[Line]:
    rules, answers = policy.rulebook.rules, policy.answers()
    yield (Span(f"{counted(len(rules), 'rule')} in force", "bold"),)
    for rule in rules:
        until = f"until {moment(rule.expires_at)}" if rule.expires_at is not None else ""
        below = "; ".join(part for part in (str(rule.origin), until, rule.note) if part)
        yield from item(f"  {rule.effect:5}", rule.text, below, room, COLOURS[rule.effect])
    if policy.rulebook.ignored:
        yield (Span(f"{counted(len(policy.rulebook.ignored), 'rule')} without effect", "bold"),)
    for each in policy.rulebook.ignored:
        yield from item(f"  {each.line.effect:5}", each.line.text, f"{each.line.origin}; {each.why}", room, "dim")
    yield (Span(counted(len(answers), "remembered answer"), "bold"),)
    for answer in answers:
        yield from answer_lines(answer, room)


def answer_lines(answer: KeptAnswer, room: int) -> Iterator[Line]:
    policy = answer.policy
    said = (
        "in every folder" if policy.scope == "user" else "in this folder",
        until(answer),
        f"given by {policy.origin or 'somebody'}, {moment(policy.created_at)}",
        answer.problem,
        policy.note,
    )
    style = "dim" if answer.expired else COLOURS[policy.effect]
    mark = f"  {answer.id}  {policy.effect:5}"
    yield from item(mark, answer.covers, "; ".join(part for part in said if part), room, style)


def until(answer: KeptAnswer) -> str:
    at = answer.policy.expires_at
    if at is None:
        return "for ever"
    return f"EXPIRED {moment(at)}" if answer.expired else f"until {moment(at)}"
