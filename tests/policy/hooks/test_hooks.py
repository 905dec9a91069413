"""What comes of what hooks say: before a call, after it, in place of a person, and around a session."""

import asyncio
import json
import threading
from dataclasses import replace
from typing import Any

import pytest

from callgate.core.gate import CheckGate
from callgate.core.ports import Check, Hooked
from callgate.policy.entries import EVENTS
from callgate.policy.hooks.hook_protocol import CALL_EVENTS, EVENTS_NOT_BLOCKABLE, SUBJECTS
from callgate.policy.hooks.hooks import HOOK_STOP, UNTOUCHED, Outcome
from callgate.words.calls import Display, Result
from callgate.words.decisions import Allow, Ask, Deny
from callgate.words.errors import UsageError
from callgate.words.messages import Image, Resource, Text
from tests.policy.hooks.kit import Bench, case_of, hook, origin, permission, saying

BLOCK = saying(decision="block", reason="no")
OTHERS = sorted(set(EVENTS) - set(CALL_EVENTS))


def own(event: str, **fields: Any) -> Any:
    return saying(hookSpecificOutput={"hookEventName": event, **fields})


# ---- before a call ------------------------------------------------------------------------------------------------


def before(bench: Bench, case: Any = None) -> Any:
    return asyncio.run(bench.before(case))


def pre(word: str, reason: str = "", **more: Any) -> Any:
    return saying(**permission(word, reason, **more))


def test_a_denial_names_the_hook_and_its_line() -> None:
    bench = Bench(hook("f", line=12), f=pre("deny", "not on Friday"))
    denied = Deny("hook PreToolUse f", "not on Friday", "blocked_by_hook", origin=origin(line=12))
    assert before(bench) == Hooked("hook PreToolUse f", denied)


def test_an_ask_is_put_every_time() -> None:
    bench = Bench(hook("f", line=12), f=pre("ask", "sure?"))
    ask = Ask("hook PreToolUse f", "sure?", unconditional=True, origin=origin(line=12))
    assert before(bench) == Hooked("hook PreToolUse f", ask)
    assert before(Bench(hook("f"), f=pre("ask"))).decision.reason == "a hook asks the user to decide"


def test_an_allow_is_one_with_its_origin() -> None:
    bench = Bench(hook("f", line=12), f=pre("allow", "fine"))
    assert before(bench) == Hooked("hook PreToolUse f", Allow("hook PreToolUse f", "fine", origin=origin(line=12)))


def test_hooks_without_an_opinion_leave_the_case_as_it_is() -> None:
    assert before(Bench(hook("f"), f=saying())) == Hooked("")


def test_arguments_and_contexts_are_handed_on_with_who_put_them_in() -> None:
    change = pre("ask", "sure?", updatedInput={"command": "git push --dry-run"}, additionalContext="dry")
    bench = Bench(hook("g"), hook("f"), f=change, g=own("PreToolUse", additionalContext="g says"))
    hooked = before(bench)
    assert (hooked.by, hooked.arguments) == ("hook PreToolUse f", {"command": "git push --dry-run"})
    assert hooked.context == ("g says", "dry")


def test_a_denial_keeps_contexts_and_drops_arguments() -> None:
    change = own("PreToolUse", updatedInput={"command": "x"}, additionalContext="c")
    hooked = before(Bench(hook("f"), hook("g"), f=change, g=pre("deny", "no")))
    assert (hooked.by, hooked.arguments, hooked.context) == ("hook PreToolUse g", None, ("c",))


@pytest.mark.parametrize(
    ("functions", "by", "reason"),
    [
        ({"f": saying(**{"continue": False, "stopReason": "enough"}), "g": pre("allow")}, "f", "enough"),
        ({"f": saying(**{"continue": False, "stopReason": "enough"}), "g": pre("deny", "no")}, "g", "no\nenough"),
    ],
)
def test_a_wish_to_stop_denies_the_call_and_ends_the_turn(functions: Any, by: str, reason: str) -> None:
    decision = before(Bench(hook("f"), hook("g"), **functions)).decision
    assert (decision.by, decision.reason, decision.stop) == (f"hook PreToolUse {by}", reason, True)
    assert decision.code == "blocked_by_hook"


@pytest.mark.spec("HOOK-1")
def test_a_conflict_of_arguments_is_reported() -> None:
    first, second = (own("PreToolUse", updatedInput={"command": word}) for word in ("a", "b"))
    bench = Bench(hook("f", line=1), hook("g", line=2), f=first, g=second)
    assert before(bench).arguments == {"command": "a"}
    named = "hook PreToolUse f and hook PreToolUse g (user, settings.toml:2)"
    assert bench.warnings == [f"{named} both changed the arguments; the changes of the first are used"]
    assert bench.noted[0].call_id == "call_1"


