"""Custom tools that come, change, break and go while the program runs; and files that never end."""

import asyncio
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType

import pytest

from callgate.testing import ManualClock, run_virtual
from callgate.tools.custom import Api, Discovery, Folder, Loaded, Problem
from callgate.words.errors import UsageError
from tests.tools.custom_kit import Place, greeting, names, private_modules, problems
from tests.tools.fake_run import FakeRun

COUNTING = "import signals\nsignals.ran.append(__file__)\n"


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


@pytest.fixture
def discovery(place: Place) -> Discovery:
    return Discovery([place.folder()], Api(place.root))


@pytest.fixture
def signals(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """A module that the files can import, to tell the test what happens."""
    module = ModuleType("signals")
    vars(module).update(ran=list[str](), started=threading.Event(), ended=threading.Event(), released=threading.Event())
    monkeypatch.setitem(sys.modules, "signals", module)
    return module


async def said(loaded: Loaded, name: str) -> str:
    (found,) = (each for each in loaded.tools if each.spec.name == name)
    return (await found.run({}, FakeRun())).text


# ---- changes ------------------------------------------------------------------------------------------------------


async def _comes_changes_goes(place: Place, discovery: Discovery) -> None:
    nothing = await discovery.look()
    assert nothing == Loaded()
    place.write("a.py", greeting("greet", "one"))
    first = await discovery.look()
    assert await said(first, "greet") == "one"
    assert await discovery.look() is first
    place.write("a.py", greeting("greet", "two"))  # of the same length, perhaps within the same tick of the clock
    second = await discovery.look()
    assert await said(second, "greet") == "two"
    assert await said(first, "greet") == "one"  # a call that is under way ends as it began
    place.write("b.py", greeting("other"))
    assert names(await discovery.look()) == ["greet", "other"]
    place.remove("a.py")
    assert names(await discovery.look()) == ["other"]


def test_a_file_that_comes_changes_or_goes_is_noticed(place: Place, discovery: Discovery) -> None:
    asyncio.run(_comes_changes_goes(place, discovery))


def test_only_what_changed_runs_again(place: Place, discovery: Discovery, signals: ModuleType) -> None:
    async def main() -> None:
        one, two = (place.write(f"{name}.py", COUNTING + greeting(name)) for name in ("one", "two"))
        broken = place.write("three.py", COUNTING + "raise ValueError\n")
        loaded = await discovery.look()
        assert await discovery.look() is loaded
        assert sorted(signals.ran) == sorted([one, two, broken])
        place.write("two.py", COUNTING + greeting("two", "changed"))
        again = await discovery.look()
        assert sorted(signals.ran) == sorted([one, two, broken, two])
        assert again.tools[0] is loaded.tools[0]
        place.write("two.py", COUNTING + greeting("two"))  # back to what it was: it runs, for it may have been replaced
        await discovery.look()
        assert signals.ran.count(two) == 3

    asyncio.run(main())


def test_a_change_of_a_file_beside_reaches_those_that_use_it(
    place: Place, discovery: Discovery, signals: ModuleType
) -> None:
    async def main() -> None:
        text = "from ._shared import word\n" + greeting("greet").replace("'hello'", "word")
        user, other = place.write("a.py", COUNTING + text), place.write("b.py", COUNTING + greeting("other"))
        loaded = await discovery.look()
        assert problems(loaded) == [
            f"{user}:3: ModuleNotFoundError: No module named '._shared' (only files of this folder that begin with _ "
            "can be imported from it)"
        ]
        place.write("_shared.py", "word = 'first'\n")
        assert await said(await discovery.look(), "greet") == "first"
        place.write("_shared.py", "word = 'second'\n")
        assert await said(await discovery.look(), "greet") == "second"
        assert (signals.ran.count(user), signals.ran.count(other)) == (3, 1)

    asyncio.run(main())


def test_a_file_that_breaks_keeps_its_last_good_version_and_says_so(place: Place, discovery: Discovery) -> None:
    async def main() -> None:
        file = place.write("a.py", greeting("greet", "good"))
        good = await discovery.look()
        place.write("a.py", "x = (\n")
        broken = await discovery.look()
        assert broken.tools == good.tools
        assert broken.problems == (
            Problem(file, 1, "SyntaxError: '(' was never closed; its last good version stays in use", "project"),
        )
        place.write("a.py", "raise ValueError('no')\n")
        assert problems(await discovery.look()) == [f"{file}:1: ValueError: no; its last good version stays in use"]
        assert await said(await discovery.look(), "greet") == "good"
        place.write("a.py", greeting("greet", "better"))
        mended = await discovery.look()
        assert (await said(mended, "greet"), mended.problems) == ("better", ())
        place.remove("a.py")
        assert await discovery.look() == Loaded()

    asyncio.run(main())


def test_a_file_without_a_good_version_has_none_to_keep(place: Place, discovery: Discovery) -> None:
    file = place.write("a.py", "x = (\n")
    assert problems(asyncio.run(discovery.look())) == [f"{file}:1: SyntaxError: '(' was never closed"]


def test_a_name_is_free_again_when_its_owner_goes(place: Place, discovery: Discovery) -> None:
    async def main() -> None:
        place.write("a.py", greeting("greet", "one"))
        place.write("b.py", greeting("greet", "two"))
        loaded = await discovery.look()
        assert (await said(loaded, "greet"), len(loaded.problems)) == ("one", 1)
        place.remove("a.py")
        loaded = await discovery.look()
        assert (await said(loaded, "greet"), loaded.problems) == ("two", ())

    asyncio.run(main())


@pytest.mark.spec("TOOL-8")
def test_a_folder_that_is_trusted_no_more_loses_its_tools_at_once(place: Place, signals: ModuleType) -> None:
    now = [place.folder()]

    def folders() -> Sequence[Folder]:
        return now

    async def main() -> None:
        discovery = Discovery(folders, Api(place.root))
        place.write("a.py", COUNTING + greeting("greet"))
        assert names(await discovery.look()) == ["greet"]
        place.write("a.py", COUNTING + "x = (\n")
        now[:] = [place.folder(trusted=False)]
        loaded = await discovery.look()
        assert (loaded.tools, loaded.problems) == ((), ())
        assert [each.why for each in loaded.skipped] == ["not trusted, so 1 file of tools did not run"]
        now[:] = [place.folder(contents=[])]
        place.write("a.py", COUNTING + greeting("greet"))
        assert names(await discovery.look()) == []
        assert len(signals.ran) == 1

    asyncio.run(main())


def test_a_reload_runs_everything_again(place: Place, discovery: Discovery, signals: ModuleType) -> None:
    async def main() -> None:
        place.write("a.py", COUNTING + greeting("greet"))
        broken = place.write("b.py", COUNTING + "import not_installed_yet\n" + greeting("other"))
        loaded = await discovery.look()
        assert problems(loaded) == [f"{broken}:3: ModuleNotFoundError: No module named 'not_installed_yet'"]
        sys.modules["not_installed_yet"] = ModuleType("not_installed_yet")
        try:
            assert await discovery.look() is loaded
            assert names(await discovery.reload()) == ["greet", "other"]
        finally:
            del sys.modules["not_installed_yet"]
        assert len(signals.ran) == 4

    asyncio.run(main())


def test_versions_that_are_not_used_any_more_leave_no_module_behind(place: Place, discovery: Discovery) -> None:
    async def main() -> None:
        before, finders = private_modules(), set(sys.path_importer_cache)
        place.write("_shared.py", "x = 1\n")
        for number in range(5):
            place.write("a.py", "from ._shared import x\n" + greeting("greet", str(number)))
            await discovery.look()
            assert len(private_modules() - before) == 2
        discovery.close()
        assert private_modules() == before
        assert set(sys.path_importer_cache) == finders

    asyncio.run(main())


def test_two_looks_at_once_run_each_file_once(place: Place, discovery: Discovery, signals: ModuleType) -> None:
    async def main() -> None:
        place.write("a.py", COUNTING + greeting("greet"))
        one, two = await asyncio.gather(discovery.look(), discovery.look())
        assert one is two
        assert len(signals.ran) == 1

    asyncio.run(main())


def test_two_discoveries_of_one_folder_do_not_meet(place: Place) -> None:
    async def main() -> None:
        place.write(
            "a.py", "count = [0]\n" + greeting("greet").replace("'hello'", "str(count.append(0) or len(count))")
        )
        one, two = (Discovery([place.folder()], Api(place.root)) for _ in range(2))
        first, second = await one.look(), await two.look()
        assert [await said(first, "greet"), await said(first, "greet"), await said(second, "greet")] == ["2", "3", "2"]

    asyncio.run(main())


# ---- files that never end -----------------------------------------------------------------------------------------

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


async def given_up(discovery: Discovery, clock: ManualClock, signals: ModuleType, seconds: float = 10.0) -> Loaded:
    """Look, and let the time pass once the file has begun."""
    looking = asyncio.create_task(discovery.look())
    await asyncio.to_thread(signals.started.wait)
    clock.advance(seconds)
    return await looking


@pytest.mark.parametrize(
    ("text", "line"),
    [
        pytest.param(ENDLESS, 2, id="loop"),
        pytest.param(DEAF, 2, id="wait"),
        pytest.param(ENDLESS_FACTORY, 3, id="factory"),
        pytest.param(ENDLESS_WAIT, None, id="async factory"),
    ],
)
def test_a_file_that_never_ends_is_named_and_holds_up_nobody(
    place: Place, signals: ModuleType, text: str, line: int | None
) -> None:
    clock = ManualClock()
    discovery = Discovery([place.folder()], Api(place.root), clock=clock)
    file = place.write("b.py", text)
    place.write("a.py", greeting("before"))
    place.write("c.py", greeting("after"))
    before = private_modules()
    loaded = asyncio.run(given_up(discovery, clock, signals))
    assert names(loaded) == ["before", "after"]
    told = "it was not done after 10 seconds, so it is left out; it may go on until the program ends"
    assert loaded.problems == (Problem(file, line, told, "project"),)
    assert asyncio.run(discovery.look()) is loaded  # it does not run again
    assert clock.next_timer is None
    assert not signals.ended.is_set()
    signals.released.set()
    assert signals.ended.wait(60)
    assert len(private_modules() - before) == 2


def test_one_that_comes_to_hang_keeps_its_last_good_version(place: Place, signals: ModuleType) -> None:
    async def main() -> None:
        clock = ManualClock()
        discovery = Discovery([place.folder()], Api(place.root), clock=clock)
        place.write("a.py", greeting("greet", "good"))
        await discovery.look()
        place.write("a.py", ENDLESS)
        loaded = await given_up(discovery, clock, signals)
        assert await said(loaded, "greet") == "good"
        assert loaded.problems[0].text.endswith("; its last good version stays in use")

    asyncio.run(main())
    signals.released.set()
    assert signals.ended.wait(60)


def test_a_cancelled_look_waits_for_nobody_and_the_next_one_works(place: Place, signals: ModuleType) -> None:
    async def main() -> None:
        discovery = Discovery([place.folder()], Api(place.root), clock=ManualClock())
        place.write("a.py", DEAF)
        looking = asyncio.create_task(discovery.look())
        await asyncio.to_thread(signals.started.wait)
        looking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await looking
        place.write("a.py", greeting("greet"))
        assert names(await discovery.look()) == ["greet"]

    asyncio.run(main())
    signals.released.set()
    assert signals.ended.wait(60)


def test_time_that_the_loop_jumps_over_counts(place: Place, signals: ModuleType) -> None:
    place.write("a.py", DEAF)
    discovery = Discovery([place.folder()], Api(place.root), patience=3600)
    assert run_virtual(discovery.look()).problems[0].text.startswith("it was not done after 3600 seconds")
    signals.released.set()
    assert signals.ended.wait(60)


@pytest.mark.parametrize("patience", [0, -1])
def test_patience_is_above_nothing(tmp_path: Path, patience: float) -> None:
    with pytest.raises(UsageError, match="patience"):
        Discovery([], Api(tmp_path), patience=patience)
