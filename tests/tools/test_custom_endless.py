"""Files of custom tools that never end, and loads that are repeated or cancelled."""

import asyncio
import sys
import threading
from pathlib import Path
from types import ModuleType

import pytest

from callgate.testing import ManualClock, run_virtual
from callgate.tools.custom import Api, LoadedTools, load_tools
from callgate.tools.custom.tool_files import Problem
from callgate.words.errors import UsageError
from tests.tools.custom_kit import Place, greeting, names, said


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


@pytest.fixture
def signals(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """A module that the files can import, to tell the test what happens."""
    module = ModuleType("signals")
    vars(module).update(started=threading.Event(), ended=threading.Event(), released=threading.Event())
    monkeypatch.setitem(sys.modules, "signals", module)
    return module


def released(signals: ModuleType) -> None:
    signals.released.set()
    assert signals.ended.wait(60)


# Each tells that it has begun from the very place where it stays.
ENDLESS = """import signals
while not signals.released.is_set(): signals.started.set()
signals.ended.set()
"""
ENDLESS_FACTORY = """import signals
def tools(api):
    while not signals.released.is_set(): signals.started.set()
    signals.ended.set()
"""
ENDLESS_WAIT = """import asyncio, signals
async def tools(api):
    asyncio.get_running_loop().call_soon(signals.started.set)
    await asyncio.to_thread(signals.released.wait)
    signals.ended.set()
"""
DEAF = """import signals
signals.started.set(); signals.released.wait()
signals.ended.set()
"""


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(ENDLESS, id="loop"),
        pytest.param(DEAF, id="wait"),
        pytest.param(ENDLESS_FACTORY, id="factory"),
        pytest.param(ENDLESS_WAIT, id="async factory"),
    ],
)
def test_a_file_that_never_ends_is_named_and_holds_up_nobody(place: Place, signals: ModuleType, text: str) -> None:
    clock = ManualClock()
    file = place.write("b.py", text)
    place.write("a.py", greeting("before"))
    place.write("c.py", greeting("after"))

    async def main() -> LoadedTools:
        loading = asyncio.create_task(load_tools([place.folder()], Api(place.root), clock=clock))
        await asyncio.to_thread(signals.started.wait)
        clock.advance(10)
        return await loading

    loaded = asyncio.run(main())
    assert names(loaded) == ["before", "after"]
    told = "loading did not finish within 10 seconds, so the file is ignored; its code may run until the program ends"
    assert loaded.problems == (Problem(file, None, told, "project"),)
    assert clock.next_timer is None
    assert not signals.ended.is_set()
    released(signals)


def test_a_cancelled_load_waits_for_nobody_and_the_next_one_works(place: Place, signals: ModuleType) -> None:
    async def main() -> None:
        place.write("a.py", DEAF)
        loading = asyncio.create_task(load_tools([place.folder()], Api(place.root), clock=ManualClock()))
        await asyncio.to_thread(signals.started.wait)
        loading.cancel()
        with pytest.raises(asyncio.CancelledError):
            await loading
        place.write("a.py", greeting("greet"))
        assert names(await load_tools([place.folder()], Api(place.root))) == ["greet"]

    asyncio.run(main())
    released(signals)


def test_time_that_the_loop_jumps_over_counts(place: Place, signals: ModuleType) -> None:
    place.write("a.py", DEAF)
    loaded = run_virtual(load_tools([place.folder()], Api(place.root), patience=3600))
    assert loaded.problems[0].text.startswith("loading did not finish within 3600 seconds")
    released(signals)


@pytest.mark.parametrize("patience", [0, -1])
def test_patience_is_above_nothing(tmp_path: Path, patience: float) -> None:
    with pytest.raises(UsageError, match="patience"):
        asyncio.run(load_tools([], Api(tmp_path), patience=patience))


def test_two_loads_of_one_folder_do_not_meet_and_see_what_changed(place: Place) -> None:
    counting = greeting("greet").replace("'hello'", "str(count.append(0) or len(count))")
    place.write("a.py", "count = [0]\n" + counting)
    first, second = place.loaded(), place.loaded()
    assert [said(first, "greet"), said(first, "greet"), said(second, "greet")] == ["2", "3", "2"]
    place.write("a.py", greeting("greet", "changed"))
    assert (said(place.loaded(), "greet"), said(first, "greet")) == ("changed", "4")


def test_a_file_beside_that_is_missing_is_named_with_a_hint_and_one_imported_late_is_found(place: Place) -> None:
    late = greeting("greet").replace("    return 'hello'", "    from ._shared import word\n    return word")
    place.write("b.py", late)
    file = place.write("a.py", "from ._other import word\n" + greeting("other"))
    place.write("_shared.py", "word = 'late'\n")
    loaded = place.loaded()
    assert [str(each) for each in loaded.problems] == [
        f"{file}:1: ModuleNotFoundError: No module named '._other' (only files of this folder that begin with _ can be "
        "imported from it)"
    ]
    assert said(loaded, "greet") == "late"
