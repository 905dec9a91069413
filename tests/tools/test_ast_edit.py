"""AstEdit as a model calls it: what it reads, what is staged, and what is told when something is off."""

import asyncio
from collections.abc import Mapping
from functools import partial
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from callgate.changes.diff import summary, unified
from callgate.core.ports import Target
from callgate.host.local import LocalHost
from callgate.tools.builtin.ast_edit import ast_edit
from callgate.tools.builtin.ast_grep import ast_grep
from callgate.tools.staging import UNAVAILABLE, PendingAction, serving
from callgate.tools.structural.scan import rewrite
from callgate.tools.structural.scan_types import Op, ScanLimits
from callgate.tools.toolbox import Toolbox
from callgate.words.calls import Accepted, Rejected, Result
from callgate.words.changes import ChangeSet
from callgate.words.errors import ToolFailure
from callgate.words.traits import reads
from tests.tools.fake_run import FakeRun
from tests.tools.structural import engine
from tests.tools.structural.samples import SAMPLES, Sample

pytest.importorskip("ast_grep_py", reason="callgate[edit] is not installed")

LOG = {"pattern": "log($A)", "rewrite": "note($A)"}
SIZE = {"pattern": "size($A)", "rewrite": "len($A)"}


class Stack:
    """A PendingStore that only keeps what is pushed."""

    def __init__(self) -> None:
        self.pushed: list[PendingAction] = []

    def push(self, action: PendingAction) -> str:
        self.pushed.append(action)
        return f"pending-action:{action.source_tool_name}:{len(self.pushed)}"


