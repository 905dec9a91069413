"""A person applies some of the files of a staged change, and not the others."""

from pathlib import Path

import pytest

from callgate import Store
from callgate.testing import say, turn
from callgate.tui.panels.pending_panel import PendingPanel, open_pending
from callgate.tui.route import Receiver
from callgate.words.events import ActionResolved, InputRefused
from callgate.words.inputs import Resolve, Undo
from callgate.words.limits import LoopLimits
from tests.flows.keep import run
from tests.flows.resolving.kit import Bench, stages
from tests.sessions import with_event
from tests.tui.panel_terminal import PanelTerminal, shown


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


@pytest.mark.parametrize("kept", [False, True], ids=["in memory", "kept"])
def test_chosen_files_are_applied_and_the_others_are_not(bench: Bench, kept: bool) -> None:
    async def main() -> None:
        bench.put("rename", bench.change("a.txt", "b.txt", "c.txt"))
        journal = await Store(bench.root, bench.folder / "data").create() if kept else None
        scenes = (turn(stages("rename")), turn(say("noted")))
        async with bench.open(*scenes, journal=journal, limits=LoopLimits(max_turns=1)) as session:
            await bench.say("go")
            await bench.say(Resolve("apply", "these two", extra={"files": ["a.txt", "x.txt"]}))
            refused = [each for each in bench.events if isinstance(each, InputRefused)]
            assert "x.txt is not in change a.txt and b.txt and c.txt" in refused[-1].reason
            assert len(session.pending) == 1
            await bench.say(Resolve("apply", "these two", extra={"files": ["a.txt", "c.txt"]}))
            assert [bench.text(f"{name}.txt") for name in "abc"] == ["new\n", "old\n", "new\n"]
            assert session.pending == ()
            (ended,) = (each for each in bench.events if isinstance(each, ActionResolved))
            assert ended.reason == "these two (only a.txt, c.txt; not applied: b.txt)"
            if kept:
                await bench.say(Undo())
                assert [bench.text(f"{name}.txt") for name in "abc"] == ["old\n"] * 3

    run(main())


def test_the_panel_shows_the_diff_and_applies_what_is_marked(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(bench.root)
    monkeypatch.setenv("CALLGATE_DATA_DIR", str(bench.folder / "data"))

    async def main() -> None:
        bench.put("rename", bench.change("a.txt", "b.txt"))
        terminal = PanelTerminal()
        await open_pending(terminal)
        assert terminal.notices == ["There is no pending action."]
        journal = await Store(bench.root, bench.folder / "data").create()
        async with bench.open(turn(stages("rename")), journal=journal, limits=LoopLimits(max_turns=1)) as session:
            terminal.session = session
            session.listen(with_event(terminal.fold.apply))
            await bench.say("go")
            await open_pending(terminal)
            (panel,) = terminal.panels
            assert isinstance(panel, PendingPanel)
            assert "Staged: rename" in shown(panel)
            assert "1 + new" in shown(panel)
            terminal.receiver = Receiver("card")
            assert "Enter apply all" in shown(panel)
            panel.typed("d")
            assert "b.txt" in shown(terminal.panels[-1])
            terminal.panels.pop()
            panel.typed(" ")
            assert "apply 1 of 2 files" in shown(panel)
            panel.act("choose")
            (sent,) = terminal.posted
            assert isinstance(sent, Resolve)
            assert (sent.action, sent.id, sent.extra) == ("apply", session.pending[0].id, {"files": ["b.txt"]})
            terminal.open_panel(panel)
            panel.act("down")
            panel.typed(" ")
            panel.act("choose")  # nothing is marked: nothing is done
            assert len(terminal.posted) == 1
            panel.typed("x")
            assert terminal.posted[-1] == Resolve("discard", sent.reason, id=sent.id)

    run(main())
