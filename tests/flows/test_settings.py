"""Sessions with settings: rules, hooks, remembered answers and trust, from real files and with real processes."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from callgate import Answer, Continue, Nesting, Prompt, Session
from callgate.config import load_config
from callgate.policy.fingerprint import fingerprint
from callgate.policy.trust import Trust
from callgate.testing import ScriptedModel, call, fail, say, turn
from callgate.tools.tool import tool
from callgate.transcript.masking import Masker
from callgate.transcript.store import Store
from callgate.words.decisions import Choice, Origin, Pattern
from callgate.words.errors import ModelError, UsageError
from callgate.words.events import CallDecided, Event, InputRefused, Noted, PolicyAdded, QuestionAsked, RunEnded
from tests.flows.kit import check_history, results
from tests.sessions import grouped_session, with_event


class Place:
    """A person's home and a repository in it, with whatever settings a test writes."""

    def __init__(self, folder: Path) -> None:
        self.home, self.root = folder / "home", folder / "repository"
        self.data = self.home / ".local/share/callgate"
        self.told: list[Event] = []
        self.ran: list[str] = []
        for each in (self.home / ".config/callgate", self.root / ".callgate"):
            each.mkdir(parents=True)

    def user(self, text: str) -> Path:
        return self._write(self.home / ".config/callgate/settings.toml", text)

    def project(self, text: str) -> Path:
        return self._write(self.root / ".callgate/settings.toml", text)

    def _write(self, file: Path, text: str) -> Path:
        file.write_text(dedent(text))
        return file

    def trust(self) -> None:
        Trust(self.data).trust(self.root, fingerprint(self.root))

    def config(self, **more: Any) -> Any:
        environ = {"HOME": str(self.home), "PATH": "/usr/bin:/bin"}
        managed = self.home / "no managed settings"
        return load_config(self.root, environ=environ, home=self.home, managed=managed, **more)

    def session(self, *turns: Any, journal: Any = None, **more: Any) -> Session:
        @tool(name="Bash")
        def bash(command: str) -> str:
            """Pretend to run a command."""
            self.ran.append(command)
            return f"ran {command}"

        @tool(name="Look", effects="none")
        def look(at: str) -> str:
            """Look at something."""
            self.ran.append(at)
            return f"saw {at}"

        model = ScriptedModel(*turns)
        session = Session(model, [bash, look], config=self.config(**more), journal=journal)
        session.listen(with_event(self.told.append))
        return session

    def heard(self, kind: type[Any]) -> list[Any]:
        return [event for event in self.told if isinstance(event, kind)]


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def run(main: Callable[[], Awaitable[None]]) -> None:
    asyncio.run(asyncio.wait_for(main(), 60))


def shell(line: str) -> Any:
    return turn(call("Bash", command=line))


DONE = turn(say("Done."))

# ---- rules ------------------------------------------------------------------------------------------------------


@pytest.mark.spec("GATE-3")
def test_rules_of_the_settings_decide_and_say_where_they_stand(place: Place) -> None:
    file = place.user(
        """
        [permissions]
        allow = ["Bash(make:*)"]
        deny = ["Bash(make clean:*)"]
        """
    )

    async def main() -> None:
        async with place.session(turn(call("Bash", command="make all"), call("Bash", command="make clean")), DONE) as s:
            await s.send(Prompt("go"), until="idle")

    run(main)
    assert place.ran == ["make all"]
    allowed, refused = [event.decision for event in place.heard(CallDecided)]
    assert (allowed.by, allowed.origin) == ("Bash(make:*)", Origin("user", str(file), 3))
    assert (refused.by, refused.origin) == ("Bash(make clean:*)", Origin("user", str(file), 4))


@pytest.mark.spec("GATE-3")
def test_a_settings_file_that_cannot_be_read_closes_the_gate(place: Place) -> None:
    file = place.user("[permissions]\nallow = [\n")

    async def main() -> None:
        async with place.session(turn(call("Look", at="a")), DONE) as session:
            await session.send(Prompt("go"), until="idle")
            assert f"{file}:" in results(session)[0]

    run(main)
    assert place.ran == []


