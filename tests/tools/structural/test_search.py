"""A pattern over many files."""

import asyncio
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from callgate.tools.structural.scan import search
from callgate.tools.structural.scan_types import Cut, ScanLimits, ScanScope
from callgate.words.errors import ToolFailure


def write(folder: Path, files: Mapping[str, str | bytes]) -> Path:
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return folder


async def test_matches_come_in_the_order_of_files_and_text(tmp_path: Path) -> None:
    write(tmp_path, {f"d{n % 7}/f{n}.py": "log(1)\nlog(2, x=3)\n" for n in range(100)})
    told: list[tuple[int, int]] = []
    found = await search(tmp_path, "log($$$A)", progress=lambda *, current, total: told.append((current, total)))
    assert (found.count, found.files, found.files_matched, found.cuts) == (200, 100, 100, ())
    order = [(match.path.split("/"), match.line) for match in found.matches]
    assert order == sorted(order)
    assert told[-1] == (100, 100)
    assert told == sorted(told)


async def test_limits_cut_it_off_and_say_how_much_is_left(tmp_path: Path) -> None:
    write(tmp_path, {f"f{n}.py": "log(1)\nlog(2)\nlog(3)\n" for n in range(5)})
    found = await search(tmp_path, "log($A)", limits=ScanLimits(files=4, matches=5))
    assert [(match.path, match.line) for match in found.matches] == [
        *[("f0.py", 1), ("f0.py", 2), ("f0.py", 3)],
        *[("f1.py", 1), ("f1.py", 2)],
    ]
    assert found.count == 12
    assert found.cuts == (Cut("files", "f4.py", 1), Cut("matches", "f1.py", 7))


async def test_what_cannot_be_searched_is_named(tmp_path: Path) -> None:
    write(
        tmp_path,
        {"ok.py": "log(1)\n", "big.py": "log(1)\n" * 100, "latin.py": b"log('\xe4')\n", "broken.py": "log(1) (\n"},
    )
    found = await search(tmp_path, "log($A)", limits=ScanLimits(file_bytes=500))
    assert {each.path: (each.kind, each.reason) for each in found.skipped.named} == {
        "big.py": ("size", "has more than 500 bytes"),
        "latin.py": ("encoding", "is not UTF-8, from byte 6 on"),
    }
    # As with the command line, a file with syntax errors is searched as far as it parses.
    assert {match.path for match in found.matches} == {"ok.py", "broken.py"}


async def test_the_first_twenty_of_each_kind_are_named_and_all_are_counted(tmp_path: Path) -> None:
    write(tmp_path, {f"f{n:02}.py": b"\xff" for n in range(25)} | {"g.py": "x" * 50})
    found = await search(tmp_path, "log($A)", limits=ScanLimits(file_bytes=10))
    assert found.skipped.counts == {"encoding": 25, "size": 1}
    assert len(found.skipped.named) == 21


async def test_a_long_match_is_shown_in_part(tmp_path: Path) -> None:
    write(tmp_path, {"f.py": f"log('{'x' * 100}')\n"})
    (match,) = (await search(tmp_path, "log($A)", limits=ScanLimits(characters=20))).matches
    assert match.text == "log('xxxxxxxxxxxxxxx… (87 more characters)"


async def test_a_pattern_is_tried_in_the_language_of_each_file(tmp_path: Path) -> None:
    write(tmp_path, {"a.py": "log(1)\n", "b.js": "log(1)\n", "c.json": '{"a": 1}', "d.txt": "log(1)"})
    found = await search(tmp_path, "log($A)")
    assert [match.path for match in found.matches] == ["a.py", "b.js"]
    found = await search(tmp_path, "log($A)", ScanScope(language="js"))
    assert [match.path for match in found.matches] == ["b.js"]


async def test_a_pattern_that_is_none_in_one_language_is_still_tried_in_others(tmp_path: Path) -> None:
    write(tmp_path, {"a.json": "[1]", "b.yml": '"a": 1\n'})
    found = await search(tmp_path, '"a": $V')
    assert [match.path for match in found.matches] == ["b.yml"]
    assert found.skipped.counts == {"pattern": 1}
    with pytest.raises(ToolFailure, match=r"is invalid in json\. Multiple AST nodes"):
        await search(tmp_path, '"a": $V', ScanScope(language="json"))


@pytest.mark.parametrize("pattern", ["", "  \n", "a; b", "$$$A"])
async def test_a_pattern_that_is_none_is_refused(tmp_path: Path, pattern: str) -> None:
    write(tmp_path, {"a.py": "log(1)\n"})
    with pytest.raises(ToolFailure, match="pattern"):
        await search(tmp_path, pattern)


async def test_a_pattern_that_does_not_parse_is_hinted_at_when_nothing_matches(tmp_path: Path) -> None:
    write(tmp_path, {"a.py": "log(1)\n"})
    assert "does not parse as python" in (await search(tmp_path, "foo(")).hints[0]
    assert (await search(tmp_path, "foo($$$A)")).hints == ()
    assert (await search(tmp_path, "log($A)")).hints == ()


async def test_an_unknown_language_is_refused_before_anything_is_walked(tmp_path: Path) -> None:
    with pytest.raises(ToolFailure, match="did you mean python"):
        await search(tmp_path / "nowhere", "x", ScanScope(language="pythn"))


async def test_an_empty_folder_is_no_failure(tmp_path: Path) -> None:
    found = await search(tmp_path, "log($A)")
    assert (found.count, found.files) == (0, 0)


async def test_search_leaves_the_engine_out_of_this_program(tmp_path: Path) -> None:
    write(tmp_path, {"a.py": "log(1)\n"})
    code = (
        "import sys, asyncio, callgate, callgate.tools\n"
        "from callgate.tools.structural import scan\n"
        f"found = asyncio.run(scan.search({str(tmp_path)!r}, 'log($A)'))\n"
        "assert found.count == 1\n"
        "assert 'ast_grep_py' not in sys.modules\n"
    )
    ran = await asyncio.to_thread(subprocess.run, [sys.executable, "-c", code], capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
