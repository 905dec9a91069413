"""Custom tools from files: what is a tool, whose counts, trust, and what is left as it was."""

import asyncio
import hashlib
import os
import sys
import threading
from pathlib import Path

import pytest

from callgate.tools.custom import Api, load_tools
from callgate.tools.custom.tool_files import Problem, ToolFolder
from callgate.tools.staging import serving
from callgate.tools.toolbox import Toolbox
from tests.tools.custom_kit import Noting, Place, greeting, names, private_modules, problems, said
from tests.tools.fake_run import FakeRun


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


# ---- what is a tool -----------------------------------------------------------------------------------------------


def test_every_public_tool_of_a_file_is_one_in_its_order(place: Place) -> None:
    file = place.write(
        "several.py",
        '''
        from callgate import tool

        @tool(name="zeta", aliases=["z"])
        def first(word: str) -> str:
            """Say it."""
            return word

        @tool
        async def second() -> str:
            return "2"

        @tool
        def _hidden() -> None: ...

        def no_tool() -> None: ...
        ''',
    )
    loaded = place.loaded()
    assert (names(loaded), loaded.problems, loaded.skipped) == (["zeta", "second"], (), ())
    assert (loaded.tools[0].file, loaded.tools[0].line, loaded.tools[0].layer) == (file, 3, "project")
    assert said(loaded, "zeta", word="oui") == "oui"
    assert Toolbox(*loaded.tools).resolve("z", {}).tool is loaded.tools[0]  # pyright: ignore


@pytest.mark.parametrize(
    "factory",
    [
        pytest.param("def tools(api):\n    return greet", id="one"),
        pytest.param("def tools(api):\n    return [greet]", id="list"),
        pytest.param("def tools(api):\n    yield greet", id="generator"),
        pytest.param("def tools(api):\n    return [tool(greet)]", id="tool"),
        pytest.param("async def tools(api):\n    return (greet,)", id="async"),
        pytest.param("async def tools(api):\n    yield greet", id="async generator"),
        pytest.param("import asyncio\nasync def tools(api):\n    await asyncio.sleep(0)\n    return greet", id="waits"),
        pytest.param("tools = lambda api: [greet]", id="lambda"),
        pytest.param("async def later(api):\n    return greet\ntools = lambda api: later(api)", id="coroutine"),
        pytest.param("tools = [tool(greet)]", id="no factory"),
        pytest.param("class tools:\n    def __init__(self, api): ...\n    def __iter__(self): yield greet", id="class"),
    ],
)
def test_a_factory_gives_tools_in_any_form(place: Place, factory: str) -> None:
    place.write("made.py", f"from callgate import tool\ndef greet() -> str:\n    return 'hi'\n{factory}\n")
    loaded = place.loaded()
    assert (names(loaded), loaded.problems) == (["greet"], ())
    assert said(loaded, "greet") == "hi"


def test_a_factory_is_told_where_it_is(place: Place) -> None:
    place.write(
        "where.py", "def tools(api):\n    def where() -> str:\n        return api.root.name\n    return where\n"
    )
    assert said(place.loaded(), "where") == place.root.name


def test_a_tool_that_is_offered_twice_is_one(place: Place) -> None:
    place.write("twice.py", greeting("greet") + "again = greet\ndef tools(api):\n    return [greet, again]\n")
    loaded = place.loaded()
    assert (names(loaded), loaded.problems) == (["greet"], ())


def test_objects_with_methods_and_tools_made_by_hand_are_tools(place: Place) -> None:
    place.write(
        "objects.py",
        """
        from callgate import tool
        from callgate.tools.tool import FunctionTool

        class Counter:
            def __init__(self):
                self.count = 0
            def count_up(self) -> int:
                self.count += 1
                return self.count

        class ByHand:
            def __init__(self, inner):
                self.spec = inner.spec
                self.aliases = ()
                self.previews = False
                self.read = inner.read
                self.traits = inner.traits
                self.preview = inner.preview
                self.run = inner.run

        counter = Counter()
        tools = [tool(counter.count_up), ByHand(tool(counter.count_up, name="by_hand"))]
        """,
    )
    loaded = place.loaded()
    assert (names(loaded), loaded.problems) == (["count_up", "by_hand"], ())
    assert [said(loaded, "count_up"), said(loaded, "by_hand"), said(loaded, "count_up")] == ["1", "2", "3"]


