"""Commands of the shell in the input line, and commands about the screen and the session."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from callgate import Session, Store, load_config
from callgate.assembly.agent import agent_session
from callgate.testing import ScriptedModel, say, turn
from callgate.tui.commands import COMMANDS, run_shell
from callgate.tui.port import SessionStart
from callgate.words.events import CallDecided, QuestionAsked
from callgate.words.inputs import Answer, Prompt, SetMode
from tests.tui.fakes import FakeTerminal

Play = Callable[[FakeTerminal, Session], Awaitable[None]]
Played = Callable[[Play], FakeTerminal]


@pytest.fixture
def played(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Played:
    """Plays with the agent in a workspace without a sandbox."""
    root = tmp_path / "work"
    root.mkdir()
    (root / "a.txt").write_text("seen\n")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("CALLGATE_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("CALLGATE_CONFIG_DIR", str(tmp_path / "mine"))
    monkeypatch.delenv("DISPLAY", raising=False)
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test-abcdefghijklmnopqrstuvwx")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/settings.toml").write_text("[sandbox]\ndisabled = true\n")

    def run(play: Play) -> FakeTerminal:
        async def main() -> FakeTerminal:
            config = load_config(root)
            journal = await Store(root, config.data).create()
            model = ScriptedModel(otherwise=turn(say("I have **read** it.")))
            async with await agent_session(config, model, journal=journal) as session:
                terminal = FakeTerminal(session, config)
                await play(terminal, session)
                return terminal

        return asyncio.run(main())

    return run


async def _shell(terminal: FakeTerminal, text: str) -> None:
    run_shell(terminal, text)
    await terminal.ended()


async def _answered(terminal: FakeTerminal, session: Session, text: str, yes: bool) -> list[str]:
    """The commands that were asked about while the text ran."""
    asked: list[str] = []

    def answer(_path: object, _number: int, event: object) -> None:
        if isinstance(event, QuestionAsked):
            asked.append(event.question.arguments["command"])
            session.post(Answer(event.question.yes() if yes else event.question.no()))

    stop = session.listen(answer)
    await _shell(terminal, text)
    stop()
    return asked


@pytest.mark.spec("TUI-19")
def test_a_command_runs_as_a_call_of_the_user_and_the_model_sees_it(played: Played) -> None:
    async def play(terminal: FakeTerminal, session: Session) -> None:
        await _shell(terminal, "!cat a.txt")
        assert "Bash  done" in terminal.text()
        assert "seen" in terminal.text()
        await session.send(Prompt("what was that?"))
        said = str(session.messages)
        assert "cat a.txt" in said
        assert "seen" in said

    played(play)


COMMANDS_OF_THE_SHELL = (
    # the text, whether the gate asks, whether b.txt is there afterwards if the answer is yes
    ("!cat a.txt", False, False),
    ("! ls", False, False),
    ("!grep seen a.txt | wc -l", False, False),
    ("!git status", False, False),
    ("!touch b.txt", True, True),
    ("!cat a.txt > b.txt", True, True),
    ("!cp a.txt b.txt", True, True),
    ('!python3 -c \'open("b.txt", "w")\'', True, True),
    ("!sh -c 'touch b.txt'", True, True),
    ("!false; touch b.txt", True, True),
    ("!false", False, False),
)


@pytest.mark.spec("TUI-19")
@pytest.mark.parametrize("yes", [True, False])
def test_commands_are_judged_as_commands_of_the_model_are(played: Played, tmp_path: Path, yes: bool) -> None:
    made = tmp_path / "work/b.txt"

    async def play(terminal: FakeTerminal, session: Session) -> None:
        for text, asks, makes in COMMANDS_OF_THE_SHELL:
            made.unlink(missing_ok=True)
            asked = await _answered(terminal, session, text, yes)
            assert asked == ([text[1:].strip()] if asks else []), text
            assert made.exists() is (makes and yes), text
        told = [event for _number, event in await session.events_after(0)]
        decided = {event.call_id for event in told if isinstance(event, CallDecided)}
        assert len(decided) == len(COMMANDS_OF_THE_SHELL)

    played(play)


def test_secrets_in_the_output_are_masked_in_the_log(played: Played, tmp_path: Path) -> None:
    async def play(terminal: FakeTerminal, session: Session) -> None:
        await _shell(terminal, "!echo sk-test-abcdefghijklmnopqrstuvwx")
        await session.events_after(session.position)

    played(play)
    (log,) = (tmp_path / "data").rglob("*.jsonl")
    assert "sk-test-abcdef" not in log.read_text()
    assert "echo" in log.read_text()


def test_an_exclamation_mark_alone_runs_nothing(played: Played) -> None:
    async def play(terminal: FakeTerminal, session: Session) -> None:
        await _shell(terminal, "!  ")
        assert "!ls" in terminal.notices[0]
        assert session.messages == ()

    played(play)


def test_the_last_answer_is_copied(played: Played) -> None:
    async def play(terminal: FakeTerminal, session: Session) -> None:
        assert "no answer to copy" in await terminal.run("/copy")
        await session.send(Prompt("go"))
        await _shell(terminal, "!ls")
        assert "Copied" in await terminal.run("/copy")
        assert terminal.copied == ["I have **read** it."]

    played(play)


def test_theme_and_keys_are_changed_at_once_and_kept(played: Played) -> None:
    async def play(terminal: FakeTerminal, _session: Session) -> None:
        assert "The colours are" in await terminal.run("/theme")
        assert "Use auto" in await terminal.run("/theme pink")
        await terminal.run("/theme mono")
        assert terminal.theme.name == "mono"
        await terminal.run("/vim")
        assert terminal.vim
        await terminal.run("/vim off")
        assert not terminal.vim
        assert "accepts on or off" in await terminal.run("/vim maybe")
        await terminal.run("/vim on")
        settings = load_config().settings
        assert (settings.tui_theme, settings.tui_editing) == ("mono", "vim")

    played(play)


@pytest.mark.spec("CMD-12")
def test_a_goal_is_planned_in_the_plan_mode(played: Played) -> None:
    async def play(terminal: FakeTerminal, session: Session) -> None:
        assert "mode plan" in await terminal.run("/plan")
        await terminal.run("/plan move the parser")
        assert terminal.sent == [SetMode("plan"), SetMode("plan"), Prompt("move the parser")]
        assert session.mode == "plan"

    played(play)


@pytest.mark.spec("CMD-12")
def test_the_plan_mode_is_left_by_the_command_that_began_it(played: Played) -> None:
    async def play(terminal: FakeTerminal, session: Session) -> None:
        assert "/plan off leaves it" in " ".join((await terminal.run("/plan")).split())
        assert "mode default" in await terminal.run("/plan off")
        assert session.mode == "default"
        assert terminal.sent == [SetMode("plan"), SetMode("default")], "off is no goal"

    played(play)


def test_the_state_of_the_sandbox_is_shown_with_its_reason(played: Played) -> None:
    async def play(terminal: FakeTerminal, _session: Session) -> None:
        shown = " ".join((await terminal.run("/sandbox")).split())
        assert "switched off by sandbox.disabled" in shown
        assert "approval" in shown

    played(play)


def test_a_further_folder_opens_the_session_again(played: Played, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()

    async def play(terminal: FakeTerminal, session: Session) -> None:
        assert "none" in await terminal.run("/add-dir")
        assert "is not a folder" in " ".join((await terminal.run("/add-dir ../missing")).split())
        assert "can already be read" in " ".join((await terminal.run("/add-dir .")).split())
        await terminal.run("/add-dir ../other")
        await session.send(Prompt("go"))
        await terminal.run(f"/add-dir {other}")
        assert terminal.changes == [
            SessionStart(new=True, folders=(other,)),
            SessionStart(resume=session.id, folders=(other,)),
        ]

    played(play)


KNOWN = {
    "stats": "perf",
    "perf-issue": "perf",
    "away": "recap",
    "catchup": "recap",
    "tui": "view",
    "onboarding": "setup",
    "debug-tool-call": "calls",
    "usage": "cost",
    "new": "clear",
    "rules": "permissions",
}
UNKNOWN = {
    "csot": "cost",
    "compat": "compact",
    "compa": "compact",
    "hepl": "help",
    "exprot": "export",
    "permisions": "permissions",
    "doctr": "doctor",
    "thme": "theme",
    "reviwe": "review",
}
NOT_THERE = (
    "commit",
    "share",
    "cron",
    "triggers",
    "fork",
    "break-cache",
    "local-vault",
    "local-memory",
    "agents",
    "login",
)
UNLIKE = ("comments", "statistics", "zz", "xyz", "foobar", "pr", "issue", "deploy", "undone-work", "mo")


@pytest.mark.spec("CMD-13")
def test_names_that_users_know_lead_to_a_command_or_to_what_to_do_instead(played: Played) -> None:
    async def play(terminal: FakeTerminal, _session: Session) -> None:
        by_name = {name: each.name for each in COMMANDS for name in (each.name, *each.aliases)}
        assert {name: by_name.get(name) for name in KNOWN} == KNOWN
        for name, wanted in UNKNOWN.items():
            assert f"did you mean /{wanted}?" in " ".join((await terminal.run(f"/{name}")).split()), name
        for name in NOT_THERE:
            assert f"/{name} does not exist" in await terminal.run(f"/{name}"), name
        for name in UNLIKE:
            assert "/help lists them" in " ".join((await terminal.run(f"/{name}")).split()), name

    played(play)
