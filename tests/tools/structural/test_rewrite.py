"""Rewrites as change sets: counted, shown, held back where they are in each other's way."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callgate.host.local import LocalHost
from callgate.tools.structural.examination import ScanRequest, examine
from callgate.tools.structural.scan import rewrite
from callgate.tools.structural.scan_types import Cut, Match, Op, ScanLimits, language_of
from callgate.tools.structural.source_walk import SourceFile
from callgate.words.errors import ToolFailure
from tests.rows import rows
from tests.tools.structural.test_search import write

OP = Op("log($A)", "note($A)")


async def test_a_preview_shows_each_replacement_and_writes_nothing(tmp_path: Path) -> None:
    write(tmp_path, {"a.py": "log(1)\nx = log(2)\n", "b.py": "pass\n"})
    made = await rewrite(tmp_path, [OP])
    assert made.changes.label == "log($A) → note($A)"
    assert (made.changes.tool, made.changes.count) == ("AstEdit", 2)
    (change,) = made.changes.files
    assert (change.path, change.before, change.after) == (
        "a.py",
        b"log(1)\nx = log(2)\n",
        b"note(1)\nx = note(2)\n",
    )
    (file,) = made.rewritten
    assert file.count == 2
    assert file.matches[1] == Match("a.py", 2, 5, "log(2)", "note(2)")
    assert made.files == 2
    assert (tmp_path / "a.py").read_bytes() == b"log(1)\nx = log(2)\n"


async def test_what_was_shown_is_what_is_applied(tmp_path: Path) -> None:
    write(tmp_path, {"a.py": "log(1)\r\nlog(2)", "b.js": "\ufefflog(1)\n"})
    made = await rewrite(tmp_path, [OP])
    await LocalHost(tmp_path).apply(made.changes)
    assert (tmp_path / "a.py").read_bytes() == b"note(1)\r\nnote(2)"
    assert (tmp_path / "b.js").read_bytes() == b"\xef\xbb\xbfnote(1)\n"


async def test_files_with_syntax_errors_are_skipped_whole_and_named(tmp_path: Path) -> None:
    write(tmp_path, {f"bad{n:02}.py": "log(1)\ndef f(:\n" for n in range(25)} | {"good.py": "log(1)\n"})
    made = await rewrite(tmp_path, [OP])
    assert [change.path for change in made.changes.files] == ["good.py"]
    assert made.skipped.counts == {"syntax": 25}
    assert len(made.skipped.named) == 20
    assert made.skipped.named[0].reason == "does not parse as python, at line 2 column 7"


@rows(
    ("name", "text"),
    [
        ("a.py", "def f(:\n    log(1)\n"),
        ("b.py", "x = (log(1)\n"),
        ("c.js", "if (a { log(1) }"),
        ("d.js", "x. ; log(1)"),
        ("e.c", "int f() { return 1 }"),
        ("f.json", '{"a": [1, 2}'),
    ],
)
def test_what_a_parser_makes_up_is_a_syntax_error_too(tmp_path: Path, name: str, text: str) -> None:
    write(tmp_path, {name: text})
    language = language_of(name)
    assert language is not None
    looked = examine(ScanRequest(str(tmp_path), ScanLimits(), ops=(OP,)), SourceFile(name, language.name, 0))
    assert looked.skipped is not None
    assert looked.skipped.kind == "syntax"


@rows(
    ("name", "text"),
    [
        ("a.py", ""),
        ("b.js", "\n\n"),
        ("c.go", "package a\nvar x = 1"),
        ("d.html", "<script></script>"),
        ("e.sh", "cat <<E\nE\n"),
        ("f.md", "- a\n\n  b\n"),
        ("g.js", "a\nb\n;"),
        ("h.rb", "a\n"),
    ],
)
def test_what_is_empty_in_good_code_is_no_syntax_error(tmp_path: Path, name: str, text: str) -> None:
    write(tmp_path, {name: text})
    language = language_of(name)
    assert language is not None
    assert (
        examine(
            ScanRequest(str(tmp_path), ScanLimits(), ops=(Op("x1", "y"),)), SourceFile(name, language.name, 0)
        ).skipped
        is None
    )


async def test_overlaps_between_ops_are_found_at_once_and_hold_up_their_file_alone(tmp_path: Path) -> None:
    write(tmp_path, {"a.py": "log(size(1))\n", "b.py": "log(1)\nsize(2)\n"})
    made = await rewrite(tmp_path, [OP, Op("size($A)", "len($A)")])
    assert {change.path: change.after for change in made.changes.files} == {"b.py": b"note(1)\nlen(2)\n"}
    assert (made.changes.count, made.overlap_count) == (2, 1)
    (overlap,) = made.overlaps
    assert (overlap.path, overlap.held) == ("a.py", True)
    assert (overlap.first.text, overlap.first.op) == ("log(size(1))", 0)
    assert (overlap.second.text, overlap.second.op) == ("size(1)", 1)


async def test_two_ops_for_the_same_code_overlap(tmp_path: Path) -> None:
    write(tmp_path, {"a.py": "log(1)\n"})
    made = await rewrite(tmp_path, [OP, Op("log(1)", "one()")])
    assert (made.changes.files, made.overlap_count) == ((), 1)


async def test_of_nested_matches_of_one_op_the_outer_one_is_replaced(tmp_path: Path) -> None:
    write(tmp_path, {"a.py": "log(log(1))\nlog(2)\n"})
    made = await rewrite(tmp_path, [OP])
    assert [change.after for change in made.changes.files] == [b"note(log(1))\nnote(2)\n"]
    assert (made.changes.count, made.overlap_count, made.overlaps[0].held) == (2, 1, False)


async def test_replacements_beside_each_other_do_not_overlap(tmp_path: Path) -> None:
    write(tmp_path, {"a.js": "a;b;c;a\n"})
    made = await rewrite(tmp_path, [Op("a", "x"), Op("b", "")])
    assert [change.after for change in made.changes.files] == [b"x;;c;x\n"]


async def test_the_limit_cuts_between_files(tmp_path: Path) -> None:
    write(tmp_path, {f"f{n}.py": "log(1)\nlog(2)\n" for n in range(4)})
    made = await rewrite(tmp_path, [OP], limits=ScanLimits(matches=5, files=3))
    assert [change.path for change in made.changes.files] == ["f0.py", "f1.py"]
    assert made.changes.count == 4
    assert made.cuts == (Cut("files", "f3.py", 1), Cut("matches", "f2.py", 2))


async def test_the_limit_cuts_at_the_same_file_however_the_work_is_shared(tmp_path: Path) -> None:
    write(tmp_path, {f"f{n:03}.py": "log(1)\n" for n in range(300)})
    made = await rewrite(tmp_path, [OP], limits=ScanLimits(matches=100))
    assert [change.path for change in made.changes.files] == [f"f{n:03}.py" for n in range(100)]
    assert made.cuts == (Cut("matches", "f100.py", 200),)


@pytest.mark.parametrize(
    ("ops", "why"),
    [
        ([], "ops is empty"),
        ([Op(" ", "x")], "The pattern is empty"),
        ([Op("log($A)", "note($B)")], r"\$B in the rewrite 'note\(\$B\)' is not captured"),
    ],
)
async def test_ops_that_cannot_work_are_refused(tmp_path: Path, ops: list[Op], why: str) -> None:
    with pytest.raises(ToolFailure, match=why):
        await rewrite(tmp_path, ops)


async def test_a_long_label_is_cut(tmp_path: Path) -> None:
    made = await rewrite(tmp_path, [Op("f(\n  $A)", "g($A)"), Op("h", "i")])
    assert made.changes.label == "f( $A) → g($A) and 1 more"
    assert len((await rewrite(tmp_path, [Op("f" * 100, "g")])).changes.label) == 80


NAMES = st.sampled_from(["a", "b", "value", "ä"])
CALLS = st.recursive(
    NAMES | st.integers(0, 99).map(str),
    lambda inner: st.builds(
        lambda name, arguments: f"{name}({', '.join(arguments)})", NAMES, st.lists(inner, max_size=3)
    ),
    max_leaves=8,
)
BLOCKS = st.lists(CALLS, min_size=1, max_size=4)


def program(blocks: list[list[str]]) -> str:
    return "".join(f"if x{n}:\n" + "".join(f"    {call}\n" for call in block) for n, block in enumerate(blocks))


def examined(folder: Path, text: str, ops: tuple[Op, ...], **more: Any) -> Any:
    file = folder / "p.py"
    file.write_text(text, encoding="utf-8")
    return examine(ScanRequest(str(folder), ScanLimits(), ops=ops, **more), SourceFile("p.py", "python", 0))


OWN_REWRITES = ["$F($$$A)", "a($A)", "b($A, $B)", "if $C:\n    $$$B", "$F()", "value", "if $C: $$$B"]


@given(pattern=st.sampled_from(OWN_REWRITES), blocks=st.lists(BLOCKS, max_size=3))
def test_a_pattern_that_is_its_own_rewrite_changes_nothing(
    tmp_path_factory: pytest.TempPathFactory, pattern: str, blocks: list[list[str]]
) -> None:
    rewrite = pattern.replace("if $C: $$$B", "if $C:\n    $$$B")
    looked = examined(tmp_path_factory.getbasetemp(), program(blocks), (Op(pattern, rewrite),))
    assert (looked.skipped, looked.count, looked.before, looked.after) == (None, 0, None, None)


@given(blocks=st.lists(BLOCKS, min_size=1, max_size=3))
def test_replacements_put_back_give_the_file_as_it_was(
    tmp_path_factory: pytest.TempPathFactory, blocks: list[list[str]]
) -> None:
    folder, text = tmp_path_factory.getbasetemp(), program(blocks)
    there = examined(folder, text, (Op("a($$$A)", "renamed($$$A)"),))
    assert there.skipped is None
    if there.after is not None:
        assert there.before == text.encode()
        assert there.after.count(b"renamed(") == there.count
        assert there.after.replace(b"renamed(", b"a(") == text.encode()
