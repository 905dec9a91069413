"""A resolution is decided, locked and asked about as what it would do: as an Edit of the files, or as the tool that
staged it. A discard needs no decision."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from callgate import Answer, Prompt, Session, tool
from callgate.assembly import DecisionGate
from callgate.core.ports import Case, Check
from callgate.policy.checks import standard_checks
from callgate.testing import call, turn
from callgate.words.changes import ChangeSet, FileChange
from callgate.words.decisions import Deny, Question
from callgate.words.events import InputRefused
from callgate.words.inputs import SetMode
from callgate.words.modes import MODES, Mode
from callgate.words.traits import reads
from tests.flows.keep import run
from tests.flows.resolving.kit import Bench, answering, apply, discard, pending, stages


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    bench = Bench(tmp_path)
    bench.put("act", bench.callbacks("act"))
    bench.put("edit", bench.change("src/a.py"))
    return bench


def done(bench: Bench, what: str) -> bool:
    return "apply act" in bench.ran if what == "act" else bench.text("src/a.py") == "new\n"


async def resolved(bench: Bench, what: str, answer: str = "no", **settings: Any) -> tuple[str, bool, int]:
    """Stage it and apply it under these settings: the code, whether it was done, and how often somebody was asked."""
    config = bench.settings(**settings)
    told = await bench.run(turn(stages(what)), turn(apply()), config=config, replies=answering(answer))
    assert bench.pending[2] == (() if done(bench, what) else (pending(1),)), "what is not applied stays pending"
    return told["call_2"].code, done(bench, what), len(bench.questions())


# ---- changes to files are judged as an Edit of them -----------------------------------------------------------------


@pytest.mark.spec("RES-3")
@pytest.mark.parametrize(
    ("settings", "code", "asked"),
    [
        ({}, "denied", 1),
        ({"mode": "bypass"}, "ok", 0),
        ({"mode": "accept_edits"}, "ok", 0),
        ({"mode": "plan"}, "denied", 0),
        ({"mode": "dont_ask"}, "denied", 0),
        ({"mode": "dont_ask", "allow": ["Edit(src/**)"]}, "ok", 0),
        ({"allow": ["Edit(src/**)"]}, "ok", 0),
        ({"allow": ["Edit"]}, "ok", 0),
        ({"allow": ["Edit(lib/**)"]}, "denied", 1),
        ({"mode": "bypass", "ask": ["Edit(src/**)"]}, "denied", 1),
        ({"mode": "accept_edits", "ask": ["Edit(src/a.py)"]}, "denied", 1),
        ({"mode": "bypass", "ask": ["Edit(lib/**)"]}, "ok", 0),
        ({"mode": "bypass", "deny": ["Edit(src/**)"]}, "denied", 0),
        ({"mode": "bypass", "deny": ["Edit"]}, "denied", 0),
        ({"mode": "bypass", "deny": ["Edit(lib/**)"]}, "ok", 0),
        ({"allow": ["Edit(src/**)"], "deny": ["Edit(src/a.py)"]}, "denied", 0),
        ({"allow": ["resolve"]}, "denied", 1),
        ({"allow": ["Stager"]}, "denied", 1),
        ({"allow": ["Renamer"]}, "denied", 1),
        ({"allow": ["Write(src/**)"]}, "denied", 1),
        ({"mode": "dont_ask", "allow": ["resolve", "Stager", "Renamer"]}, "denied", 0),
    ],
    ids=lambda value: str(value) if isinstance(value, dict) else "",
)
def test_rules_and_modes_on_edits_decide_about_staged_changes(
    bench: Bench, settings: dict[str, Any], code: str, asked: int
) -> None:
    async def main() -> None:
        assert await resolved(bench, "edit", **settings) == (code, code == "ok", asked)

    run(main())


@pytest.mark.spec("RES-3")
def test_the_question_is_about_an_edit_and_shows_it(bench: Bench) -> None:
    async def main() -> None:
        config = bench.settings(mode="bypass", ask=["Edit(src/**)"])
        scenes = turn(stages("edit")), turn(apply("looks right"))
        told = await bench.run(*scenes, config=config, replies=answering("yes"))
        (question,) = bench.questions()
        assert (question.tool, question.through, question.by) == ("Edit", "resolve", "Edit(src/**)")
        assert question.preview is not None
        assert [*question.preview.paths] == ["src/a.py"]
        assert question.preview.files[0].after == b"new\n"
        assert (question.arguments["reason"], question.arguments["id"]) == ("looks right", pending(1))
        assert told["call_2"].text == "Applied: edit (1 file, +1 −1). Reason: looks right"
        assert done(bench, "edit")

    run(main())


@pytest.mark.spec("RES-3")
@pytest.mark.parametrize("place", ["from.py", "secret/to.py", "secret/gone.py", "secret/new.py"])
def test_one_forbidden_place_among_the_files_forbids_all_of_it(bench: Bench, place: str) -> None:
    (bench.root / "secret").mkdir()
    for name in ("from.py", "secret/gone.py"):
        (bench.root / name).write_text("x\n")
    files = {
        "from.py": FileChange("to.py", b"x\n", b"x\n", source="from.py"),
        "secret/to.py": FileChange("secret/to.py", b"x\n", b"x\n", source="from.py"),
        "secret/gone.py": FileChange("secret/gone.py", b"x\n", None),
        "secret/new.py": FileChange("secret/new.py", None, b"x\n"),
    }
    bench.put("all", ChangeSet("all", (*bench.change("src/a.py").files, files[place])))

    async def main() -> None:
        config = bench.settings(mode="bypass", deny=[f"Edit({place})"])
        told = await bench.run(turn(stages("all")), turn(apply()), config=config)
        assert told["call_2"].code == "denied"
        assert bench.text("src/a.py") == "old\n"

    run(main())


@pytest.mark.spec("RES-3")
def test_a_rule_that_allows_some_of_the_files_does_not_allow_all(bench: Bench) -> None:
    bench.put("both", bench.change("src/a.py", "lib/b.py"))

    async def main() -> None:
        config = bench.settings(allow=["Edit(src/**)"])
        await bench.run(turn(stages("both")), turn(apply()), config=config, replies=answering("no"))
        assert len(bench.questions()) == 1
        assert (bench.text("src/a.py"), bench.text("lib/b.py")) == ("old\n", "old\n")

    run(main())


@pytest.mark.spec("RES-3")
@pytest.mark.parametrize("mode", ["accept_edits", "bypass"])
def test_places_that_always_need_a_person_need_one_here_too(bench: Bench, mode: Mode) -> None:
    bench.put("hook", bench.change(".git/hooks/pre-commit"))

    async def main() -> None:
        config = bench.settings(mode=mode, allow=["Edit", "resolve", "Stager"])
        await bench.run(turn(stages("hook")), turn(apply()), config=config, replies=answering("no"))
        assert [question.by for question in bench.questions()] == ["hard safety"]
        assert bench.text(".git/hooks/pre-commit") == "old\n"

    run(main())


# ---- callbacks are judged as the tool that was running --------------------------------------------------------------


@pytest.mark.spec("RES-3")
@pytest.mark.parametrize(
    ("settings", "code", "asked"),
    [
        ({}, "denied", 1),
        ({"mode": "bypass"}, "ok", 0),
        ({"mode": "accept_edits"}, "denied", 1),
        ({"mode": "plan"}, "denied", 0),
        ({"mode": "dont_ask"}, "denied", 0),
        ({"mode": "dont_ask", "allow": ["Stager"]}, "ok", 0),
        ({"allow": ["Stager"]}, "ok", 0),
        ({"allow": ["resolve"]}, "denied", 1),
        ({"allow": ["Renamer"]}, "denied", 1),
        ({"allow": ["Edit"]}, "denied", 1),
        ({"mode": "bypass", "deny": ["Renamer"]}, "ok", 0),
        ({"mode": "bypass", "deny": ["Edit"]}, "ok", 0),
        ({"mode": "dont_ask", "allow": ["resolve", "Edit", "Renamer"]}, "denied", 0),
    ],
    ids=lambda value: str(value) if isinstance(value, dict) else "",
)
def test_rules_and_modes_on_the_source_tool_decide_about_callbacks(
    bench: Bench, settings: dict[str, Any], code: str, asked: int
) -> None:
    async def main() -> None:
        assert await resolved(bench, "act", **settings) == (code, code == "ok", asked)

    run(main())


@pytest.mark.spec("RES-3")
@pytest.mark.parametrize("answer", ["yes", "no"])
def test_an_ask_rule_on_the_source_tool_asks_when_it_stages_and_when_it_is_applied(bench: Bench, answer: str) -> None:
    def reply(session: Session, question: Question) -> None:
        first = question.call_id == "call_1"
        session.post(Answer(question.yes() if first or answer == "yes" else question.no("not this one")))

    async def main() -> None:
        config = bench.settings(mode="bypass", ask=["Stager"])
        told = await bench.run(turn(stages("act")), turn(apply()), config=config, replies=reply)
        asked = [(question.tool, question.through) for question in bench.questions()]
        assert asked == [("Stager", ""), ("Stager", "resolve")]
        assert done(bench, "act") == (answer == "yes")
        if answer == "no":
            assert "not this one" in told["call_2"].text
            assert bench.ran == ["reject act"]

    run(main())


@pytest.mark.spec("RES-3")
def test_a_deny_on_the_source_tool_that_comes_after_the_staging_stops_the_apply(bench: Bench) -> None:
    judged: list[tuple[str, str]] = []

    def rule(case: Case) -> Deny | None:
        judged.append((case.name, case.traits.effects))
        return Deny("rule", "not any more") if case.name == "Stager" and case.traits.effects != "none" else None

    async def main() -> None:
        gate = DecisionGate([Check("rule", rule), *standard_checks()])
        options: dict[str, Any] = {"gate": gate, "root": bench.root, "mode": "bypass"}
        told = await bench.run(turn(stages("act")), turn(apply()), **options)
        assert judged[:2] == [("Stager", "none"), ("Stager", "mutating")]
        assert (told["call_2"].code, bench.ran) == ("denied", ["reject act"])

    run(main())


@pytest.mark.spec("RES-3")
@pytest.mark.parametrize("mode", ["default", "plan", "accept_edits"])
@pytest.mark.parametrize(
    "name", ["Read", "Grep", "AstEdit", "Bash", "WebFetch", "TodoWrite", "Edit", "Write", "resolver"]
)
def test_the_name_of_the_source_tool_does_not_make_an_apply_harmless(bench: Bench, name: str, mode: Mode) -> None:
    async def main() -> None:
        def strict(_request: Any) -> Any:
            bench.session.post(SetMode(mode))
            return turn(apply())

        config = bench.settings(mode="bypass")
        first = turn(call(name, what="act"))
        await bench.run(first, strict, config=config, tools=bench.tools(name), replies=answering("no"))
        assert bench.pending[2] == (pending(1),)
        assert bench.ran == ["reject act"]
        assert len(bench.questions()) == (0 if mode == "plan" else 1)

    run(main())


# ---- answers that are remembered ------------------------------------------------------------------------------------


def always(choice: int = 0) -> Callable[[Session, Question], None]:
    """A door that says "always" to the first question, as far as that choice reaches, and no to the others."""
    given: list[str] = []

    def reply(session: Session, question: Question) -> None:
        answer = question.no() if given else question.always(question.choices[choice])
        given.append(question.call_id)
        session.post(Answer(answer))

    return reply


@pytest.mark.spec("RES-1", "GATE-6")
@pytest.mark.parametrize("what", ["act", "edit"])
def test_an_always_for_one_action_does_not_reach_the_next_that_looks_alike(bench: Bench, what: str) -> None:
    async def main() -> None:
        def again(_request: Any) -> Any:
            if what == "edit":
                (bench.root / "src/a.py").write_text("old\n")
            return turn(stages(what))

        scenes = turn(stages(what)), turn(apply("fine")), again, turn(apply("fine"))
        told = await bench.run(*scenes, config=bench.settings(), replies=always())
        assert [told[each].code for each in ("call_2", "call_4")] == ["ok", "denied"]
        assert len(bench.questions()) == 2
        assert bench.pending[4] == (pending(2),)

    run(main())


@pytest.mark.spec("RES-1", "GATE-6")
@pytest.mark.parametrize("what", ["act", "edit"])
@pytest.mark.parametrize("scope", ["project", "user"])
def test_an_always_for_one_action_does_not_reach_another_session(tmp_path: Path, what: str, scope: Any) -> None:
    async def main() -> None:
        asked: list[int] = []
        for name in ("first", "second"):
            folder = tmp_path / name
            folder.mkdir()
            bench = Bench(folder)
            bench.root = tmp_path / "root"  # the same workspace for both
            bench.root.mkdir(exist_ok=True)
            bench.put("act", bench.callbacks("act"))
            bench.put("edit", bench.change("src/a.py"))
            config = replace(bench.settings(), root=bench.root, data=tmp_path / "data", own_data=True)

            def reply(session: Session, question: Question) -> None:
                session.post(Answer(question.always(scope=scope)))

            told = await bench.run(turn(stages(what)), turn(apply()), config=config, replies=reply)
            assert told["call_2"].code == "ok"
            asked.append(len(bench.questions()))
        assert asked == [1, 1]

    run(main())


@pytest.mark.spec("GATE-6")
@pytest.mark.parametrize("path", ["src/a.py", "src/b.py", "lib/c.py"])
def test_an_always_for_a_file_reaches_its_changes_and_no_others(bench: Bench, path: str) -> None:
    bench.put("next", bench.change(path, before=None) if path != "src/a.py" else bench.change(path))

    async def main() -> None:
        def again(_request: Any) -> Any:
            if path == "src/a.py":
                (bench.root / path).write_text("old\n")
            return turn(stages("next"))

        scenes = turn(stages("edit")), turn(apply()), again, turn(apply())
        told = await bench.run(*scenes, config=bench.settings(), replies=always(1))
        assert bench.questions()[0].choices[1].label == "Edit of src/a.py"
        assert told["call_2"].code == "ok"
        assert told["call_4"].code == ("ok" if path == "src/a.py" else "denied")

    run(main())


@pytest.mark.spec("GATE-6")
def test_an_always_for_the_callbacks_of_a_tool_offers_nothing_wider_than_this_action(bench: Bench) -> None:
    async def main() -> None:
        await bench.run(turn(stages("act")), turn(apply()), config=bench.settings(), replies=answering("yes"))
        (question,) = bench.questions()
        assert [choice.pattern and choice.pattern.kind for choice in question.choices] == ["exact"]

    run(main())


@pytest.mark.spec("RES-1", "GATE-6")
@pytest.mark.parametrize(
    "changed",
    [{"id": pending(1)}, {"action": "discard"}, {"reason": "  "}],
    ids=["another action", "another word", "no reason"],
)
def test_an_answer_cannot_turn_the_call_into_another_one(bench: Bench, changed: dict[str, Any]) -> None:
    bench.put("other", bench.callbacks("other"))

    def reply(session: Session, question: Question) -> None:
        session.post(Answer(question.yes({**question.arguments, **changed})))
        session.post(Answer(question.no()))

    async def main() -> None:
        scenes = turn(stages("other")), turn(stages("act")), turn(apply())
        told = await bench.run(*scenes, config=bench.settings(), replies=reply)
        (refused,) = [event for event in bench.events if isinstance(event, InputRefused)]
        assert next(iter(changed)) in refused.reason
        assert told["call_3"].code == "denied", "the question was still open"
        assert bench.ran == ["reject act", "reject other"]
        assert bench.pending[3] == (pending(2), pending(1))

    run(main())


@pytest.mark.spec("RES-3", "GATE-6")
def test_an_answer_may_give_another_reason_and_extra(bench: Bench) -> None:
    def reply(session: Session, question: Question) -> None:
        session.post(Answer(question.yes({"action": "apply", "reason": "mine", "extra": {"a": 1}})))

    async def main() -> None:
        told = await bench.run(turn(stages("act")), turn(apply()), config=bench.settings(), replies=reply)
        assert told["call_2"].code == "ok"
        assert bench.heard == [("apply act", "mine", {"a": 1})]

    run(main())


# ---- discard --------------------------------------------------------------------------------------------------------


@pytest.mark.spec("RES-3")
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("what", ["act", "edit"])
def test_a_discard_needs_no_decision(bench: Bench, what: str, mode: Mode) -> None:
    async def main() -> None:
        config = bench.settings(mode=mode, deny=["Edit(src/**)", "Renamer"], ask=["Edit"])
        told = await bench.run(turn(stages(what)), turn(discard()), config=config)
        assert (told["call_2"].code, bench.questions()) == ("ok", [])
        assert bench.resolved() == [(pending(1), "discarded")]
        assert not done(bench, what)

    run(main())


@pytest.mark.spec("RES-3")
@pytest.mark.parametrize("what", ["act", "edit"])
def test_what_was_denied_can_still_be_discarded(bench: Bench, what: str) -> None:
    async def main() -> None:
        config = bench.settings(mode="plan")
        told = await bench.run(turn(stages(what)), turn(apply()), turn(discard("not in plan mode")), config=config)
        assert [told[each].code for each in ("call_2", "call_3")] == ["denied", "ok"]
        assert told["call_3"].text == f"Discarded: {what}. Reason: not in plan mode"

    run(main())


# ---- locks ----------------------------------------------------------------------------------------------------------


@pytest.mark.spec("RES-3")
@pytest.mark.parametrize("order", ["apply first", "look first"])
def test_changes_lock_their_files_like_any_edit(bench: Bench, order: str) -> None:
    @tool(effects="none", locks=lambda a: reads(a.path))
    def look(path: str) -> str:
        """Read a file."""
        return bench.text(path)

    async def main() -> None:
        looking = call("look", path="src/a.py")
        calls = (apply(), looking) if order == "apply first" else (looking, apply())
        told = await bench.run(turn(stages("edit")), turn(*calls), tools=[*bench.tools(), look])
        seen = told["call_3" if order == "apply first" else "call_2"].text
        assert seen == ("new\n" if order == "apply first" else "old\n")

    run(main())


@pytest.mark.spec("RES-3")
def test_while_an_apply_is_asked_about_calls_on_other_files_go_on(bench: Bench) -> None:
    (bench.root / "b.py").write_text("b\n")

    @tool(effects="none", locks=lambda a: reads(a.path))
    def look(path: str) -> str:
        """Read a file."""
        return bench.text(path)

    async def main() -> None:
        looking = call("look", path="b.py"), call("look", path="src/a.py")
        scenes = turn(stages("edit")), turn(apply(), *looking)
        async with bench.open(*scenes, tools=[*bench.tools(), look], config=bench.settings()) as session:
            await bench.say(Prompt("go"))
            assert session.status == "waiting_confirmation"
            assert bench.results()["call_3"].text == "b\n"
            (question,) = session.questions
            await bench.say(Answer(question.yes()))
            assert bench.results()["call_4"].text in ("old\n", "new\n")
            assert done(bench, "edit")

    run(main())
