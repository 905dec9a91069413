"""Sessions that go on: the end of what was said, what was left open, and going back to an earlier prompt."""

import asyncio
from pathlib import Path

import pytest

from callgate import Prompt, Session, Store, Toolbox, tool
from callgate.cli.start_options import read_interactive
from callgate.testing import ScriptedModel, call, say, turn
from callgate.tui.blocks import CallBlock, NoticeBlock, PromptBlock, TextBlock
from callgate.tui.commands.slash_session import go_back, open_rewind, prompts_of
from callgate.tui.fold import SHOWN, ConversationFold, fold_of, keep_end, left_open
from callgate.tui.panels.list_panel import ListPanel
from callgate.tui.panels.sessions_panel import SessionsPanel, pick_session
from callgate.tui.port import SessionStart
from callgate.words.events import Event
from callgate.words.inputs import Rewind
from tests.tui.panel_terminal import PanelTerminal, shown


@tool(effects="mutating")
def note(what: str) -> str:
    """Notes something."""
    return f"noted {what}"


def _model() -> ScriptedModel:
    return ScriptedModel(turn(say("Yes.")), turn(call("note", what="x")), otherwise=turn(say("Done.")))


async def _told(session: Session) -> list[Event]:
    return [event for _number, event in await session.events_after(0)]


def test_a_conversation_on_record_is_folded_without_what_was_rewound() -> None:
    async def main() -> None:
        async with Session(ScriptedModel(otherwise=turn(say("Yes.")))) as session:
            for text in ("one", "two", "three"):
                await session.send(Prompt(text))
            (second,) = (each.id for each in session.messages if each.text == "two")
            await session.send(Rewind(second))
            await session.send(Prompt("other"))
            fold = fold_of(await _told(session))
            assert [each.text for each in fold.blocks if isinstance(each, PromptBlock)] == ["one", "other"]
            prompts = prompts_of(await _told(session), (each.id for each in session.messages))
            assert [each.message.text for each in prompts] == ["other", "one"]

    asyncio.run(main())


def test_only_the_last_messages_are_shown_and_the_others_counted() -> None:
    fold = ConversationFold()
    fold.blocks = [PromptBlock("u1", "hello"), *(TextBlock(f"a{n}.0", f"text {n}", done=True) for n in range(SHOWN))]
    keep_end(fold)
    first, *rest = fold.blocks
    assert isinstance(first, NoticeBlock)
    assert first.text.startswith("1 earlier message:")
    assert len(rest) == SHOWN


def test_a_session_that_stopped_in_the_middle_says_what_is_open() -> None:
    async def main() -> None:
        async with Session(_model(), Toolbox(note)) as session:
            for text in ("one", "two"):
                await session.send(Prompt(text))
            fold = fold_of(await _told(session))
            assert any(isinstance(each, CallBlock) and not each.done for each in fold.blocks)
            text = left_open(fold, 2).text
            assert "1 question, 1 unfinished call, 2 queued messages" in text
            assert text.endswith("Press Enter to continue.")

    asyncio.run(main())


def test_the_picker_of_prompts_goes_back_and_puts_the_prompt_into_the_input_line() -> None:
    async def main() -> None:
        terminal = PanelTerminal()
        await open_rewind(terminal)
        assert terminal.notices == ["There is no message to rewind to yet."]
        async with Session(_model(), Toolbox(note)) as session:
            await session.send(Prompt("one"))
            terminal.session = session
            await open_rewind(terminal)
            (panel,) = terminal.panels
            assert isinstance(panel, ListPanel)
            assert "one" in shown(panel)
            panel.act("choose")
            how = terminal.panels[-1]
            assert "in a copy of this session" in shown(how)
            how.act("cancel")
            assert terminal.panels == [panel]
            (prompt,) = prompts_of(await _told(session), (each.id for each in session.messages))
            await go_back(terminal, prompt, "conversation")
            assert terminal.posted == [Rewind(prompt.message.id)]
            assert terminal.input == "one"
            await go_back(terminal, prompt, "fork")
            assert terminal.changes == [SessionStart(resume=session.id, fork=True)]

    asyncio.run(main())


def test_sessions_are_picked_from_this_folder_and_shown_from_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here, there, data = tmp_path / "here", tmp_path / "the re", tmp_path / "data"
    monkeypatch.setenv("CALLGATE_DATA_DIR", str(data))
    here.mkdir()
    there.mkdir()

    async def talk(folder: Path, text: str) -> str:
        journal = await Store(folder, data).create()
        async with Session(_model(), Toolbox(note), journal=journal) as session:
            await session.send(Prompt(text))
            return session.id

    async def main() -> None:
        first, other = await talk(here, "fix the parser"), await talk(there, "paint it blue")
        await talk(here, "write a test")
        monkeypatch.chdir(here)
        terminal = PanelTerminal()
        picking = asyncio.ensure_future(pick_session(terminal))
        await terminal.until(lambda: terminal.panels)
        (panel,) = terminal.panels
        assert isinstance(panel, SessionsPanel)
        assert [each.title for each in panel.shown] == ["write a test", "fix the parser"]
        panel.act("other")
        await terminal.until(lambda: len(panel.shown) == 3)
        for sign in "blue":
            panel.typed(sign)
        assert "the re: 2 messages" in shown(panel, width=200)
        panel.act("choose")
        assert terminal.notices[-1].endswith(f"cd '{there}' && callgate --resume {other}")
        assert terminal.panels == [panel]
        panel.act("cancel")
        for sign in "parser":
            panel.typed(sign)
        await terminal.until(lambda: "you: fix the parser" in shown(panel, width=140))
        panel.act("choose")
        assert await picking == first

    asyncio.run(main())


def test_resume_without_an_id_asks_for_one() -> None:
    assert read_interactive(["--resume"]).resume == ""
    assert read_interactive(["-r", "--model", "x"]).resume == ""
    assert read_interactive(["--resume", "abc"]).resume == "abc"
    assert read_interactive([]).resume is None
