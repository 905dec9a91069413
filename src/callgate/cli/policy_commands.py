"""The commands ``callgate policy``.

Test, list and change rules, settings and remembered answers. No call is run. Deny rules are a convenience; the
security boundary is the sandbox: see callgate sandbox.
"""

import json
import sys
from argparse import ArgumentTypeError
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from difflib import get_close_matches
from functools import partial
from time import time
from typing import Any, TextIO, cast

from callgate.admin.sessions import moment
from callgate.admin.workspace_policy import (
    CONTENT,
    CallJudge,
    CallToJudge,
    ChangedFolder,
    Explanation,
    KeptAnswer,
    KeptScope,
    Reading,
    Ruling,
    SettingsFault,
    Trusted,
    WorkspacePolicy,
)
from callgate.cli.command_parser import USAGE, json_object, one_of, pair, refuse_constant, seconds_of
from callgate.cli.command_rows import JSON, JSON_LINES, ArgumentRow, CommandMisuse, CommandRow
from callgate.cli.json_lines import FILE, JSONL, UnusableLine, answer_lines, json_input
from callgate.cli.start_options import MODE
from callgate.cli.terminal import Line, Safe, Span, paragraph
from callgate.cli.text_output import (
    COLOURS,
    item,
    json_fields,
    origin_as_json,
    out,
    put,
    put_json,
    put_paragraph,
    say,
    text_width,
)
from callgate.formats.display import counted, excerpt
from callgate.words.decisions import Effect, Origin
from callgate.words.modes import Mode

KEYS = ("tool", "arguments", "allow", "ask", "deny", "mode", "root")
_WHEN = "12h or 30d from now, or a date such as 2027-01-31 (UTC)"
_SHOWN = 600
"""Characters that are shown of one argument."""


def add(effect: Effect, rule: str, scope: KeptScope, expires: float | None, note: str | None, root: str | None) -> int:
    """Remember an answer, as the answer `always` does, and print its id. The answer covers one tool or one MCP
    server. To set a rule for everybody who works on a project, write the rule into the project's settings.

    examples:
      callgate policy add allow "Bash(npm run *)" --expires 30d
      callgate policy add deny "Bash(git push:*)" --scope user --note "I push myself"
    """
    answer = WorkspacePolicy(root).remember(effect, rule, scope=scope, expires_at=expires, note=note)
    put([(Span(answer.id),), *_answer_item(answer, text_width())])
    if answer.hint:
        put_paragraph(f"note: {answer.hint}", style="yellow")
    return 0


def revoke(ids: Sequence[str], root: str | None) -> int:
    """Remove remembered answers. If an id is unknown, no answer is removed.

    examples:
      callgate policy revoke 3fa2c1
    """
    for each in WorkspacePolicy(root).revoke(ids):
        put_paragraph(f"revoked {each.id}: {each.policy.effect} {each.covers}", hang=2)
    return 0


def narrow(id: str, rule: str, root: str | None) -> int:
    """Replace the rule of a remembered answer by a narrower rule; the id does not change. A rule that is not
    narrower is refused.

    examples:
      callgate policy narrow 3fa2c1 "Bash(git log --oneline:*)"
    """
    before, after = WorkspacePolicy(root).narrow(id, rule)
    put_paragraph(f"{after.id}: {after.policy.effect} {after.covers}, instead of {before.covers}", hang=2)
    return 0


def expire(id: str, when: float | None, root: str | None) -> int:
    """Set, change or remove the time at which a remembered answer expires. An expired answer can be renewed.

    examples:
      callgate policy expire 3fa2c1 30d
      callgate policy expire 3fa2c1 never
    """
    answer = WorkspacePolicy(root).expire(id, when)
    put_paragraph(f"{answer.id}: {answer.policy.effect} {answer.covers} {_until(answer)}", hang=2)
    return 0


def check(root: str | None) -> int:
    """Check the settings of all layers and the self-tests of their rules. Faults are reported with file and line; as
    long as there is a fault, every call is denied. Ignored entries are listed with the reason.

    examples:
      callgate policy check --root ~/src/app

    exit codes: 0 no problem, 1 problems
    """
    policy = WorkspacePolicy(root)
    put(_check_lines(policy, text_width()))
    return 1 if policy.faults else 0


