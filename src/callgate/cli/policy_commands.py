"""The commands ``callgate policy``."""

from argparse import ArgumentTypeError
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from time import time
from typing import get_args

from callgate.admin.workspace_policy import ChangedFolder, KeptScope, SettingsFault, Trusted, WorkspacePolicy
from callgate.cli.command_parser import json_object, one_of, pair, seconds_of
from callgate.cli.command_rows import ArgumentRow, CommandRow
from callgate.cli.json_lines import FILE, JSONL
from callgate.cli.policy_list import answer_lines, until
from callgate.cli.terminal import Line, Span, paragraph
from callgate.cli.text_output import put, put_paragraph, text_width
from callgate.formats.display import counted
from callgate.words.decisions import Effect
from callgate.words.modes import MODES

_KEPT = "Answers are stored in $CALLGATE_DATA_DIR (default: ~/.local/share/callgate)."
_WHEN = "12h or 30d from now, or a date such as 2027-01-31 (UTC)"


def add(effect: Effect, rule: str, scope: KeptScope, expires: float | None, note: str | None, root: str | None) -> int:
    """Remember an answer, as the answer `always` does, and print its id. The answer covers one tool or one MCP
    server. To set a rule for everybody who works on a project, write the rule into the project's settings."""
    answer = WorkspacePolicy(root).remember(effect, rule, scope=scope, expires_at=expires, note=note)
    put([(Span(answer.id),), *answer_lines(answer, text_width())])
    if answer.hint:
        put_paragraph(f"note: {answer.hint}", style="yellow")
    return 0


def revoke(ids: Sequence[str], root: str | None) -> int:
    """Remove remembered answers. If an id is unknown, no answer is removed."""
    for each in WorkspacePolicy(root).revoke(ids):
        put_paragraph(f"revoked {each.id}: {each.policy.effect} {each.covers}", hang=2)
    return 0


def narrow(id: str, rule: str, root: str | None) -> int:
    """Replace the rule of a remembered answer by a narrower rule; the id does not change. A rule that is not
    narrower is refused."""
    before, after = WorkspacePolicy(root).narrow(id, rule)
    put_paragraph(f"{after.id}: {after.policy.effect} {after.covers}, instead of {before.covers}", hang=2)
    return 0


def expire(id: str, when: float | None, root: str | None) -> int:
    """Set, change or remove the time at which a remembered answer expires. An expired answer can be renewed."""
    answer = WorkspacePolicy(root).expire(id, when)
    put_paragraph(f"{answer.id}: {answer.policy.effect} {answer.covers} {until(answer)}", hang=2)
    return 0


def check(root: str | None) -> int:
    """Check the settings of all layers and the self-tests of their rules. Faults are reported with file and line; as
    long as there is a fault, every call is denied. Ignored entries are listed with the reason."""
    policy = WorkspacePolicy(root)
    put(_lines(policy, text_width()))
    return 1 if policy.faults else 0


def _lines(policy: WorkspacePolicy, room: int) -> Iterator[Line]:
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


_ROOT = ArgumentRow("--root DIR", "the workspace (default: the current folder)")
_ID = ArgumentRow("ID", "the id in `callgate policy list`")
COMMANDS = (
    CommandRow(
        "policy decide",
        "policy_decide:decide",
        "decide about calls, with one JSON line for each",
        (
            JSONL,
            ArgumentRow("--settings FILE", "use the rules and the mode of this settings file, without hooks"),
            FILE,
        ),
        examples=(
            """echo '{"tool": "Bash", "arguments": {"command": "ls"}}' | callgate policy decide --jsonl""",
            "callgate policy decide --jsonl --settings settings.toml calls.jsonl",
        ),
        more='exit codes: 0 all calls were decided; 1 some lines are invalid and have {"error": "…"} instead',
    ),
    CommandRow(
        "policy explain",
        "policy_explain:explain",
        "explain the decision about a call",
        (
            ArgumentRow("TOOL", "its name, as in rules"),
            ArgumentRow(
                "CONTENT?",
                "the subject of the call, in quotes: the command of Bash, the path of a file tool, the address "
                "of WebFetch, the type of Agent",
            ),
            ArgumentRow(
                "--argument NAME=VALUE",
                "an argument of the call, as text; may be given several times",
                "pairs",
                read=pair("="),
                many=True,
            ),
            ArgumentRow("--arguments JSON", "all arguments at once; @FILE reads them from a file", read=json_object),
            ArgumentRow("--mode M", f"one of {', '.join(MODES)}", choices=tuple(MODES)),
            _ROOT,
            ArgumentRow("--json", "one line of JSON, and nothing else", "as_json"),
        ),
        examples=(
            'callgate policy explain Bash "rm -rf build"',
            "callgate policy explain Edit src/app.py --mode accept_edits",
            "callgate policy explain mcp__db__query --argument table=users",
        ),
    ),
    CommandRow(
        "policy check",
        check,
        "check the settings for errors and unintended rules",
        (_ROOT,),
        examples=("callgate policy check", "callgate policy check --root ~/src/app"),
        more="exit codes: 0 no problem, 1 problems",
    ),
    CommandRow(
        "policy list",
        "policy_list:list_rules",
        "list the rules in effect and the remembered answers",
        (_ROOT, ArgumentRow("--json", "print one JSON line for each", "as_json")),
        examples=("callgate policy list", "callgate policy list --json"),
    ),
    CommandRow(
        "policy add",
        add,
        "remember an answer",
        (
            ArgumentRow("allow|ask|deny", "what the answer is", "effect", choices=get_args(Effect)),
            ArgumentRow("RULE", "Tool or Tool(content), in quotes"),
            ArgumentRow(
                "--scope S",
                "project: in this folder (the default); user: in every folder",
                read=_scope,
                default="project",
            ),
            ArgumentRow("--expires WHEN", f"{_WHEN} (default: never)", read=_moment),
            ArgumentRow("--note TEXT", "the reason; it is shown when the answer decides"),
            _ROOT,
        ),
        examples=(
            'callgate policy add allow "Bash(npm run *)" --expires 30d',
            'callgate policy add deny "Bash(git push:*)" --scope user --note "I push myself"',
        ),
    ),
    CommandRow(
        "policy revoke",
        revoke,
        "forget remembered answers",
        (ArgumentRow("ID+", "the id in `callgate policy list`", "ids"), _ROOT),
        examples=("callgate policy revoke 3fa2c1",),
    ),
    CommandRow(
        "policy narrow",
        narrow,
        "restrict a remembered answer to fewer calls",
        (_ID, ArgumentRow("RULE", "Tool(content), in quotes"), _ROOT),
        examples=('callgate policy narrow 3fa2c1 "Bash(git log --oneline:*)"',),
    ),
    CommandRow(
        "policy expire",
        expire,
        "let a remembered answer end",
        (_ID, ArgumentRow("WHEN", f"{_WHEN}, or never", read=_moment_or_never), _ROOT),
        examples=("callgate policy expire 3fa2c1 30d", "callgate policy expire 3fa2c1 never"),
    ),
)
