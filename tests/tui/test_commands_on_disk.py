"""Slash commands that need a session on disk, a workspace or settings."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from callgate import Session, Store, load_config
from callgate.assembly.agent import agent_session
from callgate.testing import ScriptedModel, ScriptedTurn, call, say, turn
from callgate.tui.panels.list_panel import ListPanel
from callgate.tui.panels.panel_page import CODES
from callgate.tui.panels.scroll_panel import ScrollPanel
from callgate.tui.port import SessionStart
from callgate.words.events import QuestionAsked
from callgate.words.inputs import Answer, Prompt, SetMode, Undo
from tests.tui.fakes import FakeTerminal, settled

Play = Callable[[FakeTerminal, Session], Awaitable[None]]
Played = Callable[..., FakeTerminal]


@pytest.fixture
def played(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Played:
    """Plays with the agent in a workspace; its model writes a file once."""
    root = tmp_path / "work"
    root.mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("CALLGATE_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("CALLGATE_CONFIG_DIR", str(tmp_path / "mine"))
    monkeypatch.chdir(root)

    def run(play: Play, *, settings: str = "") -> FakeTerminal:
        (tmp_path / "mine").mkdir(exist_ok=True)
        (tmp_path / "mine/settings.toml").write_text(settings)
        model = ScriptedModel(
            turn(call("Write", file_path="a.txt", content="one\n")), otherwise=turn(say("Written: sk-not-a-key."))
        )

        async def main() -> FakeTerminal:
            config = load_config(root)
            journal = await Store(root, config.data).create()
            async with await agent_session(config, model, journal=journal, mode="accept_edits") as session:
                terminal = FakeTerminal(session, config)
                await play(terminal, session)
                return terminal

        return asyncio.run(main())

    return run


def test_undo_shows_what_it_takes_back_and_asks_first(played: Played, tmp_path: Path) -> None:
    file = tmp_path / "work/a.txt"

    async def play(terminal: FakeTerminal, session: Session) -> None:
        assert "no change to undo" in await terminal.run("/undo")
        await session.send(Prompt("go"))
        assert file.read_text() == "one\n"
        assert "a.txt" in await terminal.run("/undo turn")
        panel = terminal.panels[-1]
        assert isinstance(panel, ListPanel)
        assert file.exists(), "a question first"
        panel.act("choose")
        assert terminal.sent == [Undo("turn")]
        await settled(session)
        assert not file.exists()
        assert "accepts turn, call, session" in " ".join((await terminal.run("/undo everything")).split())

    played(play)


def test_an_undo_that_cannot_be_whole_says_how_to_take_the_rest_back(played: Played, tmp_path: Path) -> None:
    async def play(terminal: FakeTerminal, session: Session) -> None:
        await session.send(Prompt("go"))
        (tmp_path / "work/a.txt").write_text("another\n")
        shown = await terminal.run("/undo")
        assert "/undo --partly" in shown
        assert not terminal.panels

    played(play)


def test_diff_lists_the_changes_and_shows_their_lines(played: Played) -> None:
    async def play(terminal: FakeTerminal, session: Session) -> None:
        assert "not changed any file" in await terminal.run("/diff")
        await session.send(Prompt("go"))
        assert "1  applied" in await terminal.run("/diff")
        await terminal.run("/diff 1")
        for panel in terminal.panels:
            assert isinstance(panel, ScrollPanel)
            assert any("1 + one" in CODES.sub("", line) for line in panel.lines(60, 20))
        assert len(terminal.panels) == 2
        assert "there is no change 7" in await terminal.run("/diff 7")
        assert "the number of a change" in await terminal.run("/diff x")

    played(play)


def test_export_writes_the_format_that_the_name_says_and_replaces_nothing(played: Played, tmp_path: Path) -> None:
    async def play(terminal: FakeTerminal, session: Session) -> None:
        await session.send(Prompt("my key is sk-ant-api03-" + "a" * 93 + "-aaaaaaAA"))
        assert "Written to" in await terminal.run("/export out.md")
        text = (tmp_path / "work/out.md").read_text()
        assert "my key is" in text
        assert "a" * 60 not in text, "secrets are masked"
        await terminal.run("/export out.html")
        assert (tmp_path / "work/out.html").read_text().startswith("<!")
        assert "already exists" in " ".join((await terminal.run("/export out.md")).split())
        assert ".html" in await terminal.run("/export out.pdf")

    played(play)


def test_permissions_show_rules_with_their_origin_and_forget_answers(played: Played) -> None:
    from callgate.admin.workspace_policy import WorkspacePolicy

    async def play(terminal: FakeTerminal, _session: Session) -> None:
        kept = WorkspacePolicy().remember("allow", "Bash(git status)", scope="project")
        shown = await terminal.run("/permissions")
        assert "Bash(rm *)" in shown
        assert "user:2" in shown
        assert kept.id in shown
        assert "1 active rule" in shown
        assert "1 remembered answer\n" in shown
        assert "accept_edits" in shown
        assert "Rule removed" in await terminal.run(f"/permissions revoke {kept.id}")
        assert not WorkspacePolicy().answers()
        assert "no remembered answer" in await terminal.run("/permissions revoke nope")
        assert "Add the ids of the answers" in await terminal.run("/permissions revoke")
        assert "accepts no argument" in await terminal.run("/permissions what")

    played(play, settings='[permissions]\ndeny = ["Bash(rm *)"]\n')


@pytest.mark.parametrize(
    ("choice", "wanted"),
    [
        (0, "allow  Write(a.txt), exactly  this session"),
        (1, "allow  Write(./a.txt)  this session"),
        (2, "Write  this session"),
    ],
)
def test_permissions_show_answers_of_this_session(played: Played, choice: int, wanted: str) -> None:
    async def play(terminal: FakeTerminal, session: Session) -> None:
        def answer(_path: object, _number: int, event: object) -> None:
            if isinstance(event, QuestionAsked):
                session.post(Answer(event.question.always(event.question.choices[choice])))

        stop = session.listen(answer)
        await session.send(SetMode("default"))
        await session.send(Prompt("write"))
        stop()
        shown = " ".join((await terminal.run("/permissions")).split())
        assert "1 remembered answer" in shown
        assert " ".join(wanted.split()) in shown

    played(play)


def test_permissions_without_rules_show_no_empty_table(played: Played) -> None:
    async def play(terminal: FakeTerminal, _session: Session) -> None:
        shown = await terminal.run("/permissions")
        assert "0 active rules\nMode" in shown
        assert "0 remembered answers\n`callgate policy explain`" in shown

    played(play)


def test_hooks_skills_tasks_and_statusline_say_what_is_there_or_how_to_get_it(played: Played) -> None:
    async def play(terminal: FakeTerminal, _session: Session) -> None:
        for command, words in (
            ("/hooks", "There are no hooks"),
            ("/skills", "There are no skills"),
            ("/tasks", "There are no background tasks"),
            ("/statusline", "no custom status line"),
            ("/tasks stop bg-9", "No task bg-9 is running"),
            ("/tasks halt", "accepts no argument"),
        ):
            assert words in " ".join((await terminal.run(command)).split()), command

    played(play)


def test_hooks_and_the_status_line_of_the_settings_are_shown(played: Played) -> None:
    async def play(terminal: FakeTerminal, _session: Session) -> None:
        shown = await terminal.run("/hooks")
        assert "PreToolUse" in shown
        assert "true # check" in shown
        assert "date" in await terminal.run("/statusline")

    hook = '[[hooks.PreToolUse]]\nmatcher = "Bash"\ncommand = "true # check"\n'
    played(play, settings=f'{hook}[statusline]\ncommand = "date"\n')


def test_config_shows_one_or_all_settings_and_sets_one_in_the_persons_own_file(played: Played, tmp_path: Path) -> None:
    async def play(terminal: FakeTerminal, _session: Session) -> None:
        assert "limits.max_turns" in await terminal.run("/config")
        assert "is set in" in await terminal.run("/config limits.max_turns 7")
        assert "max_turns = 7" in (tmp_path / "mine/settings.toml").read_text()
        assert "default" in await terminal.run("/config limits.max_cost")
        assert "did you mean" in " ".join((await terminal.run("/config limits.max_trns")).split())

    played(play)


def test_doctor_shows_what_was_seen_and_what_repairs_it(played: Played) -> None:
    async def play(terminal: FakeTerminal, _session: Session) -> None:
        shown = await terminal.run("/doctor")
        assert "python" in shown
        assert "settings" in shown
        text = " ".join(shown.split())
        assert ". Problem: " in text
        assert ". Repair: " in text

    played(play)


def test_init_and_review_send_their_texts_and_continue_goes_on() -> None:
    async def main() -> None:
        async with Session(ScriptedModel(otherwise=turn(say("Fine.")))) as session:
            terminal = FakeTerminal(session)
            await terminal.run("/init for newcomers")
            await terminal.run("/review main..topic")
            await terminal.run("/review")
            texts = [str(each.content) for each in terminal.sent if isinstance(each, Prompt)]
            assert "AGENTS.md" in texts[0]
            assert "for newcomers" in texts[0]
            assert "`main..topic`" in texts[1]
            assert "Change nothing" in texts[1]
            assert "the working tree" in texts[2]
            await session.send(Prompt("rest"))
            terminal.fold.status = "idle"
            await terminal.run("/continue")
            assert any("no work is unfinished" in note for note in terminal.notices)

    asyncio.run(main())


def test_clear_resume_and_branch_change_the_session_and_say_how_to_come_back(played: Played) -> None:
    async def play(terminal: FakeTerminal, session: Session) -> None:
        assert "messages to copy" in await terminal.run("/branch")
        await session.send(Prompt("go"))
        await terminal.run("/clear")
        await terminal.run("/branch")
        assert terminal.changes == [SessionStart(new=True), SessionStart(resume=session.id, fork=True)]
        assert "already open here" in await terminal.run(f"/resume {session.id[:12]}")
        assert "there is no session" in " ".join((await terminal.run("/resume nothing-like-this")).split())
        other = await Store(Path.cwd(), load_config().data).fork(session.id)
        await other.aclose()
        await terminal.run(f"/resume {other.session}")
        assert terminal.changes[-1] == SessionStart(resume=other.session)
        await terminal.run("/rewind")
        assert isinstance(terminal.panels[-1], ListPanel)

    played(play)


@pytest.mark.spec("CMD-6")
def test_the_view_changes_in_place_and_is_remembered(played: Played) -> None:
    async def play(terminal: FakeTerminal, _session: Session) -> None:
        assert "The view is inline" in await terminal.run("/view status")
        await terminal.run("/view full")
        assert terminal.viewed == "full"
        assert "The view is full" in await terminal.run("/view")
        assert load_config().settings.tui_view == "full"
        assert "Unknown view" in await terminal.run("/view wide")
        await terminal.run("/view inline")
        assert load_config().settings.tui_view == "inline"
        assert not terminal.changes, "the session goes on"

    played(play)


@pytest.mark.spec("CMD-7")
def test_the_steps_of_a_first_start_can_be_repeated_and_reset(played: Played, tmp_path: Path) -> None:
    from callgate.admin.workspace_policy import Trusted

    async def play(terminal: FakeTerminal, session: Session) -> None:
        shown = await terminal.run("/setup")
        assert session.model in shown
        assert "nothing to trust" in " ".join(shown.split())
        await terminal.run("/setup theme light")
        await terminal.run("/setup theme light")
        assert load_config().settings.tui_theme == "light"
        assert "Use auto, dark" in await terminal.run("/setup theme pink")
        assert "Unknown step" in await terminal.run("/setup all")
        assert "needs no trust" in await terminal.run("/setup trust")
        (tmp_path / "work/.callgate").mkdir()
        (tmp_path / "work/.callgate/settings.toml").write_text('[permissions]\ndeny = ["Bash"]\n')
        for answer in ("no", "yes"):
            terminal.opened.clear()
            asking = asyncio.create_task(terminal.run("/setup trust"))
            await terminal.opened.wait()
            panel = terminal.panels[-1]
            assert ".callgate/settings.toml" in "\n".join(panel.lines(80, 20))
            if answer == "yes":
                panel.act("down")
            panel.act("choose")
            assert ("This takes effect in the next session" in " ".join((await asking).split())) is (answer == "yes")
            assert isinstance(load_config().trust, Trusted) is (answer == "yes")
        assert "is trusted. To revoke: " in await terminal.run("/setup trust")
        assert "no longer trusted" in " ".join((await terminal.run("/setup reset")).split())
        config = load_config()
        assert (config.settings.tui_theme, config.settings.tui_view) == ("auto", "inline")
        assert not isinstance(config.trust, Trusted)

    played(play)


def test_every_command_with_words_gives_candidates_of_two_texts(played: Played) -> None:
    from callgate.tui.commands import COMMANDS, argument_words

    async def play(terminal: FakeTerminal, _session: Session) -> None:
        for each in COMMANDS:
            found = argument_words(terminal, each.name)
            assert all(isinstance(word, str) and isinstance(about, str) for word, about in found), each.name
            assert bool(found) is bool(each.words), each.name

    played(play)


@pytest.mark.spec("CMD-4")
def test_perf_is_written_as_json_without_the_conversation(played: Played, tmp_path: Path) -> None:
    async def play(terminal: FakeTerminal, session: Session) -> None:
        await session.send(Prompt("a private matter"))
        await terminal.run("/perf --json")

    played(play)
    (file,) = (tmp_path / "work").glob("callgate-perf-*.json")
    report = json.loads(file.read_text())
    assert {*report} == {"process", "totals", "requests", "tools"}
    assert report["tools"]["Write"]["calls"] == 1
    assert "private" not in file.read_text()
    assert "one" not in file.read_text().split()


def test_the_session_asks_again_after_a_revoke_as_the_terminal_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from callgate.admin.workspace_policy import WorkspacePolicy

    root = tmp_path / "work"
    root.mkdir()
    for name in ("HOME", "CALLGATE_DATA_DIR", "CALLGATE_CONFIG_DIR"):
        monkeypatch.setenv(name, str(tmp_path / name))
    monkeypatch.chdir(root)

    def writes(text: str) -> ScriptedTurn:
        return turn(call("Write", file_path="a.txt", content=text))

    async def asked(session: Session) -> bool:
        found = False
        async for event in session.send(Prompt("go")):
            if isinstance(event, QuestionAsked):
                found = True
                session.post(Answer(event.question.yes()))
        return found

    async def main() -> None:
        kept = WorkspacePolicy().remember("allow", "Write(./a.txt)", scope="project")
        config = load_config(root)
        journal = await Store(root, config.data).create()
        model = ScriptedModel(writes("one\n"), turn(say("1")), writes("two\n"), turn(say("2")))
        async with await agent_session(config, model, journal=journal) as session:
            terminal = FakeTerminal(session, config)
            assert not await asked(session)
            shown = await terminal.run(f"/permissions revoke {kept.id}")
            assert f"Rule removed: allow {kept.covers}. You will be asked again from the next prompt on." in " ".join(
                shown.split()
            )
            assert await asked(session)

    asyncio.run(main())
    assert (root / "a.txt").read_text() == "two\n"