def _check_lines(policy: WorkspacePolicy, room: int) -> Iterator[Line]:
    config = policy.config
    yield from paragraph(f"workspace {config.root}, {_trusted(policy)}", room, hang=2)
    origin = f" ({config.origins['mode']})" if "mode" in config.origins else ""
    yield from paragraph(f"mode {config.mode}{origin}", room, hang=2)
    yield from paragraph(_counts(policy), room, hang=2)
    notes = policy.notes
    if notes:
        yield (Span(f"{counted(len(notes), 'note')}: ignored, or probably not intended", "bold yellow"),)
        yield from _listed(notes, room)
    if policy.faults:
        what = f"{counted(len(policy.faults), 'fault')}: every call is denied until this is fixed"
        yield from paragraph(what, room, "bold red")
        yield from _listed(policy.faults, room)
    else:
        yield (Span("nothing else is wrong" if notes else "nothing is wrong", "green"),)


def _trusted(policy: WorkspacePolicy) -> str:
    state = policy.config.trust
    if isinstance(state, Trusted):
        return "trusted"
    return "changed since it was trusted" if isinstance(state, ChangedFolder) else "not trusted"


def _counts(policy: WorkspacePolicy) -> str:
    rules, config = policy.rulebook.rules, policy.config
    layers = Counter(rule.origin.layer for rule in rules)
    where = f" ({', '.join(f'{many} {layer}' for layer, many in layers.items())})" if rules else ""
    tests = sum(len(line.match) + len(line.not_match) for line in config.rules)
    answers = [each for each in policy.answers() if not each.expired]
    return ", ".join(
        (
            f"{counted(len(rules), 'rule')}{where}",
            counted(tests, "self-test"),
            counted(len(config.hooks), "hook"),
            counted(len(answers), "remembered answer"),
        )
    )


def _listed(faults: Sequence[SettingsFault], room: int) -> Iterator[Line]:
    for fault in faults:
        yield from paragraph(str(fault), room, indent=2, hang=2)


def _scope(text: str) -> str:
    if text == "session":
        raise ArgumentTypeError("must be user or project; rules for a session are created by answers in that session")
    return one_of(("user", "project"))(text)


def _moment_or_never(text: str) -> float | None:
    return None if text == "never" else _moment(text)


def _moment(text: str) -> float:
    """Parse a time in the future and return it as seconds since the epoch."""
    now, span = time(), seconds_of(text, "mhdw")
    try:
        if span is not None:
            at = now + span
        else:
            date = datetime.fromisoformat(text)
            at = (date if date.tzinfo else date.replace(tzinfo=UTC)).timestamp()
        datetime.fromtimestamp(at, UTC)  # a moment without a date cannot be shown
    except (ValueError, OverflowError, OSError):
        raise ArgumentTypeError(f"must be {_WHEN}, not {text!r}") from None
    if at <= now:
        raise ArgumentTypeError(f"must be in the future, and {text} is past: revoke the answer instead")
    return at


# ---- policy list ----------------------------------------------------------------------------------------------------


def list_rules(root: str | None, as_json: bool) -> int:
    """List every rule with its layer, file and line, and every remembered answer with its id, scope, expiry and
    origin.

    examples:
      callgate policy list --json
    """
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
        put(_list_lines(policy, text_width()))
    sys.stdout.flush()
    if policy.faults:
        say("the settings contain errors, so every call is denied; see `callgate policy check`")
    return 0


def _list_lines(policy: WorkspacePolicy, room: int) -> Iterator[Line]:
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
        yield from _answer_item(answer, room)


def _answer_item(answer: KeptAnswer, room: int) -> Iterator[Line]:
    policy = answer.policy
    said = (
        "in every folder" if policy.scope == "user" else "in this folder",
        _until(answer),
        f"given by {policy.origin or 'somebody'}, {moment(policy.created_at)}",
        answer.problem,
        policy.note,
    )
    style = "dim" if answer.expired else COLOURS[policy.effect]
    mark = f"  {answer.id}  {policy.effect:5}"
    yield from item(mark, answer.covers, "; ".join(part for part in said if part), room, style)


def _until(answer: KeptAnswer) -> str:
    at = answer.policy.expires_at
    if at is None:
        return "for ever"
    return f"EXPIRED {moment(at)}" if answer.expired else f"until {moment(at)}"


# ---- policy explain -------------------------------------------------------------------------------------------------