@pytest.mark.spec("GATE-3")
def test_a_repository_tightens_and_never_allows(place: Place) -> None:
    place.project(
        """
        mode = "bypass"
        [permissions]
        allow = ["Bash"]
        deny = ["Look(at=secrets)"]
        """
    )

    async def main() -> None:
        wanted = turn(call("Look", at="secrets"), call("Look", at="docs"), call("Bash", command="make all"))
        async with place.session(wanted, DONE) as session:
            await session.send(Prompt("go"))
            assert session.mode == "default"
            assert [question.arguments for question in session.questions] == [{"command": "make all"}]

    run(main)
    assert place.ran == ["docs"]
    assert any("can only add restrictions" in event.text for event in place.heard(Noted))


def test_config_takes_the_place_of_gate_and_root(place: Place) -> None:
    model = ScriptedModel(DONE)
    from callgate.assembly import DecisionGate

    with pytest.raises(UsageError, match="a gate or config"):
        Session(model, config=place.config(), gate=DecisionGate())
    with pytest.raises(UsageError, match="a folder as host or config"):
        Session(model, config=place.config(), host=place.root)


# ---- remembered answers -----------------------------------------------------------------------------------------


@pytest.mark.spec("GATE-2", "GATE-6")
def test_an_answer_for_the_project_is_remembered_by_the_next_session_until_it_is_revoked(place: Place) -> None:
    async def first() -> None:
        async with place.session(shell("make all"), DONE) as session:
            await session.send(Prompt("go"))
            (question,) = session.questions
            prefix = Choice("make …", Pattern("prefix", "make", "command"))
            await session.send(Answer(question.always(prefix, scope="project")), until="idle")

    async def second(questions: int) -> None:
        async with place.session(shell("make test"), DONE) as session:
            await session.send(Prompt("go"))
            assert len(session.questions) == questions

    run(first)
    assert len(place.heard(PolicyAdded)) == 1
    assert list((place.root / ".callgate").iterdir()) == []  # never inside the repository
    run(lambda: second(questions=0))
    assert place.ran == ["make all", "make test"]
    memory = place.config().memory()
    (remembered,) = memory.policies()
    memory.revoke(remembered.id)
    run(lambda: second(questions=1))


@pytest.mark.spec("GATE-2")
def test_a_revoked_answer_does_not_come_back_from_the_record(place: Place) -> None:
    store = Store(place.root, place.data, masker=Masker({}))

    async def first() -> str:
        async with place.session(shell("make all"), DONE, journal=await store.create()) as session:
            await session.send(Prompt("go"))
            (question,) = session.questions
            await session.send(Answer(question.always(scope="user")), until="idle")
            return session.id

    async def again(name: str) -> None:
        async with place.session(shell("make all"), DONE, journal=await store.open(name)) as session:
            await session.send(Prompt("again"))
            assert len(session.questions) == 1

    name = asyncio.run(first())
    memory = place.config().memory()
    memory.revoke(memory.policies()[0].id)
    run(lambda: again(name))


# ---- hooks ------------------------------------------------------------------------------------------------------


def hook(place: Place, name: str, *lines: str) -> str:
    """A command that notes what it was told, and then does what the lines say."""
    script = place.home / f"{name}.sh"
    script.write_text("\n".join([f"cat > {place.home}/{name}.$$.json", *lines, ""]))
    return f"sh {script}"


def told(place: Place, name: str) -> list[dict[str, Any]]:
    heard = [json.loads(file.read_text()) for file in place.home.glob(f"{name}.*.json")]
    return sorted(heard, key=lambda each: str(each.get("tool_input")))