def test_what_hooks_show_is_told_to_the_person() -> None:
    bench = Bench(hook("f"), f=saying(systemMessage="hello"))
    before(bench)
    (noted,) = bench.noted
    assert (noted.text, noted.level) == ("hook PreToolUse f (user, settings.toml:1): hello", "info")
    assert (noted.at, noted.call_id) == (bench.clock.now(), "call_1")


def test_hooks_run_at_the_same_time() -> None:
    meeting = threading.Barrier(3)

    def f(told: Any) -> None:
        meeting.wait(30)

    bench = Bench(*(hook(name) for name in "abc"), a=f, b=lambda told: f(told), c=lambda told: f(told))
    before(bench)
    assert bench.warnings == []


def test_in_a_gate_hooks_run_once_even_if_they_change_the_arguments() -> None:
    ran: list[str] = []

    def f(told: dict[str, Any]) -> Any:
        ran.append(told["tool_input"]["command"])
        return permission("allow", updatedInput={"command": "ls"})

    bench = Bench(hook("f"), f=f)
    seen: list[Any] = []

    def last(case: Any) -> Allow:
        seen.append((case.arguments, case.hooked.decision))
        return Allow("last")

    gate = CheckGate((bench.hooks.before, Check("last", last)))

    async def main() -> Any:
        return await gate.judge(case_of())  # type: ignore[misc]

    decision = asyncio.run(main())
    assert (decision.by, decision.arguments) == ("last", {"command": "ls"})
    assert ran == ["git push"]
    assert seen == [({"command": "ls"}, Allow("hook PreToolUse f", origin=origin()))]


def test_a_case_that_was_hooked_is_not_hooked_again() -> None:
    bench = Bench(hook("f"), f=BLOCK)
    assert bench.hooks.before.judge(replace(case_of(), hooked=Hooked())) is None


# ---- in place of a person -----------------------------------------------------------------------------------------

ASK = Ask("default", "Bash may change something")


def asked(bench: Bench, ask: Ask = ASK) -> Any:
    async def main() -> Any:
        pending = bench.hooks.asked(case_of(), ask)
        return "nobody" if pending is None else await pending

    return asyncio.run(main())


def choice(behavior: str, **more: Any) -> Any:
    return own("PermissionRequest", decision={"behavior": behavior, **more})


def test_where_no_hook_is_told_of_questions_nothing_is_waited_for() -> None:
    assert asked(Bench(hook("f"), f=BLOCK)) == "nobody"
    assert asked(Bench(hook("f", "PermissionRequest", matcher="Edit"), f=BLOCK)) == "nobody"


def test_a_hook_may_allow_what_is_asked() -> None:
    bench = Bench(hook("f", "PermissionRequest"), f=choice("allow", message="fine", updatedInput={"command": "ls"}))
    allowed = Allow("hook PermissionRequest f", "fine", arguments={"command": "ls"}, origin=origin())
    assert asked(bench) == allowed


def test_what_a_hook_adds_comes_with_its_allow() -> None:
    function = own("PermissionRequest", decision={"behavior": "allow"}, additionalContext="c")
    assert asked(Bench(hook("f", "PermissionRequest"), f=function)).context == ("c",)


def test_a_hook_may_deny_what_is_asked() -> None:
    bench = Bench(hook("f", "PermissionRequest", layer="project"), f=choice("deny", message="no"))
    assert asked(bench) == Deny("hook PermissionRequest f", "no", "blocked_by_hook", origin=origin("project"))
    standing = Ask("rule", unconditional=True)
    assert isinstance(asked(bench, standing), Deny)


def test_a_hook_may_deny_and_end_the_turn() -> None:
    bench = Bench(hook("f", "PermissionRequest"), f=choice("deny", message="no", interrupt=True))
    assert asked(bench).stop


def test_a_wish_to_stop_is_not_an_allow() -> None:
    function = saying(**{"continue": False}, hookSpecificOutput={"decision": {"behavior": "allow"}})
    assert asked(Bench(hook("f", "PermissionRequest"), f=function)).stop


@pytest.mark.parametrize("layer", ["project", "local"])
def test_an_allow_from_the_repository_answers_nothing(layer: Any) -> None:
    assert asked(Bench(hook("f", "PermissionRequest", layer=layer), f=choice("allow"))) is None


def test_an_allow_never_answers_what_is_asked_every_time() -> None:
    bench = Bench(hook("f", "PermissionRequest"), f=choice("allow"))
    assert asked(bench, Ask("rule", unconditional=True)) is None


def test_hooks_of_a_question_are_told_who_asks_and_why() -> None:
    told: list[Any] = []
    bench = Bench(hook("f", "PermissionRequest"), f=told.append)
    assert asked(bench) is None
    assert (told[0]["asked_by"], told[0]["message"]) == ("default", "Bash may change something")
    assert (told[0]["tool_name"], told[0]["hook_event_name"]) == ("Bash", "PermissionRequest")