def explain(
    tool: str,
    content: str | None,
    pairs: Sequence[tuple[str, str]],
    arguments: dict[str, Any] | None,
    mode: Mode | None,
    root: str | None,
    as_json: bool,
) -> int:
    """Explain the decision about one call: the checks that ran, the decision of each check, and for each rule about
    the tool the reason why it applies or does not apply. Settings of all layers and remembered answers apply; hooks
    are not called, and nothing is run.

    examples:
      callgate policy explain Bash "rm -rf build"
      callgate policy explain Edit src/app.py --mode accept_edits
      callgate policy explain mcp__db__query --argument table=users
    """
    names = [name for name, _ in pairs]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise CommandMisuse(f"the argument {twice!r} is given twice")
    if arguments is not None and (names or content is not None):
        raise CommandMisuse("--arguments cannot be combined with the content or --argument")
    close = get_close_matches(tool, CONTENT, n=1) or [name for name in CONTENT if name.lower() == tool.lower()]
    hint = "" if tool in CONTENT or not close else f"; did you mean {close[0]}?"
    if content is not None and tool not in CONTENT:
        say(f"which argument of {tool} this is, is not known: give its arguments with --argument NAME=VALUE{hint}")
        return USAGE
    if arguments is None:
        arguments = dict(pairs) if content is None else {CONTENT[tool]: content, **dict(pairs)}
    if hint:
        say(f"{tool} is an unknown tool and is judged as such{hint}")
    policy = WorkspacePolicy(root, mode=mode)
    ruling, found = policy.explain(tool, arguments)
    if as_json:
        about = {"tool": tool, "arguments": arguments, "mode": policy.config.mode, "root": str(policy.config.root)}
        put_json({**about, **_explained_json(ruling, found)})
    else:
        put(_explained(tool, arguments, ruling, found, text_width()))
    return 0


def _explained_json(ruling: Ruling, found: Explanation) -> dict[str, Any]:
    rules = [
        {**json_fields(each, "rule.effect", "applies", "why", rule="rule.text"), **origin_as_json(each.rule.origin)}
        for each in found.rules
    ]
    checks = [json_fields(step, "check", "said", "decided") for step in found.steps]
    return {**ruling_as_json(ruling), "checks": checks, "rules": rules}


def _explained(
    tool: str, arguments: Mapping[str, Any], ruling: Ruling, found: Explanation, room: int
) -> Iterator[Line]:
    yield (Span(tool, "bold"),)
    for name, value in arguments.items():
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        for line in excerpt(f"{name}: {text}", lines=10, chars=_SHOWN).split("\n"):
            yield from paragraph(Safe(line), room, indent=2, hang=2)
    by = _named(ruling.by, ruling.origin)
    yield from item(ruling.decision, f"by {by}", ruling.why, room, f"bold {COLOURS[ruling.decision]}")
    if ruling.risk:
        yield from paragraph(f"risk: {ruling.risk}", room, "red", indent=2, hang=2)
    yield (Span("checks, in order", "bold"),)
    for step in found.steps:
        mark, style = (">", "bold") if step.decided else ("-", "dim")
        yield from paragraph(f"{mark} {step.check}: {step.said}", room, style, indent=2, hang=2)
    if found.rules:
        yield (Span(f"rules about {tool}", "bold"),)
    for reading in found.rules:
        yield from _reading(reading, room)


def _reading(reading: Reading, room: int) -> Iterator[Line]:
    rule = reading.rule
    name = _named(rule.text, rule.origin)
    says = "applies" if reading.applies else "does not apply"
    why = f": {reading.why}" if reading.why else ""
    mark, style = ("+", COLOURS[rule.effect]) if reading.applies else ("-", "")
    text = name if _is_answer(rule.text) else f"{rule.effect} {name}"
    yield from item(f"  {mark}", text, f"{says}{why}", room, style)


def _named(text: str, origin: Origin) -> str:
    return text if _is_answer(text) or not str(origin) else f"{text} ({origin})"


def _is_answer(text: str) -> bool:
    """Return True for the name of a remembered answer, such as ``policy allow Bash(make) [project]``."""
    return text.startswith("policy ")


# ---- policy decide --------------------------------------------------------------------------------------------------


def decide(jsonl: bool, settings: str | None, file: str | None) -> int:
    """Read {"tool": "Bash", "arguments": {"command": "…"}, "allow": […], "ask": […], "deny": […], "mode": "…",
    "root": "/…"} and answer {"decision": "allow|ask|deny", "rule", "by", "why"}, one line each. Only the tool is
    required. Rules apply as if given on the command line; only settings from --settings are read. Nothing
    is run; only symbolic links below the root are resolved.

    examples:
      echo '{"tool": "Bash", "arguments": {"command": "ls"}}' | callgate policy decide --jsonl
      callgate policy decide --jsonl --settings settings.toml calls.jsonl

    exit codes: 0 all calls were decided; 1 some lines are invalid and have {"error": "…"} instead
    """
    with json_input(file) as lines:
        return decide_lines(lines, out(), CallJudge(settings))


def decide_lines(lines: Iterable[str | bytes], out: TextIO, judge: CallJudge) -> int:
    loads = partial(json.loads, object_pairs_hook=_once, parse_constant=refuse_constant)
    return answer_lines(lines, out, lambda given: ruling_as_json(judge.judge(_call(given))), loads=loads)