@pytest.mark.spec("HOOK-1")
def test_hooks_hear_of_everything_that_happens_to_a_session(place: Place) -> None:
    events = ("SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "Stop", "SessionEnd", "Notification")
    text = "".join(f'[[hooks.{event}]]\ncommand = "{hook(place, event)}"\n' for event in events)
    place.user('[permissions]\nask = ["Look(at=b)"]\n' + text)

    async def main() -> None:
        async with place.session(turn(call("Look", at="a"), call("Look", at="b")), DONE) as session:
            await session.send(Prompt("go"))
            (question,) = session.questions
            await session.send(Answer(question.yes()), until="idle")

    run(main)
    assert [each["source"] for each in told(place, "SessionStart")] == ["startup"]
    assert [each["prompt"] for each in told(place, "UserPromptSubmit")] == ["go"]
    assert [each["tool_input"] for each in told(place, "PreToolUse")] == [{"at": "a"}, {"at": "b"}]
    assert sorted(each["tool_input"]["at"] for each in told(place, "PostToolUse")) == ["a", "b"]
    assert len(told(place, "Stop")) == len(told(place, "SessionEnd")) == 1
    assert "Look needs an answer" in told(place, "Notification")[0]["message"]


@pytest.mark.spec("HOOK-5")
@pytest.mark.parametrize("own", [True, False], ids=["with settings of its own", "with those of its parent"])
def test_a_nested_session_tells_its_start_and_stop_and_only_the_root_tells_stop(place: Place, own: bool) -> None:
    events = ("SubagentStart", "SubagentStop", "Stop", "SessionEnd")
    place.user("".join(f'[[hooks.{event}]]\ncommand = "{hook(place, event)}"\n' for event in events))

    async def main() -> None:
        async with place.session(DONE) as root:
            model = ScriptedModel(turn(say("looked at it")))
            more = {"config": place.config()} if own else {}
            async with grouped_session(model, [], parent=root, label="explore", **more) as nested:
                await nested.send(Prompt("look"), until="idle")
            assert told(place, "Stop") == []
            await root.send(Prompt("go"), until="idle")

    run(main)
    (start,), (stop,) = told(place, "SubagentStart"), told(place, "SubagentStop")
    assert (start["agent_type"], start["agent_path"]) == ("explore", ["explore"])
    assert (stop["agent_type"], stop["agent_path"], stop["result"]) == ("explore", ["explore"], "looked at it")
    assert len(told(place, "Stop")) == 1
    assert len(told(place, "SessionEnd")) == 1 + own


@pytest.mark.spec("HOOK-5")
def test_an_agent_that_is_cut_short_is_told_to_have_stopped(place: Place) -> None:
    place.user("".join(f'[[hooks.{event}]]\ncommand = "{hook(place, event)}"\n' for event in ("SubagentStop", "Stop")))

    async def main() -> None:
        broken = turn(fail(ModelError("no such model", kind="bad_request")))
        async with (
            place.session(DONE) as root,
            Session(ScriptedModel(broken), [], nesting=Nesting(parent=root, label="explore")) as nested,
        ):
            await nested.send(Prompt("look"), until="idle")

    run(main)
    (stop,) = told(place, "SubagentStop")
    assert (stop["agent_type"], stop["result"]) == ("explore", "")
    assert told(place, "Stop") == []


@pytest.mark.spec("HOOK-1", "EXE-22")
def test_a_hook_blocks_and_another_changes_what_is_run(place: Place) -> None:
    blocks = hook(place, "blocks", "echo 'not on my watch' >&2", "exit 2")
    changed = json.dumps({"hookSpecificOutput": {"hookEventName": "PreToolUse", "updatedInput": {"at": "other"}}})
    changes = hook(place, "changes", f"printf '%s' '{changed}'")
    place.user(
        f"""
        [[hooks.PreToolUse]]
        matcher = "Look"
        if = "Look(at=secret)"
        command = "{blocks}"
        [[hooks.PreToolUse]]
        if = "Look(at=a)"
        command = "{changes}"
        """
    )

    async def main() -> None:
        async with place.session(turn(call("Look", at="secret"), call("Look", at="a")), DONE) as session:
            await session.send(Prompt("go"), until="idle")
            first, second = results(session)
            assert "not on my watch" in first
            assert "changed the arguments" in second
            check_history(session.messages)

    run(main)
    assert place.ran == ["other"]


def test_a_hook_that_blocks_a_prompt_keeps_it_from_the_model(place: Place) -> None:
    command = hook(place, "no", "echo 'no secrets here' >&2", "exit 2")
    place.user(f'[[hooks.UserPromptSubmit]]\ncommand = "{command}"\n')

    async def main() -> None:
        async with place.session(DONE) as session:
            await session.send(Prompt("my password is x"), until="idle")
            assert session.messages == ()
            assert session.status == "idle"

    run(main)
    (refused,) = place.heard(InputRefused)
    assert "no secrets here" in refused.reason


def test_a_stop_hook_that_always_blocks_does_not_go_on_for_ever(place: Place) -> None:
    command = hook(place, "more", "echo 'run the tests first' >&2", "exit 2")
    place.user(f'[[hooks.Stop]]\ncommand = "{command}"\n')

    async def main() -> None:
        async with place.session(*[turn(say(f"{n}")) for n in range(9)]) as session:
            await session.send(Prompt("go"), until="idle")
            assert [message.text for message in session.messages if message.role == "assistant"] == ["0", "1", "2", "3"]
            assert "run the tests first" in session.messages[2].text

    run(main)
    assert [event.reason for event in place.heard(RunEnded)] == ["done"]
    assert any("was prevented" in event.text for event in place.heard(Noted))


def test_a_hook_after_a_call_can_stop_the_agent(place: Place) -> None:
    answer = json.dumps({"continue": False, "stopReason": "that is enough"})
    command = hook(place, "stop", f"printf '%s' '{answer}'")
    place.user(f"[[hooks.PostToolUse]]\ncommand = '''{command}'''\n")

    async def main() -> None:
        async with place.session(turn(call("Look", at="a")), DONE) as session:
            await session.send(Prompt("go"), until="idle")
            assert session.messages[-1].role == "tool"
            check_history(session.messages)

    run(main)
    assert [event.reason for event in place.heard(RunEnded)] == ["stopped"]


def test_a_session_that_is_resumed_starts_with_its_hooks_too(place: Place) -> None:
    place.user(f'[[hooks.SessionStart]]\ncommand = "{hook(place, "start")}"\n')
    store = Store(place.root, place.data, masker=Masker({}))

    async def first() -> str:
        async with place.session(shell("make all"), DONE, journal=await store.create()) as session:
            await session.send(Prompt("go"))
            return session.id

    async def again(name: str) -> None:
        async with place.session(DONE, journal=await store.open(name)) as session:
            await session.send(Continue())
            assert len(session.questions) == 1

    name = asyncio.run(first())
    run(lambda: again(name))
    assert sorted(each["source"] for each in told(place, "start")) == ["resume", "startup"]


# ---- trust ------------------------------------------------------------------------------------------------------


@pytest.mark.spec("HOOK-3")
def test_hooks_of_a_repository_run_once_it_is_trusted_and_not_after_it_changed(place: Place) -> None:
    script = place.root / ".callgate/lint.sh"
    script.write_text("cat > /dev/null; echo ran >> lint\n")
    place.project('[[hooks.PostToolUse]]\nmatcher = "Look"\ncommand = "sh .callgate/lint.sh"\n')

    async def main(change: bool = False) -> None:
        async with place.session(turn(call("Look", at="a")), DONE) as session:
            if change:
                script.write_text(script.read_text() + "true\n")  # while the session runs
            await session.send(Prompt("go"), until="idle")

    def lines() -> int:
        file = place.root / "lint"
        return len(file.read_text().splitlines()) if file.exists() else 0

    run(main)
    assert lines() == 0
    place.trust()
    run(main)
    assert lines() == 1
    run(lambda: main(change=True))
    assert lines() == 1
    assert any("changed since you trusted it" in event.text for event in place.heard(Noted))
    run(main)
    assert lines() == 1


# ---- people who are away ----------------------------------------------------------------------------------------


@pytest.mark.spec("GATE-9")
def test_people_who_are_away_are_notified_and_a_question_nobody_answers_is_a_no(place: Place) -> None:
    place.user(
        f"""
        [questions]
        deadline = 0.2
        notify = "cat > {place.home}/notified"
        """
    )

    async def main() -> None:
        async with place.session(shell("make all"), DONE) as session:
            await session.send(Prompt("go"), until="idle")
            assert "no answer" in results(session)[0]

    run(main)
    assert place.ran == []
    assert "Bash needs an answer" in (place.home / "notified").read_text()


@pytest.mark.spec("GATE-5")
def test_an_answer_from_another_program_reaches_a_session_that_waits(place: Place) -> None:
    store = Store(place.root, place.data, masker=Masker({}))

    async def main() -> None:
        async with place.session(shell("make all"), DONE, journal=await store.create()) as session:
            asked = session.send(Prompt("go"), until="idle")
            async for event in asked:
                if isinstance(event, QuestionAsked):
                    (question,) = await asyncio.to_thread(store.questions, session.id)
                    taken = await asyncio.to_thread(store.answer, session.id, question.yes(by="Ann", door="elsewhere"))
                    assert taken.how == "left"

    run(main)
    assert place.ran == ["make all"]
    (decided,) = [event.decision for event in place.heard(CallDecided)][-1:]
    assert (decided.by, decided.origin) == ("Ann", Origin(door="elsewhere"))