@pytest.mark.spec("HOOK-2")
@pytest.mark.parametrize("fail_closed", [False, True])
def test_a_failing_hook_of_a_question(fail_closed: bool) -> None:
    bench = Bench(hook("f", "PermissionRequest", fail_closed=fail_closed), f=saying(decision=1))
    answer = asked(bench)
    assert isinstance(answer, Deny) == fail_closed
    assert fail_closed or answer is None
    assert len(bench.warnings) == 1


# ---- after a call -------------------------------------------------------------------------------------------------

DONE = Result((Text("pushed"),), display=(Display("text", "pushed"),), details={"effects": "done"})
FAILED = Result.failed("tool_error", "rejected", effects="none")


def after(bench: Bench, result: Result = DONE) -> Any:
    async def main() -> Any:
        answer = bench.hooks.after(case_of(), result)
        return answer if isinstance(answer, Result) else await answer

    return asyncio.run(main())


def test_where_no_hook_matches_the_result_is_the_same_at_once() -> None:
    bench = Bench(hook("f", "PostToolUse", matcher="Edit"), hook("f"), f=BLOCK)
    assert bench.hooks.after(case_of(), DONE) is DONE
    assert bench.hooks.after(case_of(), FAILED) is FAILED


def test_each_outcome_has_its_own_event() -> None:
    told: list[Any] = []
    bench = Bench(hook("f", "PostToolUse"), hook("g", "PostToolUseFailure"), f=told.append, g=told.append)
    assert (after(bench), after(bench, FAILED)) == (DONE, FAILED)
    first, second = told
    text = {"type": "text", "text": "pushed"}
    assert first["hook_event_name"] == "PostToolUse"
    assert first["tool_response"] == {"content": [text], "is_error": False, "code": "ok"}
    assert "error" not in first
    assert second["hook_event_name"] == "PostToolUseFailure"
    assert second["tool_response"]["code"] == "tool_error"
    assert (second["error"], second["is_interrupt"]) == ("rejected", False)
    assert second["tool_input"] == {"command": "git push"}


def test_an_interrupted_call_is_told_as_one() -> None:
    told: list[Any] = []
    bench = Bench(hook("f", "PostToolUseFailure"), f=told.append)
    after(bench, Result.failed("cancelled_by_user", "stopped"))
    assert told[0]["is_interrupt"] is True


def test_bytes_are_not_told() -> None:
    told: list[Any] = []
    parts = (
        Image("image/png", b"xx"),
        Resource("file:///a", data=b"yy"),
        Resource("file:///b", "text", None, "text/x"),
    )
    after(Bench(hook("f", "PostToolUse"), f=told.append), Result(parts))
    assert told[0]["tool_response"]["content"] == [
        {"type": "image", "media_type": "image/png"},
        {"type": "resource", "uri": "file:///a"},
        {"type": "resource", "uri": "file:///b", "text": "text", "media_type": "text/x"},
    ]
    assert json.dumps(told)


@pytest.mark.parametrize(("event", "result"), [("PostToolUse", DONE), ("PostToolUseFailure", FAILED)])
def test_what_hooks_say_is_added_for_the_model_and_marked_as_theirs(event: str, result: Result) -> None:
    lint = saying(decision="block", reason="lint: line 3", hookSpecificOutput={"additionalContext": "see docs"})
    bench = Bench(hook("f", event), hook("g", event), f=lint, g=own(event, additionalContext="more"))
    changed = after(bench, result)
    assert changed.content == (
        *result.content,
        Text(f"[hook {event} f reports a problem: lint: line 3]"),
        Text("[A hook after Bash adds: see docs]"),
        Text("[A hook after Bash adds: more]"),
    )
    assert (changed.display, changed.details, changed.code) == (result.display, result.details, result.code)


def test_approval_of_what_is_done_means_nothing() -> None:
    assert after(Bench(hook("f", "PostToolUse"), f=saying(decision="approve"))) == DONE


def test_a_wish_to_stop_is_in_the_details() -> None:
    bench = Bench(hook("f", "PostToolUse"), f=saying(**{"continue": False, "stopReason": "enough"}))
    changed = after(bench)
    assert changed.details == {"effects": "done", HOOK_STOP: "enough"}
    assert changed.content == DONE.content
    assert HOOK_STOP == "hook_stop"


@pytest.mark.spec("HOOK-2")
@pytest.mark.parametrize("fail_closed", [False, True])
def test_a_failing_hook_after_a_call_is_reported_and_objects_if_it_must_not_fail(fail_closed: bool) -> None:
    bench = Bench(hook("f", "PostToolUse", fail_closed=fail_closed), f=saying(decision=1))
    changed = after(bench)
    assert len(bench.warnings) == 1
    assert len(changed.content) == 1 + fail_closed
    if fail_closed:
        assert changed.content[1].text.startswith(
            "[hook PostToolUse f reports a problem: hook PostToolUse f returned an invalid answer"
        )


