"""Which hooks are for what, and what is wrong with their lines."""

import asyncio
from typing import Any

import pytest

from callgate.core.ports import Case
from callgate.policy.entries import EVENTS, SettingsFault
from callgate.policy.hooks.hook_protocol import CALL_EVENTS, SUBJECTS
from callgate.words.decisions import Deny
from tests.policy.hooks.kit import Bench, case_of, command, hook, origin, saying
from tests.rows import rows


def runs(matcher: str, name: str) -> bool:
    bench = Bench(hook("f", matcher=matcher), f=saying(decision="block"))
    return asyncio.run(bench.before(case_of(name))) is not None


@pytest.mark.spec("HOOK-4")
@rows(
    ("matcher", "names", "others"),
    [
        ("", ("Edit", "Bash"), ()),
        ("*", ("Edit", "mcp__a__b"), ()),
        ("Edit", ("Edit",), ("NotebookEdit", "Edits", "edit", "MultiEdit", "Edit\n")),
        ("Edit|Write", ("Edit", "Write"), ("NotebookEdit", "WriteAll", "EditWrite", "OverWrite")),
        ("Edit.*", ("Edit", "Edits"), ("NotebookEdit",)),
        (".*", ("Edit", "Bash"), ()),
        ("mcp__memory__.*", ("mcp__memory__add",), ("mcp__memory", "xmcp__memory__add")),
    ],
)
def test_a_matcher_matches_the_whole_name(matcher: str, names: tuple[str, ...], others: tuple[str, ...]) -> None:
    assert all(runs(matcher, name) for name in names)
    assert not any(runs(matcher, name) for name in others)


def test_aliases_of_a_tool_are_not_its_name() -> None:
    assert not runs("Shell", "Bash")


def test_nothing_is_waited_for_where_no_hook_matches() -> None:
    bench = Bench(hook("f", matcher="Edit"), hook("f", "Stop"), f=saying())
    case = case_of("Bash")
    assert bench.hooks.before.judge(case) is None
    assert bench.hooks.before.judge(case) is None
    assert bench.hooks.before.name == "hooks"
    assert not bench.hooks.before.again
    assert Bench().hooks.before.judge(case) is None


def faults(*lines: Any, **functions: Any) -> list[str]:
    return [fault.text for fault in Bench(*lines, **functions).hooks.faults]


def test_a_line_without_a_fault_has_none() -> None:
    assert faults(hook("f", matcher="a|b", condition="Bash"), command("true", "Stop"), f=saying()) == []
    assert faults(hook("os.path:join"), hook("a.b:C.d"), hook("https://example.com", kind="http")) == []


def test_an_event_that_does_not_exist_is_a_fault() -> None:
    bench = Bench(command("true", "PreTooluse", line=4))
    assert bench.hooks.faults == (SettingsFault("unknown hook event 'PreTooluse'", origin(line=4)),)


@rows("matcher", ["(", "a{99999999999}", "[[a]", "**", "(?i", "a" + "(" * 5000])
@rows("event", CALL_EVENTS)
def test_a_matcher_that_cannot_be_read_is_a_fault(matcher: str, event: str) -> None:
    bench = Bench(hook("f", event, matcher=matcher, line=7), f=saying())
    (fault,) = bench.hooks.faults
    assert fault.text.startswith(f"hook {event} f: its matcher is invalid: ")
    assert fault.origin == origin(line=7)


@rows("event", sorted(set(EVENTS) - set(SUBJECTS)))
def test_a_matcher_where_there_is_nothing_to_match_is_a_fault(event: str) -> None:
    bench = Bench(hook("f", event, matcher="Edit"), f=saying(decision="block", reason="no"))
    assert [fault.text for fault in bench.hooks.faults] == [
        f"hook {event} f: matchers are not supported for {event}; remove the matcher"
    ]
    assert faults(hook("f", event, matcher="*"), hook("f", event), f=saying()) == []


def test_a_condition_about_something_else_than_a_call_is_a_fault() -> None:
    assert faults(hook("f", "Stop", condition="Bash"), f=saying()) == [
        "hook Stop f: a condition applies to calls, and Stop has no call; remove the condition"
    ]


@rows(
    ("line", "why"),
    [
        (hook("nothing"), "a Python hook must be module:function, not 'nothing'"),
        (hook("a b:c"), "a Python hook must be module:function, not 'a b:c'"),
        (hook("a:b c"), "a Python hook must be module:function, not 'a:b c'"),
        (hook(":c"), "a Python hook must be module:function, not ':c'"),
        (hook("a:"), "a Python hook must be module:function, not 'a:'"),
        (command(" "), "the command is empty"),
        (command("a\0b"), "the command is empty"),
        (
            hook("http://example.com/", kind="http"),
            "http is allowed only for this machine (localhost, 127.0.0.1, [::1]); use https",
        ),
        (command("true", timeout=0.0), "the timeout must be a number of seconds above 0"),
        (command("true", timeout=-1.0), "the timeout must be a number of seconds above 0"),
        (command("true", timeout=float("inf")), "the timeout must be a number of seconds above 0"),
        (command("true", timeout=float("nan")), "the timeout must be a number of seconds above 0"),
    ],
)
def test_a_hook_that_can_never_be_asked_is_a_fault_and_is_not_run(line: Any, why: str) -> None:
    bench = Bench(line)
    (fault,) = bench.hooks.faults
    assert fault.text.endswith(f": {why}")
    assert bench.hooks.before.judge(case_of()) is None