def test_what_a_tool_has_beyond_the_port_is_still_there(place: Place) -> None:
    place.write("a.py", "from callgate import tool\n@tool(search_hint='slide')\ndef greet() -> None: ...\n")
    (found,) = place.loaded().tools
    assert found.facts.search_hint == "slide"


def test_names_of_files_may_be_any(place: Place) -> None:
    for number, name in enumerate(["grüße 日本.py", "my-tool.py", "1.py", "json.py", "a.b.py"]):
        place.write(name, greeting(f"tool_{number}", "ö"))
    loaded = place.loaded()
    assert (sorted(names(loaded)), loaded.problems) == ([f"tool_{number}" for number in range(5)], ())
    assert said(loaded, "tool_0") == "ö"
    assert sys.modules["json"].__name__ == "json"


def test_an_encoding_that_the_file_declares_counts(place: Place) -> None:
    place.write("old.py", b"# coding: latin-1\n" + greeting("greet", "é").encode("latin-1"))
    assert said(place.loaded(), "greet") == "é"


def test_other_files_are_no_tools(place: Place) -> None:
    for name in ("notes.md", "_shared.py", ".hidden.py", "x.pyc", "x.py~"):
        place.write(name, "raise SystemExit\n")
    (place.path / "sub").mkdir()
    (place.path / "sub" / "deep.py").write_text("raise SystemExit\n")
    loaded = place.loaded()
    assert (loaded.tools, loaded.problems, loaded.skipped) == ((), (), ())


def test_a_folder_that_is_not_there_has_no_tools(tmp_path: Path) -> None:
    loaded = asyncio.run(load_tools([ToolFolder(tmp_path / "none", "user", trusted=True)], Api(tmp_path)))
    assert (loaded.tools, loaded.problems, loaded.skipped) == ((), (), ())


def test_a_folder_that_is_none_is_reported(tmp_path: Path) -> None:
    (tmp_path / "tools").write_text("x")
    loaded = asyncio.run(load_tools([ToolFolder(tmp_path / "tools", "user", trusted=True)], Api(tmp_path)))
    assert problems(loaded) == [f"{tmp_path}/tools: this folder of tools cannot be read: Not a directory"]


def test_a_folder_that_is_given_twice_is_read_once(place: Place) -> None:
    place.write("a.py", greeting("greet"))
    (place.root / "link").symlink_to(place.path)
    again = ToolFolder(place.root / "link", "project", trusted=True)
    loaded = asyncio.run(load_tools([place.folder(), again], Api(place.root)))
    assert (names(loaded), loaded.problems) == (["greet"], ())


# ---- two of one name ----------------------------------------------------------------------------------------------


def test_of_two_tools_with_one_name_the_persons_own_counts(tmp_path: Path) -> None:
    user, project = Place(tmp_path, "user"), Place(tmp_path, "project")
    mine, theirs = user.write("mine.py", greeting("greet", "mine")), project.write("a.py", greeting("greet", "theirs"))
    loaded = asyncio.run(load_tools([project.folder(), user.folder()], Api(tmp_path)))
    assert said(loaded, "greet") == "mine"
    assert problems(loaded) == [
        f"{theirs}:4: tool 'greet' is ignored: 'greet' is already a tool in {mine}:4; your own tools have "
        "priority over tools of the repository"
    ]


def test_in_one_folder_the_first_by_file_name_counts(place: Place) -> None:
    one, two = place.write("a.py", greeting("greet", "one")), place.write("b.py", greeting("greet", "two"))
    loaded = place.loaded()
    assert said(loaded, "greet") == "one"
    assert problems(loaded) == [f"{two}:4: tool 'greet' is ignored: 'greet' is already a tool in {one}:4"]


