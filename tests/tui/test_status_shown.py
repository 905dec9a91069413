"""The status line of an open session."""

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from callgate import Session
from callgate.config import Config, load_config
from callgate.testing import ManualClock, MemoryHost, ScriptedModel, say, turn
from callgate.testing.script import stop
from callgate.tui.statusline.status_line import CHECK_EVERY, DEBOUNCE, SessionStatusLine
from callgate.words.inputs import SetMode
from callgate.words.messages import Usage
from callgate.words.model import Abilities

COMMAND = r"""sed -E 's/.*"mode": "([a-z_]*)".*"used_percent": ([^,]*),.*"vim": "([a-z]*)".*/\1 \2 \3/'"""


def with_settings(config: Config, command: str) -> Config:
    return replace(config, settings=replace(config.settings, statusline_command=command, statusline_padding=2))


@pytest.mark.spec("STL-4", "STL-5")
def test_it_follows_a_session_and_keeps_its_place_in_full_screen(tmp_path: Path) -> None:
    async def main() -> None:
        config = load_config(tmp_path, environ={"HOME": str(tmp_path)}, managed=tmp_path / "none")
        config = with_settings(config, f"{COMMAND}; printf '\\033[31mred'")
        drawn, told = asyncio.Event(), list[str]()
        answer = turn(say("x"), stop("end", Usage(input=49_990, output=10)))
        model = ScriptedModel(otherwise=answer, name="m", abilities=Abilities(context_tokens=200_000))
        async with Session(model, config=config) as session:
            vim = ["insert"]
            line = SessionStatusLine(session, config, redraw=drawn.set, warn=told.append, vim=lambda: vim[0])
            assert (line.lines(), line.lines(keep_place=True)) == ([], ["  "])
            await drawn.wait()
            assert line.lines() == ["  default null insert", "  \x1b[31mred\x1b[0m"]
            vim[0] = "normal"
            drawn.clear()
            line.lines()  # a frame
            await drawn.wait()
            assert line.lines(colours=False) == ["  default null normal", "  red"]
            for posted, shown in (("go", "  default 25.0 normal"), (SetMode("plan"), "  plan 25.0 normal")):
                drawn.clear()
                session.post(posted)
                await drawn.wait()
                assert line.lines()[0] == shown
            await line.close()
            assert told == []

    asyncio.run(main())


@pytest.mark.spec("STL-4")
def test_a_command_that_is_set_changed_or_removed_in_a_file_counts_at_once(tmp_path: Path) -> None:
    own = tmp_path / ".config" / "callgate" / "settings.toml"
    own.parent.mkdir(parents=True)
    work = tmp_path / "work"
    work.mkdir()

    def read() -> Config:
        return load_config(work, environ={"HOME": str(tmp_path)}, managed=tmp_path / "none")

    async def main() -> None:
        clock, drawn = ManualClock(), asyncio.Event()
        async with Session(ScriptedModel(), host=MemoryHost(clock=clock)) as session:
            line = SessionStatusLine(session, read(), redraw=drawn.set, warn=print, read=read)
            assert line.lines(keep_place=True) == []
            texts = ["command = 'echo one'", "command = 'echo two!'\npadding = 1", "command = 1", "refresh = 5"]
            for text, shown in zip(texts, (["one"], [" two!"], [" two!"], []), strict=True):
                own.write_text(f"[statusline]\n{text}\n")
                drawn.clear()
                clock.advance(CHECK_EVERY)
                while clock.next_timer is None:  # the threads that look and read
                    await asyncio.to_thread(int)
                if text != "command = 1":
                    await drawn.wait()
                drawn.clear()
                if line.lines(keep_place=True) and text != "command = 1":
                    clock.advance(DEBOUNCE)
                    await drawn.wait()
                assert line.lines() == shown
            await line.close()

    asyncio.run(main())