def test_an_address_without_use_is_not_shown() -> None:
    (fault,) = Bench(hook("https://ann:hush@example.com/", kind="http")).hooks.faults
    assert "hush" not in fault.text
    assert fault.text.startswith("hook PreToolUse (an invalid URL): ")


@rows(
    ("line", "name"),
    [
        (command("x" * 60), "x" * 60),
        (command("x" * 61), "x" * 57 + "..."),
        (command(" a\n  b "), "a b"),
        (hook("https://example.com/a?token=hush", kind="http"), "https://example.com:443/a"),
        (hook("http://[::1]:80/?a", kind="http"), "http://[::1]:80/"),
    ],
)
def test_a_hook_is_named_by_what_it_does(line: Any, name: str) -> None:
    (fault,) = faults(hook(line.target, kind=line.kind, matcher="("))
    assert fault.startswith(f"hook PreToolUse {name}: its matcher")


# ---- conditions ---------------------------------------------------------------------------------------------------


def test_a_condition_must_cover_the_call() -> None:
    asked: list[tuple[str, str]] = []

    def covers(rule: str, case: Case) -> bool:
        asked.append((rule, case.name))
        return rule == "Bash(git push:*)"

    yes = Bench(hook("f", condition="Bash(git push:*)"), covers=covers, f=saying(decision="block", reason="no"))
    no = Bench(hook("f", condition="Bash(rm:*)"), covers=covers, f=saying(decision="block", reason="no"))
    assert asyncio.run(yes.before()).decision.reason == "no"
    assert no.hooks.before.judge(case_of()) is None
    assert asked == [("Bash(git push:*)", "Bash"), ("Bash(rm:*)", "Bash")]


@rows("fail_closed", [False, True])
def test_a_condition_that_fails_is_reported_and_covers_for_those_that_must_not_fail(fail_closed: bool) -> None:
    def covers(rule: str, case: Case) -> bool:
        raise ValueError("no such rule")

    line = hook("f", condition="Bash(", fail_closed=fail_closed, line=9)
    bench = Bench(line, covers=covers, f=saying(decision="block", reason="no"))
    hooked = asyncio.run(bench.before())
    assert (hooked is not None) == fail_closed
    (noted,) = bench.noted
    place = "hook PreToolUse f (user, settings.toml:9)"
    assert noted.text == f"the condition of {place} failed: ValueError: no such rule"
    assert (noted.level, noted.call_id, noted.at) == ("warning", "call_1", bench.clock.now())


# ---- twins --------------------------------------------------------------------------------------------------------


def test_the_same_hook_twice_runs_once() -> None:
    ran: list[str] = []

    def f(told: dict[str, Any]) -> dict[str, Any]:
        ran.append(told["tool_name"])
        return {"decision": "block", "reason": "no"}

    bench = Bench(hook("f", matcher="B.*"), hook("f", matcher=".*h"), hook("g"), f=f, g=saying())
    assert asyncio.run(bench.before()).decision.by == "hook PreToolUse f"
    assert ran == ["Bash"]


def test_a_target_of_another_kind_is_another_hook(tmp_path: Any) -> None:
    bench = Bench(command("true:x", line=2), hook("true:x", line=3), root=tmp_path)
    asyncio.run(bench.before())
    assert ["settings.toml:2" in bench.warnings[0], "settings.toml:3" in bench.warnings[1]] == [True, True]


@rows("order", [(False, True), (True, False)])
def test_of_twins_the_one_that_must_not_fail_counts(order: tuple[bool, bool]) -> None:
    bench = Bench(*(hook("f", fail_closed=closed) for closed in order), f=saying(decision=1))
    assert isinstance(asyncio.run(bench.before()).decision, Deny)


@rows("layers", [("project", "user"), ("user", "local"), ("managed", "project")])
def test_of_twins_the_one_from_outside_the_repository_may_allow(layers: Any) -> None:
    twins = Bench(*(hook("f", layer=layer) for layer in layers), f=saying(decision="approve"))
    assert asyncio.run(twins.before()).decision is not None
    alone = Bench(hook("f", layer="project"), hook("f", layer="local"), f=saying(decision="approve"))
    assert asyncio.run(alone.before()).decision is None