def test_an_alias_is_a_name_too(place: Place) -> None:
    place.write("a.py", greeting("greet").replace("@tool", "@tool(aliases=['hello'])"))
    place.write("b.py", greeting("hello"))
    place.write("c.py", greeting("other"))
    loaded = place.loaded()
    assert names(loaded) == ["greet", "other"]
    assert "'hello' is already a tool in" in loaded.problems[0].text
    Toolbox(*loaded.tools)


def test_a_name_that_is_taken_is_left_to_its_owner(place: Place) -> None:
    place.write("a.py", greeting("Bash"))
    loaded = place.loaded(taken=["Bash", "resolve"])
    assert loaded.tools == ()
    assert loaded.problems[0].text == "tool 'Bash' is ignored: 'Bash' is the name of a tool that already exists"


# ---- trust --------------------------------------------------------------------------------------------------------

_WATCHED: list[tuple[str, str]] = []
_WATCHING = threading.Event()


def _watch(event: str, arguments: tuple[object, ...]) -> None:
    if _WATCHING.is_set() and event in ("open", "compile", "exec", "import"):
        _WATCHED.append((event, str(arguments)))


def test_of_a_folder_without_trust_no_file_is_even_opened(place: Place) -> None:
    file = place.write("secret_name.py", "raise SystemExit\n")
    place.write("_secret_name.py", "raise SystemExit\n")
    sys.addaudithook(_watch)  # for good: there is no way to take it back
    _WATCHED.clear()
    _WATCHING.set()
    loaded = asyncio.run(load_tools([place.folder(trusted=False)], Api(place.root)))
    _WATCHING.clear()
    assert [each for each in _WATCHED if "secret_name" in each[1]] == []
    assert loaded.skipped == (
        Problem(
            str(place.path), None, "not trusted, so 2 files of tools did not run: see callgate trust show", "project"
        ),
    )
    assert (loaded.tools, loaded.problems) == ((), ())
    _WATCHING.set()
    asyncio.run(load_tools([place.folder()], Api(place.root)))
    _WATCHING.clear()
    assert {each[0] for each in _WATCHED if file in each[1]} >= {"open", "compile"}


def test_only_the_contents_that_were_trusted_run(place: Place) -> None:
    shared, good = "x = 1\n", greeting("good")
    place.write("_shared.py", shared)
    place.write("good.py", good)
    new = place.write("new.py", greeting("new"))
    user = place.write("user.py", "from ._other import x\n" + greeting("user"))
    place.write("_other.py", "x = 2\n")
    known = [hashlib.sha256(text.encode()).hexdigest() for text in (shared, good, Path(user).read_text())]
    loaded = asyncio.run(load_tools([place.folder(contents=known)], Api(place.root)))
    assert names(loaded) == ["good"]
    assert {(each.file, each.text) for each in loaded.skipped} == {
        (new, "changed since it was trusted, so it did not run"),
        (str(place.path / "_other.py"), "changed since it was trusted, so it did not run"),
    }
    assert loaded.problems[0].text.startswith("ModuleNotFoundError: No module named '._other'")


# ---- what is left as it was ---------------------------------------------------------------------------------------


def test_nothing_is_written_beside_the_files_and_no_bytecode_is_read(place: Place) -> None:
    place.write("a.py", "from ._shared import x\n" + greeting("greet"))
    place.write("_shared.py", "x = 1\n")
    loaded = place.loaded()
    assert names(loaded) == ["greet"]
    assert sorted(os.listdir(place.path)) == ["_shared.py", "a.py"]


def test_the_import_system_is_left_as_it_was_but_for_private_names(place: Place) -> None:
    place.write("a.py", "import sys\nsys.path.insert(0, '/nowhere')\nsys.path.append('x')\n" + greeting("greet"))
    place.write("b.py", "import sys\nsys.path.clear()\nraise ValueError\n")
    place.write("c.py", "from ._shared import x\n" + greeting("other"))
    place.write("_shared.py", "x = 1\n")
    place.loaded()
    state = (list(sys.path), list(sys.meta_path), list(sys.path_hooks), set(sys.modules) - private_modules())
    paths, finders = sys.path, set(sys.path_importer_cache)
    place.loaded()
    assert (list(sys.path), list(sys.meta_path), list(sys.path_hooks)) == state[:3]
    assert sys.path is paths
    assert set(sys.modules) - private_modules() == state[3]
    assert all("callgate_custom_" in each for each in set(sys.path_importer_cache) - finders)


