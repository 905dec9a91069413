"""The command ``callgate policy list``: active rules and the remembered answers."""

import sys
from collections.abc import Iterator

from callgate.admin.sessions import moment
from callgate.admin.workspace_policy import KeptAnswer, WorkspacePolicy
from callgate.cli.terminal import Line, Span
from callgate.cli.text_output import COLOURS, item, json_fields, origin_as_json, put, put_json, say, text_width
from callgate.formats.display import counted


def list_rules(root: str | None, as_json: bool) -> int:
    """List every rule with its layer, file and line, and every remembered answer with its id, scope, expiry and
    origin."""
    policy = WorkspacePolicy(root)
    if as_json:
        for rule in policy.rulebook.rules:
            about = json_fields(rule, "effect", "expires_at", "note", rule="text")
            put_json({"kind": "rule", **about, **origin_as_json(rule.origin)})
        for answer in policy.answers():
            own = ("effect", "tool", "pattern", "scope", "created_at", "expires_at", "origin", "note")
            paths = ("id", "covers", "expired", "problem", *(f"policy.{name}" for name in own))
            put_json({"kind": "answer", **json_fields(answer, *paths)})
    else:
        put(_lines(policy, text_width()))
    sys.stdout.flush()
    if policy.faults:
        say("the settings contain errors, so every call is denied; see `callgate policy check`")
    return 0


def _lines(policy: WorkspacePolicy, room: int) -> Iterator[Line]:
    rules, answers = policy.rulebook.rules, policy.answers()
    yield (Span(f"{counted(len(rules), 'active rule')}", "bold"),)
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
