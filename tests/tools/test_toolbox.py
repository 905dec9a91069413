"""Boxes of tools: names, aliases, close names, and wrappers that look inside each time."""

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callgate.core.capabilities import facts_of
from callgate.core.ports import Target, Tool, ToolSource, Unknown
from callgate.tools.tool import tool
from callgate.tools.tool_names import close_names, pieces_of
from callgate.tools.toolbox import Filtered, Merged, Named, Toolbox
from callgate.words.changes import ChangeSet
from callgate.words.errors import ToolDefinitionError
from tests.rows import rows
from tests.tools.fake_run import FakeRun


def named(name: str, *aliases: str, **options: Any) -> Tool:
    return tool(lambda: name, name=name, aliases=aliases, **options)


class Changing:
    """A box whose tools come and go, as an MCP server's do."""

    def __init__(self, *tools: Tool) -> None:
        self.now: Sequence[Tool] = tools

    def tools(self) -> Sequence[Tool]:
        return self.now

    def resolve(self, name: str, raw: Any) -> Target | Unknown:
        return Toolbox(*self.now).resolve(name, raw)


def names(box: ToolSource) -> list[str]:
    return [each.spec.name for each in box.tools()]


def found(box: ToolSource, name: str) -> str | None:
    target = box.resolve(name, "{}")
    return target.tool.spec.name if isinstance(target, Target) else None


def close(box: ToolSource, name: str) -> tuple[str, ...]:
    target = box.resolve(name, "{}")
    assert isinstance(target, Unknown)
    return tuple(target.close)


def what_it_says(box: ToolSource, name: str) -> str:
    target = box.resolve(name, "{}")
    assert isinstance(target, Target)
    return asyncio.run(target.tool.run({}, FakeRun())).text  # pyright: ignore


BOX = Toolbox(named("read_file", "Read", "cat"), named("write_file"), named("Bash", "shell"))


def test_tools_keep_their_order_and_are_found_by_name_and_alias() -> None:
    box: ToolSource = BOX
    assert names(box) == ["read_file", "write_file", "Bash"]
    assert box.resolve("Bash", '{"x": 1}') == Target(box.tools()[2], '{"x": 1}')
    assert [found(box, each) for each in ("read_file", "Read", "cat", "shell")] == [
        "read_file",
        "read_file",
        "read_file",
        "Bash",
    ]


def test_a_plain_function_becomes_a_tool() -> None:
    def greet(name: str) -> str:
        """Say hello."""
        return name

    (made,) = Toolbox(greet).tools()
    assert (made.spec.name, made.spec.description) == ("greet", "Say hello.")


@rows(
    ("first", "second"),
    [
        (named("one"), named("one")),
        (named("one"), named("two", "one")),
        (named("one", "x"), named("two", "x")),
        (named("one", "two"), named("two")),
    ],
)
def test_two_tools_never_share_a_name(first: Tool, second: Tool) -> None:
    with pytest.raises(ToolDefinitionError) as refused:
        Toolbox(first, second)
    assert f"{first.spec.name!r}" in str(refused.value)
    assert f"{second.spec.name!r}" in str(refused.value)
    with pytest.raises(ToolDefinitionError):
        Merged(Toolbox(first), Toolbox(second))


@pytest.mark.spec("EXE-9")
@rows(
    ("asked", "nearest"),
    [
        ("ReadFile", "read_file"),
        ("read-file", "read_file"),
        ("raed_file", "read_file"),
        ("bash", "Bash"),
        ("functions.Bash", "Bash"),
        ("shel", "Bash"),
        ("writefile_tool", "write_file"),
    ],
)
def test_an_unknown_name_gets_the_nearest_first(asked: str, nearest: str) -> None:
    assert close(BOX, asked)[0] == nearest


@pytest.mark.spec("EXE-9")
def test_at_most_three_close_names_and_none_that_are_far() -> None:
    box = Toolbox(*(named(f"file_{each}") for each in range(9)))
    assert len(close(box, "file")) == 3
    assert close(BOX, "zzzz") == ()
    assert close(BOX, "") == ()
    assert close(Toolbox(), "x") == ()


@given(st.text(st.characters()) | st.text(min_size=1000).map(lambda text: text * 100))
def test_no_name_makes_a_box_raise(name: str) -> None:
    for box in (BOX, Filtered(BOX, ["Bash"]), Merged(BOX)):
        box.resolve(name, "{}")