def ruling_as_json(ruling: Ruling) -> dict[str, Any]:
    """Return the ruling as a JSON object. Origin and risk are left out if they are not set."""
    risk = {} if ruling.risk is None else {"risk": ruling.risk}
    return {**json_fields(ruling, "decision", "rule", "by", "why"), **origin_as_json(ruling.origin), **risk}


def _call(given: dict[str, Any]) -> CallToJudge:
    for key in given:
        if key not in KEYS:
            close = get_close_matches(key, KEYS, n=1)
            hint = f", did you mean {close[0]!r}?" if close else ""
            raise UnusableLine(f"there is no key {key!r}{hint}; there are {', '.join(KEYS)}")
    tool, root, mode = (_text(given, key) for key in ("tool", "root", "mode"))
    arguments = given.get("arguments", {})
    if not tool:
        raise UnusableLine('the tool is missing: add "tool": "Bash"')
    if not isinstance(arguments, dict):
        raise UnusableLine('"arguments" is an object, as in {"command": "ls"}')
    allow, ask, deny = (_rules(given, key) for key in ("allow", "ask", "deny"))
    # The judge refuses an unknown mode.
    return CallToJudge(
        tool=tool,
        arguments=cast(dict[str, Any], arguments),
        allow=allow,
        ask=ask,
        deny=deny,
        mode=cast(Any, mode),
        root=root or "",
    )


def _text(given: dict[str, Any], key: str) -> str | None:
    value = given.get(key)
    if value is not None and not isinstance(value, str):
        raise UnusableLine(f'"{key}" is a text')
    return value


def _rules(given: dict[str, Any], key: str) -> tuple[str, ...]:
    value = given.get(key, [])
    if not isinstance(value, list) or not all(isinstance(each, str) for each in cast(list[object], value)):
        raise UnusableLine(f'"{key}" is a list of rules, as in ["Bash(git log:*)"]')
    return tuple(cast(list[str], value))


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return the pairs as a dict. A duplicate key is refused, because parsers differ in the value that they use."""
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the key {twice!r} appears twice")
    return found


_ROOT = ArgumentRow("--root DIR", "the workspace (default: the current folder)")
_ID = ArgumentRow("ID", "the id in `callgate policy list`")
_CONTENT_HELP = "in quotes: the command of Bash, the path of a file tool, the address of WebFetch, the type of Agent"
COMMANDS = (
    CommandRow(
        "policy decide",
        decide,
        "decide about calls, with one JSON line for each",
        (JSONL, ArgumentRow("--settings FILE", "use the rules and the mode of this file, without hooks"), FILE),
    ),
    CommandRow(
        "policy explain",
        explain,
        "explain the decision about a call",
        (
            ArgumentRow("TOOL", "its name, as in rules"),
            ArgumentRow("CONTENT?", _CONTENT_HELP),
            ArgumentRow("--argument NAME=VALUE", "an argument as text; repeatable", "pairs", read=pair("="), many=True),
            ArgumentRow("--arguments JSON", "all arguments at once; @FILE reads them from a file", read=json_object),
            MODE,
            _ROOT,
            JSON,
        ),
    ),
    CommandRow("policy check", check, "check the settings for errors and unintended rules", (_ROOT,)),
    CommandRow("policy list", list_rules, "list the rules in effect and the remembered answers", (_ROOT, JSON_LINES)),
    CommandRow(
        "policy add",
        add,
        "remember an answer",
        (
            ArgumentRow("allow|ask|deny", "what the answer is", "effect"),
            ArgumentRow("RULE", "Tool or Tool(content), in quotes"),
            ArgumentRow("--scope S", "project (default), or user: every folder", read=_scope, default="project"),
            ArgumentRow("--expires WHEN", f"{_WHEN} (default: never)", read=_moment),
            ArgumentRow("--note TEXT", "the reason; it is shown when the answer decides"),
            _ROOT,
        ),
    ),
    CommandRow(
        "policy revoke",
        revoke,
        "forget remembered answers",
        (ArgumentRow("ID+", "the id in `callgate policy list`", "ids"), _ROOT),
    ),
    CommandRow(
        "policy narrow",
        narrow,
        "restrict a remembered answer to fewer calls",
        (_ID, ArgumentRow("RULE", "Tool(content), in quotes"), _ROOT),
    ),
    CommandRow(
        "policy expire",
        expire,
        "let a remembered answer end",
        (_ID, ArgumentRow("WHEN", f"{_WHEN}, or never", read=_moment_or_never), _ROOT),
    ),
)