def test_nothing_runs_on_the_thread_of_the_loop(place: Place) -> None:
    place.write(
        "where.py",
        """
        import threading
        at_import = threading.get_ident()
        def tools(api):
            in_factory = threading.get_ident()
            def where() -> list[int]:
                return [at_import, in_factory]
            return where
        """,
    )
    place.write("later.py", "import threading\nasync def tools(api):\n    me = threading.get_ident()\n"
                "    def later() -> int:\n        return me\n    return later\n")  # fmt: skip
    loaded = place.loaded()
    here = str(threading.get_ident())
    assert here not in said(loaded, "where")
    assert said(loaded, "later") != here


# ---- files beside -------------------------------------------------------------------------------------------------


def test_files_that_begin_with_an_underscore_can_be_imported(place: Place) -> None:
    place.write("a.py", "from ._one import one\nfrom . import _two\n" + greeting("greet").replace("'hello'", "one()"))
    place.write("_one.py", "def one():\n    from ._two import TWO\n    return TWO\n")
    place.write("_two.py", "TWO = 'two'\n")
    loaded = place.loaded()
    assert loaded.problems == ()
    assert said(loaded, "greet") == "two"


def test_each_file_has_its_own_copy_of_what_is_beside_it(place: Place) -> None:
    for name in ("a", "b"):
        text = f"from . import _count\n_count.n += 1\nn = _count.n\n{greeting(name)}".replace("'hello'", "str(n)")
        place.write(f"{name}.py", text)
    place.write("_count.py", "n = 0\n")
    loaded = place.loaded()
    assert [said(loaded, "a"), said(loaded, "b")] == ["1", "1"]


@pytest.mark.parametrize(
    ("shared", "said"),
    [
        pytest.param("x = (\n", "SyntaxError: '(' was never closed (_shared.py, line 1)", id="syntax"),
        pytest.param("x = 1\ny = 1 / 0\n", "ZeroDivisionError: division by zero (in _shared.py, line 2)", id="raises"),
    ],
)
def test_a_fault_in_a_file_beside_names_both_places(place: Place, shared: str, said: str) -> None:
    file = place.write("a.py", "import os\nfrom ._shared import x\n" + greeting("greet"))
    place.write("_shared.py", shared)
    assert problems(place.loaded()) == [f"{file}:2: {said}"]


def test_annotations_and_dataclasses_find_their_module(place: Place) -> None:
    place.write(
        "typed.py",
        """
        from __future__ import annotations
        from dataclasses import dataclass
        from typing import ClassVar
        from callgate import tool

        @dataclass
        class Spot:
            limit: ClassVar[int] = 3
            x: int
            y: int = 0

        @tool
        def spot(at: Spot) -> int:
            return at.x + at.y
        """,
    )
    loaded = place.loaded()
    assert loaded.problems == ()
    (found,) = loaded.tools
    assert asyncio.run(found.run(found.read('{"at": {"x": 2}}').arguments, FakeRun())).text == "2"  # pyright: ignore


def test_a_tool_stages_into_the_call_that_runs_it(place: Place) -> None:
    place.write(
        "stage.py",
        """
        def tools(api):
            def stage() -> str:
                return api.push_pending_action(label="l", apply=lambda reason, extra: None)
            async def stage_later() -> str:
                return api.push_pending_action(label="l", apply=lambda reason, extra: None, source_tool_name="Read")
            return [stage, stage_later]
        """,
    )
    store = Noting()
    loaded = place.loaded()
    for name in ("stage", "stage_later"):
        with serving(name, FakeRun(), store):
            said(loaded, name)
    assert [(each.tool, each.call_id, each.source_tool_name) for each in store.pushed] == [
        ("stage", "call-1", "custom_tool"),
        ("stage_later", "call-1", "Read"),
    ]