def test_filtered_keeps_by_name_or_by_function() -> None:
    box = Filtered(BOX, {"Bash", "read_file", "not there"})
    assert names(box) == ["read_file", "Bash"]
    assert found(box, "cat") == "read_file"
    assert found(box, "write_file") is None
    assert "write_file" not in close(box, "write_file")
    assert names(Filtered(BOX, lambda each: "file" in each.spec.name)) == ["read_file", "write_file"]
    assert names(Filtered(BOX, lambda each: 1 / 0 > 0)) == []


def test_a_tool_under_another_name_is_found_by_that_alone() -> None:
    box = Toolbox(Named(BOX.tools()[2], "run", ["sh"]), named("Bash"))
    assert names(box) == ["run", "Bash"]
    assert (found(box, "sh"), found(box, "shell")) == ("run", None)
    assert what_it_says(box, "run") == "Bash"
    with pytest.raises(ToolDefinitionError, match="is not a valid tool name"):
        Named(BOX.tools()[2], "not a name")


def test_merged_looks_for_names_before_aliases_and_the_first_box_wins() -> None:
    first, second = Changing(named("a", "x")), Changing(named("b"))
    box = Merged(first, second)
    second.now = (tool(lambda: "second", name="a"), named("x"))
    assert names(box) == ["a", "x"]
    assert what_it_says(box, "a") == "a"
    assert what_it_says(box, "x") == "x"
    assert close(box, "aaa") == ()


def test_a_wrapped_tool_is_the_same_in_everything_but_its_name() -> None:
    inner = tool(
        lambda n: n,  # pyright: ignore
        name="t",
        effects="none",
        search_hint="hint",
        preview=lambda n: ChangeSet("x", ()),  # pyright: ignore
    )
    outer = Named(Named(inner, "u"), "p-u")
    assert outer.spec.name == "p-u"
    assert outer.spec.parameters is inner.spec.parameters
    assert outer.traits({"n": 1}) is inner.traits({"n": 1})
    assert outer.read('{"n": 1}') == inner.read('{"n": 1}')
    assert outer.previews
    assert facts_of(outer).search_hint == "hint"
    assert asyncio.run(outer.preview({"n": 1}, FakeRun())).tool == "p-u"  # pyright: ignore


def test_the_nearest_of_thousands_of_names_is_found() -> None:
    names = [f"mcp__server{n % 50}__{verb}_thing_{n}" for n in range(2_000) for verb in ("create", "delete")]
    known = [*((name, ()) for name in names), ("mcp__github__create_issue", ("open_issue",))]
    assert close_names("mcp__github__creat_isue", known, 1) == ("mcp__github__create_issue",)
    assert close_names("OpenIsue", known, 1) == ("mcp__github__create_issue",)


@pytest.mark.parametrize("wrong", ["mcp__hub7__creat_thing_4207", "mcp_hub7_create_thing_4207", "hub7creatething4207"])
def test_the_nearest_of_ten_thousand_names_is_found_by_a_few_of_its_pieces(wrong: str) -> None:
    names = [f"mcp__hub{n % 50}__{verb}_thing_{n}" for n in range(5_000) for verb in ("create", "delete")]
    assert close_names(wrong, ((name, ()) for name in names), 1) == ("mcp__hub7__create_thing_4207",)


def test_the_pieces_that_are_looked_for_are_fewer_the_more_names_there_are() -> None:
    wanted = "abcdefghijklmnopqrstuvwxyz"
    assert [len(pieces_of(wanted, many)) for many in (100, 3_000, 10_000, 100_000)] == [26, 26, 9, 7]


def test_of_nested_boxes_the_outermost_alone_looks_for_close_names() -> None:
    reads: list[str] = []

    class Watched(Named):
        def __getattribute__(self, name: str) -> Any:
            if name == "aliases":
                reads.append(name)
            return super().__getattribute__(name)

    box = Merged(Merged(Toolbox(Watched(named("other"), "deploy")), Toolbox(named("a"))), Toolbox(named("b")))
    reads.clear()
    found = box.resolve("deplyo", {})
    assert reads == []
    assert found == Unknown("deplyo", ("deploy",))
    assert reads == ["aliases"]
