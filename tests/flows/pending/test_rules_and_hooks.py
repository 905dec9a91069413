"""Rules, hooks and modes applied to pending actions."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from callgate import Session, tool
from callgate.assembly.settings import hooks_feature
from callgate.config import Config
from callgate.policy.entries import HookLine
from callgate.testing import call, turn
from callgate.tools.builtin.plan import plan_tools
from callgate.tools.staging import stage
from callgate.tools.toolbox import Named, Toolbox
from callgate.words.changes import ChangeSet, FileChange
from callgate.words.decisions import Origin
from callgate.words.events import CallArrived, InputRefused
from callgate.words.inputs import Prompt, Resolve
from callgate.words.limits import LoopLimits
from callgate.words.modes import Mode
from tests.flows.gated import Hook, of
from tests.flows.pending.kit import codes, model_of, really, refusals, sent
from tests.flows.resolving.kit import Bench, answering, apply, pending, stages

ONCE: dict[str, Any] = {"limits": LoopLimits(max_turns=1)}
"""The run ends after the message that stages, so that something is pending between two runs."""
YES = Resolve("apply", "looks right")
JUDGED = [(mode, "") for mode in ("default", "accept_edits", "dont_ask")]
JUDGED += [(mode, "ask") for mode in ("default", "bypass", "dont_ask")]
WHO = pytest.mark.parametrize("who", ["model", "person"])


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


async def applied(bench: Bench, name: str, who: str, config: Config, answer: str = "yes", **options: Any) -> list[str]:
    """Why it could not be applied by the model, or by a person: nothing where it was."""
    if who == "model":
        told = await bench.run(turn(stages(name)), turn(apply()), config=config, replies=answering(answer), **options)
        return [told["call_2"].text] if told["call_2"].is_error else []
    async with bench.open(turn(stages(name)), config=config, **ONCE, **options) as session:
        await bench.say(Prompt("go"))
        assert len(session.pending) == 1
        await bench.say(YES)
    return [event.reason for event in of(bench.events, InputRefused)]


def hooked(config: Config, event: str) -> Config:
    return replace(config, hooks=(HookLine(event, "python", event, Origin("user")),))


# ---- rules ----------------------------------------------------------------------------------------------------------


@pytest.mark.spec("RES-11", "GATE-3")
@WHO
@pytest.mark.parametrize("count", [501, 1000])
@really
async def test_a_denied_file_is_found_among_many(bench: Bench, count: int, who: str) -> None:
    paths = [f"many/{number}.txt" for number in range(count - 1)]
    bench.put("many", bench.change(*paths, "secret/x.txt", before=None))
    config = bench.settings(mode="accept_edits", deny=["Edit(secret/**)"], allow=["Stager"])
    (why,) = await applied(bench, "many", who, config)
    assert "denied by Edit(secret/**)" in why
    assert [*bench.root.iterdir()] == []
    assert bench.questions() == []


@pytest.mark.spec("RES-11", "GATE-3")
@WHO
@really
async def test_more_files_than_can_be_compared_with_a_deny_rule_are_denied(bench: Bench, who: str) -> None:
    bench.put("all", bench.change(*(f"many/{number}.txt" for number in range(10_001)), before=None))
    config = bench.settings(mode="accept_edits", deny=["Edit(secret/**)"], allow=["Stager"])
    (why,) = await applied(bench, "all", who, config)
    assert "denied by Edit(secret/**)" in why
    assert "too many files to compare" in why
    assert [*bench.root.iterdir()] == []


@pytest.mark.spec("RES-3")
@really
async def test_a_rule_on_an_alias_of_the_source_tool_reaches_its_callbacks(bench: Bench) -> None:
    @tool(name="Deploy", aliases=["ship"], effects="none", stages=True)
    def deploy() -> str:
        """Stage a deployment."""
        stage("deploy", bench.callbacks("deploy"), source_tool_name="Deploy")
        return "Shown."

    config = bench.settings(ask=["ship"], allow=["Deploy"])
    scenes = turn(call("Deploy")), turn(apply())
    await bench.run(*scenes, tools=[deploy], config=config, replies=answering("yes"))
    asked = [(question.tool, question.through, question.by) for question in bench.questions()]
    assert asked == [("Deploy", "", "ship"), ("Deploy", "resolve", "ship")]
    assert bench.ran == ["apply deploy"]


@pytest.mark.spec("RES-7", "GATE-3")
@pytest.mark.parametrize("deny", [(), ("GoPlan",)], ids=["free", "denied"])
@really
async def test_renamed_plan_tools_go_by_their_new_names(bench: Bench, deny: tuple[str, ...]) -> None:
    enter, leave = plan_tools()
    box = Toolbox(Named(enter, "GoPlan"), Named(leave, "LeavePlan"))
    async with Session(model_of(turn(call("GoPlan"))), box, config=bench.settings(deny=deny)) as session:
        events = await sent(session, "go")
        assert [event.name for event in of(events, CallArrived)] == ["GoPlan"]
        assert (session.mode, codes(events)) == (("default", ["denied"]) if deny else ("plan", ["ok"]))


# ---- hooks ----------------------------------------------------------------------------------------------------------


@pytest.mark.spec("RES-11", "HOOK-1")
@pytest.mark.parametrize(("mode", "verdict"), [pytest.param(*each, id=" ".join(each).strip()) for each in JUDGED])
@really
async def test_what_a_hook_makes_of_a_persons_resolve_is_what_is_done(bench: Bench, mode: Mode, verdict: str) -> None:
    async def before(told: dict[str, Any]) -> dict[str, Any] | None:
        given = told["tool_input"]
        if "extra" not in given:
            return None
        decision = {"permissionDecision": verdict} if verdict else {}
        changed = {"updatedInput": {**given, "extra": {"to": "one"}}}
        return {"hookSpecificOutput": {"hookEventName": "PreToolUse", **decision, **changed}}

    bench.put("send", bench.callbacks("send"))
    config = hooked(bench.settings(mode=mode), "PreToolUse")
    functions: dict[str, Hook] = {"PreToolUse": before}
    async with bench.open(turn(stages("send")), config=config, features=[hooks_feature(functions)], **ONCE) as session:
        await sent(session, "go")
        events = await sent(session, Resolve("apply", "fine", extra={"to": "all"}))
        assert refusals(events) == []
    assert bench.heard == [("apply send", "fine", {"to": "one"})]


@pytest.mark.spec("RES-3", "HOOK-1")
@pytest.mark.parametrize("paths", [("secret/a.txt",), ("a.txt", "secret/b.txt")], ids=["one file", "two files"])
@WHO
@really
async def test_a_hook_on_edits_is_told_which_files_a_resolve_would_change(
    bench: Bench, paths: tuple[str, ...], who: str
) -> None:
    edits: list[Mapping[str, Any]] = []

    async def before(told: dict[str, Any]) -> dict[str, Any] | None:
        if told["tool_name"] != "Edit":
            return None
        edits.append(told["tool_input"])
        secret = any(path.startswith("secret/") for path in told["tool_input"]["paths"])
        return {"decision": "block", "reason": "that is secret"} if secret else None

    bench.put("edit", bench.change(*paths))
    functions: dict[str, Hook] = {"PreToolUse": before}
    config = hooked(bench.settings(mode="bypass"), "PreToolUse")
    (why,) = await applied(bench, "edit", who, config, features=[hooks_feature(functions)])
    assert "that is secret" in why
    assert edits[0]["paths"] == [*paths]
    assert edits[0].get("file_path") == (paths[0] if len(paths) == 1 else None)
    assert {bench.text(path) for path in paths} == {"old\n"}


# ---- modes ----------------------------------------------------------------------------------------------------------


@pytest.mark.spec("RES-11")
@pytest.mark.parametrize("what", ["edit", "act"])
@really
async def test_where_nobody_is_to_be_asked_a_person_who_says_so_is_heard(bench: Bench, what: str) -> None:
    bench.put("edit", bench.change("a.txt"))
    bench.put("act", bench.callbacks("act"))
    config = bench.settings(mode="dont_ask")
    assert await applied(bench, what, "person", config) == []
    assert bench.resolved() == [(pending(1), "applied")]
    assert bench.ran == ["apply act"] if what == "act" else bench.text("a.txt") == "new\n"


@pytest.mark.spec("RES-3", "CHG-3")
@pytest.mark.parametrize("mode", ["accept_edits", "bypass"])
@pytest.mark.parametrize(
    "change",
    [
        pytest.param(FileChange("new", None, b"/etc/passwd", link=True), id="a link"),
        pytest.param(FileChange("new", None, b"#!/bin/sh\n", mode=0o4755), id="setuid"),
        pytest.param(FileChange("new", None, b"#!/bin/sh\n", mode=0o2755), id="setgid"),
    ],
)
@really
async def test_links_and_special_modes_need_a_person_whatever_the_mode(
    bench: Bench, change: FileChange, mode: Mode
) -> None:
    bench.put("odd", ChangeSet("odd", (*bench.change("a.txt").files, change)))
    config = bench.settings(mode=mode, allow=["Edit", "resolve", "Stager"])
    assert await applied(bench, "odd", "model", config, answer="no")
    (question,) = bench.questions()
    assert (question.tool, question.through) == ("Edit", "resolve")
    assert bench.text("a.txt") == "old\n"
    assert not (bench.root / "new").exists()