def test_in_a_gate_results_pass_through_the_hooks() -> None:
    bench = Bench(hook("f", "PostToolUse"), f=BLOCK)
    gate = CheckGate((), after=[bench.hooks.after])

    async def main() -> Any:
        return await gate.after(case_of(), DONE)  # type: ignore[misc]

    assert asyncio.run(main()).text == "pushed[hook PostToolUse f reports a problem: no]"


# ---- around a session ---------------------------------------------------------------------------------------------


def happened(bench: Bench, event: str, **payload: Any) -> Outcome:
    return asyncio.run(bench.hooks.happened(event, **payload))


@pytest.mark.parametrize("event", OTHERS)
def test_hooks_of_an_event_are_told_of_it(event: str) -> None:
    told: list[Any] = []
    bench = Bench(hook("f", event), hook("f", "PreToolUse"), f=told.append)
    assert happened(bench, event, prompt="hi", hook_event_name="Lie") == UNTOUCHED
    assert told == [
        {
            "session_id": "s1",
            "transcript_path": "/t/s1.jsonl",
            "cwd": "/",
            "hook_event_name": event,
            "prompt": "hi",
        }
    ]


@pytest.mark.parametrize("event", OTHERS)
def test_what_hooks_make_of_an_event(event: str) -> None:
    function = saying(
        **{"continue": False, "stopReason": "enough"},
        decision="block",
        reason="no",
        hookSpecificOutput={"additionalContext": "c"},
    )
    bench = Bench(hook("f", event), f=function)
    outcome = happened(bench, event)
    blocked = None if event in EVENTS_NOT_BLOCKABLE else "no"
    assert outcome == Outcome(blocked, ("c",), "enough", f"hook {event} f")
    expected = [f"hook {event} f cannot block this event: no"] if event in EVENTS_NOT_BLOCKABLE else []
    assert bench.warnings == expected


def test_events_that_nobody_can_block() -> None:
    assert EVENTS_NOT_BLOCKABLE == ("SessionEnd", "SubagentStart", "PostCompact", "Notification")


def test_a_stop_is_named_by_who_wants_it() -> None:
    bench = Bench(hook("f", "Stop"), f=saying(**{"continue": False}))
    assert happened(bench, "Stop") == Outcome(stop="a hook stopped the work", by="hook Stop f")


@pytest.mark.parametrize("event", sorted(set(SUBJECTS) - set(CALL_EVENTS)))
def test_a_matcher_is_held_against_the_subject_of_the_event(event: str) -> None:
    bench = Bench(hook("f", event, matcher="a|b"), f=saying(systemMessage="ran"))
    field = SUBJECTS[event]
    happened(bench, event, **{field: "b"})
    assert len(bench.noted) == 1
    for payload in ({field: "ab"}, {field: "x"}, {}, {"other": "a"}):
        assert happened(bench, event, **payload) == UNTOUCHED
    assert len(bench.noted) == 1
    assert bench.noted[0].call_id is None


@pytest.mark.parametrize("event", [*CALL_EVENTS, "Nothing"])
def test_other_events_do_not_happen_to_a_session(event: str) -> None:
    with pytest.raises(UsageError, match=f"{event} is not an event of sessions"):
        happened(Bench(), event)


@pytest.mark.spec("HOOK-2")
@pytest.mark.parametrize("fail_closed", [False, True])
@pytest.mark.parametrize("event", sorted(set(OTHERS) - set(EVENTS_NOT_BLOCKABLE)))
def test_a_failing_hook_blocks_if_it_must_not_fail(event: str, fail_closed: bool) -> None:
    bench = Bench(hook("f", event, fail_closed=fail_closed), f=saying(decision=1))
    outcome = happened(bench, event)
    assert (outcome.blocked is not None) == fail_closed
    assert len(bench.warnings) == 1


@pytest.mark.parametrize("event", CALL_EVENTS)
def test_a_matcher_of_a_call_is_held_against_the_name_of_the_tool(event: str) -> None:
    assert SUBJECTS[event] == "tool_name"


def test_nothing_of_what_hooks_are_told_is_reported() -> None:
    secret = "hush-hush"
    lines = [hook("f"), hook("g", fail_closed=True), hook("no:such"), hook("h", kind="command", timeout=9)]

    async def main() -> Bench:
        bench = Bench(*lines, root="/nonexistent", f=saying(decision=1), g=lambda told: told["tool_input"]["a"][0])
        hooked = await bench.before(case_of(a=[secret]))
        assert secret not in hooked.decision.reason
        return bench

    bench = asyncio.run(main())
    assert len(bench.warnings) == 4
    assert not any(secret in text for text in bench.said)