class Workspace:
    """A folder of files, and one call of AstEdit after the other in it."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.stack = Stack()
        self.run = FakeRun(host=LocalHost(root))

    def write(self, files: Mapping[str, str | bytes]) -> None:
        for name, content in files.items():
            path = self.root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content if isinstance(content, bytes) else content.encode())

    @property
    def contents(self) -> dict[str, bytes]:
        return engine.contents(self.root)

    def call(self, *ops: Mapping[str, str], **arguments: Any) -> Result:
        made = ast_edit()
        read = made.read({"ops": list(ops), **arguments})
        assert isinstance(read, Accepted)

        async def main() -> Result:
            with serving("AstEdit", self.run, self.stack):
                return await made.run(read.arguments, self.run)

        return asyncio.run(main())

    @property
    def staged(self) -> ChangeSet:
        (action,) = self.stack.pushed
        assert isinstance(action.act, ChangeSet)
        return action.act

    def apply(self) -> None:
        asyncio.run(LocalHost(self.root).apply(self.staged))


@pytest.fixture
def work(tmp_path: Path) -> Workspace:
    return Workspace(tmp_path)


@pytest.mark.spec("AST-1")
def test_the_preview_shows_each_file_with_its_matches_before_and_after_and_the_counts(work: Workspace) -> None:
    work.write({"a.py": "log(1)\nx = log(2)\n", "b/c.py": "def f():\n    log(\n        3,\n    )\n", "d.py": "pass\n"})
    result = work.call({"pattern": "log($$$A)", "rewrite": "note($$$A)"})
    assert result.text.splitlines() == [
        "a.py: 2 replacements",
        "  1:1: log(1) → note(1)",
        "  2:5: log(2) → note(2)",
        "b/c.py: 1 replacement",
        "  2:5:",
        "    - log(",
        "    -         3,",
        "    -     )",
        "    + note(3,)",
        "3 replacements in 2 files; 3 files read.",
        "No file is written yet: 2 files, 3 replacements, +3 −5",
    ]
    assert not result.is_error
    assert result.details == {
        "replacements": 3,
        "files": 3,
        "files_changed": 2,
        "overlaps": 0,
        "skipped": {},
        "cuts": [],
    }


@pytest.mark.spec("AST-1")
def test_people_are_shown_the_diff_of_all_that_is_staged(work: Workspace) -> None:
    work.write({f"f{n:03}.py": "log(1)\n" for n in range(150)})
    (shown,) = work.call(LOG).display
    assert (shown.kind, shown.body) == ("diff", unified(work.staged))
    assert shown.title == f"log($A) → note($A): {summary(work.staged)}"


def test_nothing_is_written_by_the_call(work: Workspace) -> None:
    work.write({"a.py": "log(1)\r\nlog(2)", "b.js": "\ufefflog(1)\n", "c.py": "def f(:\n", "d.txt": "log(1)\n"})
    before = work.contents
    work.call(LOG)
    assert work.contents == before
    assert len(work.staged.files) == 2


@pytest.mark.spec("AST-1")
def test_code_that_is_removed_is_shown_without_anything_after_it(work: Workspace) -> None:
    work.write({"a.py": "x = 1\nlog(1)\n"})
    lines = work.call({"pattern": "log($A)", "rewrite": ""}).text.splitlines()
    assert lines[:4] == [
        "a.py: 1 replacement",
        "  2:1:",
        "    - log(1)",
        "1 replacement in 1 file; 1 file read.",
    ]


@pytest.mark.spec("AST-1")
def test_long_replacements_are_shown_by_their_first_lines_and_characters(work: Workspace) -> None:
    work.write({"lines.py": "log([\n" + "    1,\n" * 20 + "])\n", "wide.py": f"log({'x' * 300})\n"})
    lines = work.call(LOG).text.splitlines()
    assert lines[2:4] == ["    - log([", "    -     1,"]
    assert lines[8] == "    - … 16 more lines"
    assert lines[15] == "    + … 16 more lines"
    (wide,) = [line for line in lines if line.startswith("  1:1: log(x")]
    assert wide == f"  1:1: log({'x' * 196}… (105 more characters) → note({'x' * 195}… (106 more characters)"


@pytest.mark.spec("AST-1")
def test_of_a_replacement_that_was_cut_it_is_not_said_how_many_lines_are_left_exactly(work: Workspace) -> None:
    work.write({"lines.py": "log([\n" + "    1,\n" * 1000 + "])\n"})
    assert "    - … at least 280 more lines" in work.call(LOG).text.splitlines()


@pytest.mark.spec("AST-1")
def test_what_is_not_shown_of_many_replacements_is_counted_by_file(work: Workspace) -> None:
    work.write({f"f{n:02}.py": "log(1)\n" * 25 for n in range(40)})
    result = work.call(LOG)
    lines = result.text.splitlines()
    assert sum(" → " in line for line in lines) == 100
    assert lines.count("  … 5 more") == 5
    named = ", ".join(f"f{n:02}.py (25)" for n in range(5, 25))
    assert f"Not shown, 875 replacements: {named} and 15 more files" in lines
    assert result.details["replacements"] == work.staged.count == 1000
    assert len(work.staged.files) == 40


@pytest.mark.spec("AST-1")
def test_the_preview_stays_within_what_a_model_is_given_to_read_however_long_the_lines_are(work: Workspace) -> None:
    work.write({f"f{n:02}.py": f"log('{'x' * 1000}')\n" * 15 for n in range(30)})
    text = work.call(LOG).text
    assert len(text) < 20_000
    assert "Not shown, " in text
    assert len(work.staged.files) == 30


@pytest.mark.spec("AST-1")
def test_what_was_left_out_is_named_with_the_reason(work: Workspace) -> None:
    work.write(
        {
            ".gitignore": "build/\nskip*.py\n",
            "build/a.py": "log(1)\n",
            "node_modules/b.js": "log(1)\n",
            "bad.py": "log(1)\ndef f(:\n",
            "big.py": "log(1)\n" * 200_000,
            "latin.py": b"log('\xe4')\n",
            "notes.xyz": "log(1)\n",
            "ok.py": "log(1)\n",
            **{f"skip{n}.py": "log(1)\n" for n in range(6)},
        }
    )
    (work.root / "link.py").symlink_to("ok.py")
    result = work.call(LOG, paths=[".", "notes.xyz"])
    assert [line for line in result.text.splitlines() if line.startswith("Omitted")] == [
        "Omitted, syntax errors: bad.py (does not parse as python, at line 2 column 7)",
        "Omitted, too large: big.py",
        "Omitted, not text: latin.py",
        "Omitted, of no known language; pass the language: notes.xyz",
        "Omitted, a symbolic link; pass the path of its target: link.py",
        "Omitted, ignored: build/, node_modules/, skip0.py, skip1.py, skip2.py and 3 more",
    ]
    counts = {"syntax": 1, "size": 1, "encoding": 1, "language": 1, "link": 1, "ignored": 8}
    assert result.details["skipped"] == counts
    assert list(work.staged.paths) == ["ok.py"]


@pytest.mark.spec("AST-1")
def test_where_a_limit_cut_it_off_is_said(work: Workspace) -> None:
    work.write({f"f{n}.py": "log(1)\nlog(2)\n" for n in range(5)})
    result = work.call(LOG, max_matches=5, max_files=4)
    assert result.text.splitlines()[-4:] == [
        "4 replacements in 2 files; 4 files read.",
        "1 file was not read, from f4.py on: pass fewer paths, or increase max_files.",
        "4 more replacements are not included, from f2.py on: call again after this change is applied, narrow "
        "the search by paths or glob, "
        "or increase max_matches.",
        "No file is written yet: 2 files, 4 replacements, +4 −4",
    ]
    assert result.details["cuts"] == [
        {"limit": "files", "at": "f4.py", "more": 1},
        {"limit": "matches", "at": "f2.py", "more": 4},
    ]
    assert list(work.staged.paths) == ["f0.py", "f1.py"]


@pytest.mark.spec("AST-1")
def test_a_limit_that_the_first_file_exceeds_leaves_nothing_to_stage_and_says_so(work: Workspace) -> None:
    work.write({"a.py": "log(1)\nlog(2)\n"})
    text = work.call(LOG, max_matches=1).text
    assert text.startswith("No match, so no change is staged; 1 file read.\n2 more replacements are not included")
    assert work.stack.pushed == []


@pytest.mark.spec("AST-2")
def test_overlaps_of_two_ops_are_reported_in_the_preview_and_their_file_is_not_staged(work: Workspace) -> None:
    work.write({"a.py": "x = log(size(1))\nlog(2)\n", "b.py": "log(size)\nsize(2)\n"})
    result = work.call(LOG, SIZE)
    assert result.text.splitlines() == [
        "b.py: 2 replacements",
        "  1:1: log(size) → note(size)",
        "  2:1: size(2) → len(2)",
        "2 replacements in 1 file; 2 files read.",
        "Overlap in a.py, 1:5 log(size(1)) (op 1) and 1:9 size(1) (op 2): "
        "no change is made in this file; try the ops one at a time.",
        "No file is written yet: 1 file, 2 replacements, +2 −2",
    ]
    assert result.details["overlaps"] == 1
    work.apply()
    assert work.contents == {"a.py": b"x = log(size(1))\nlog(2)\n", "b.py": b"note(size)\nlen(2)\n"}


@pytest.mark.spec("AST-2", "AST-5")
def test_of_nested_matches_the_outer_one_is_replaced_and_the_inner_one_reported(work: Workspace) -> None:
    work.write({"a.py": "log(log(1))\nlog(\n    log(2))\n"})
    text = work.call(LOG).text
    fate = "the second is inside the first, so only the first is replaced; call again after it is applied."
    assert f"Overlap in a.py, 1:1 log(log(1)) (op 1) and 1:5 log(1) (op 1): {fate}" in text
    assert f"Overlap in a.py, 2:1 log( … (op 1) and 3:5 log(2) (op 1): {fate}" in text
    staged = work.staged.files[0].after
    assert staged == engine.rewritten(work.root, LOG["pattern"], LOG["rewrite"])["a.py"]


@pytest.mark.spec("AST-2")
def test_of_many_overlaps_the_first_are_named_and_the_rest_counted(work: Workspace) -> None:
    work.write({"a.py": "log(log(1))\n" * 15, "b.py": "log(log(1))\n" * 10})
    lines = work.call(LOG).text.splitlines()
    assert sum(line.startswith("Overlap in ") for line in lines) == 20
    assert "… 5 more overlaps" in lines


@pytest.mark.spec("AST-3")
def test_what_is_staged_is_what_the_engine_made(work: Workspace) -> None:
    work.write({"a.py": "log(1)\r\nlog(2)", "b.js": "\ufefflog('ä')\n", "c.py": "log(size(1))\n"})
    ops = [Op(**LOG), Op(**SIZE)]
    made = asyncio.run(rewrite(work.root, ops, limits=ScanLimits()))
    result = work.call(LOG, SIZE)
    assert work.staged == made.changes
    (action,) = work.stack.pushed
    assert (action.label, action.source_tool_name) == ("log($A) → note($A) and 1 more", "AstEdit")
    assert (action.tool, action.call_id, action.details) == ("AstEdit", "call-1", result.details)


@pytest.mark.spec("AST-3")
def test_applying_writes_the_previewed_bytes_and_does_not_search_again(work: Workspace) -> None:
    work.write({"a.py": "log(1)\r\nlog(2)", "b.js": "\ufefflog('ä')\n"})
    work.call(LOG)
    work.write({"later.py": "log(3)\n"})
    work.apply()
    assert work.contents == {
        "a.py": b"note(1)\r\nnote(2)",
        "b.js": b"\xef\xbb\xbfnote('\xc3\xa4')\n",
        "later.py": b"log(3)\n",
    }


@pytest.mark.spec("AST-3")
def test_a_file_that_changed_since_the_preview_is_not_rewritten_anew(work: Workspace) -> None:
    work.write({"a.py": "log(1)\n", "b.py": "log(2)\n"})
    work.call(LOG)
    work.write({"b.py": "log(2)\nlog(3)\n"})
    with pytest.raises(ToolFailure, match=r"b\.py"):
        work.apply()
    assert work.contents == {"a.py": b"log(1)\n", "b.py": b"log(2)\nlog(3)\n"}


@pytest.mark.spec("AST-4")
def test_files_with_syntax_errors_are_skipped_whole_and_the_first_twenty_named(work: Workspace) -> None:
    work.write({f"bad{n:02}.py": "log(1)\ndef f(:\n" for n in range(25)} | {"good.py": "log(1)\n"})
    result = work.call(LOG)
    (line,) = [line for line in result.text.splitlines() if line.startswith("Omitted")]
    named = ", ".join(f"bad{n:02}.py (does not parse as python, at line 2 column 7)" for n in range(20))
    assert line == f"Omitted, syntax errors: {named} and 5 more"
    assert result.details["skipped"] == {"syntax": 25}
    assert list(work.staged.paths) == ["good.py"]


@pytest.mark.spec("AST-4")
def test_where_no_file_parses_nothing_is_staged(work: Workspace) -> None:
    work.write({"bad.py": "log(1)\ndef f(:\n"})
    assert work.call(LOG).text.splitlines() == [
        "No match, so no change is staged; 0 files read.",
        "Omitted, syntax errors: bad.py (does not parse as python, at line 2 column 7)",
    ]
    assert work.stack.pushed == []


CHOSEN = [sample for sample in SAMPLES if sample.matches]
FEW = ("css-plain", "javascript-nested", "python-block", "python-lines", "rust-plain")
"""The engine alone is compared for all samples in structural/test_parity.py."""


@pytest.mark.spec("AST-5")
@pytest.mark.parametrize(
    "sample",
    [pytest.param(each, id=each.id, marks=[] if each.id in FEW else [pytest.mark.slow]) for each in CHOSEN],
)
def test_what_is_applied_is_what_the_command_line_of_ast_grep_writes(work: Workspace, sample: Sample) -> None:
    work.write({f"a.{sample.ending}": sample.source, f"in/b.{sample.ending}": sample.source, "c.txt": sample.source})
    work.call({"pattern": sample.pattern, "rewrite": sample.rewrite})
    before = work.contents
    theirs = engine.rewritten(work.root, sample.pattern, sample.rewrite)
    work.write(before)
    work.apply()
    assert work.contents == theirs
    assert theirs != before


def test_where_nothing_matches_it_says_so_and_stages_nothing(work: Workspace) -> None:
    work.write({"a.py": "pass\n", "b.py": "pass\n"})
    result = work.call(LOG)
    assert result.text == "No match, so no change is staged; 2 files read."
    assert (result.is_error, result.display, result.details["replacements"]) == (False, (), 0)
    assert work.stack.pushed == []


def test_a_pattern_that_is_odd_and_matches_nothing_is_hinted_at(work: Workspace) -> None:
    work.write({"a.py": "x = 1\n"})
    text = work.call({"pattern": "def f(:", "rewrite": "x"}, language="python").text
    assert "The pattern 'def f(:' does not parse as python by itself" in text


def test_a_rewrite_that_changes_nothing_stages_nothing(work: Workspace) -> None:
    work.write({"a.py": "log(1)\n"})
    assert work.call({"pattern": "log($A)", "rewrite": "log($A)"}).text.startswith("No match, so no change")
    assert work.stack.pushed == []


@pytest.mark.parametrize(
    ("arguments", "changed"),
    [
        pytest.param({"paths": ["in"]}, "in/c.py", id="paths"),
        pytest.param({"glob": "*.js"}, "b.js", id="glob"),
        pytest.param({"language": "js"}, "b.js", id="language"),
        pytest.param({"paths": ["in", "a.py"], "glob": "/a*"}, "a.py", id="paths-and-glob"),
    ],
)
def test_paths_a_glob_and_a_language_narrow_it(work: Workspace, arguments: dict[str, Any], changed: str) -> None:
    work.write({"a.py": "log(1)\n", "b.js": "log(1)\n", "in/c.py": "log(1)\n"})
    work.call(LOG, **arguments)
    assert list(work.staged.paths) == [changed]


def test_a_name_with_a_line_end_in_it_cannot_pass_for_a_line_of_the_preview(work: Workspace) -> None:
    work.write({"a\nb.py": "log(1)\n", "c\nd.py": "def f(:\n"})
    lines = work.call(LOG).text.splitlines()
    assert lines[0] == '"a\\nb.py": 1 replacement'
    assert lines[3].startswith('Omitted, syntax errors: "c\\nd.py" (')


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        pytest.param({"language": "pyhton"}, "Unknown language 'pyhton', did you mean python?", id="language"),
        pytest.param({"ops": [{"pattern": " \n", "rewrite": "x"}]}, "The pattern is empty", id="blank"),
        pytest.param(
            {"ops": [LOG, {"pattern": "log($A)", "rewrite": "note($B)"}]},
            "$B in the rewrite 'note($B)' is not captured by the pattern, which captures $A.",
            id="metavariable",
        ),
        pytest.param({"paths": ["none"]}, "none cannot be read: No such file", id="path"),
        pytest.param({"paths": ["../.."]}, "../.. is outside the workspace", id="outside"),
        pytest.param({"glob": ""}, "The glob '' cannot match any file", id="glob"),
    ],
)
def test_what_cannot_be_done_is_refused_before_the_engine_sees_any_file(
    work: Workspace, arguments: dict[str, Any], says: str
) -> None:
    work.write({"a.py": "log(1)\n"})
    ops = arguments.pop("ops", [LOG])
    with pytest.raises(ToolFailure) as failure:
        work.call(*ops, **arguments)
    assert says in str(failure.value)
    assert work.run.said == []
    assert work.stack.pushed == []


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        pytest.param({"ops": []}, "$.ops: got 0 items, expected at least 1", id="no-ops"),
        pytest.param({"ops": [{"pattern": "x"}]}, "$.ops[0].rewrite: got nothing", id="no-rewrite"),
        pytest.param({"ops": [{**LOG, "flags": "i"}]}, "$.ops[0].flags", id="more"),
        pytest.param({"ops": [LOG], "max_matches": 0}, "$.max_matches", id="max-matches"),
        pytest.param({"ops": [LOG], "max_files": 10_001}, "$.max_files", id="max-files"),
    ],
)
def test_arguments_that_do_not_fit_are_rejected_by_name(arguments: dict[str, Any], says: str) -> None:
    read = ast_edit().read(arguments)
    assert isinstance(read, Rejected)
    assert says in "\n".join(read.errors)


def test_without_a_store_nothing_can_be_staged_and_it_says_what_is_needed(work: Workspace) -> None:
    work.write({"a.py": "log(1)\n"})
    made = ast_edit()
    with pytest.raises(ToolFailure) as failure:
        asyncio.run(made.run({"ops": [LOG]}, work.run))
    assert str(failure.value).startswith(UNAVAILABLE)
    assert "stages=True" in str(failure.value)


def test_a_call_that_is_cancelled_while_it_works_stages_nothing(work: Workspace) -> None:
    work.write({"a.py": "log(1)\n"})
    work.run.on_progress = partial(setattr, work.run, "cancelled", True)
    with pytest.raises(asyncio.CancelledError):
        work.call(LOG)
    assert work.run.said == [("", 1, 1)]
    assert work.stack.pushed == []


def test_a_call_says_how_far_it_is(work: Workspace) -> None:
    work.write({f"f{n:03}.py": "log(1)\n" for n in range(70)})
    work.call(LOG)
    assert work.run.said[-1] == ("", 70, 70)


def test_it_only_reads_and_only_stages() -> None:
    made = ast_edit()
    assert (made.spec.name, made.facts.stages, made.previews) == ("AstEdit", True, False)
    traits = made.traits({"ops": [LOG], "paths": ["src", "a.py"]})
    assert (traits.effects, traits.locks) == ("none", reads("src", "a.py"))
    assert made.traits({"ops": [LOG]}).locks == reads(".")


def test_both_structural_tools_answer_to_their_names_in_either_spelling() -> None:
    box = Toolbox(ast_grep(), ast_edit())
    for alias, name in {"ast_grep": "AstGrep", "ast_edit": "AstEdit"}.items():
        found = box.resolve(alias, {})
        assert isinstance(found, Target)
        assert found.tool.spec.name == name


def test_the_model_is_told_that_nothing_is_written_until_it_resolves() -> None:
    described = ast_edit().spec.description
    assert described == files("callgate.tools.builtin").joinpath("ast_edit.md").read_text(encoding="utf-8").strip()
    assert "Nothing is written" in described
    assert "`resolve`" in described
