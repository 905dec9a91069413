"""Scripts and styles in HTML are searched as ast-grep's command line searches them."""

from pathlib import Path

import pytest

from callgate.tools.structural.scan import rewrite, search
from callgate.tools.structural.scan_types import Op, ScanScope
from callgate.words.errors import ToolFailure
from tests.tools.structural import engine
from tests.tools.structural.test_search import write

PAGE = """<!DOCTYPE html>
<html>
  <head><title>ä log(0)</title>
    <style>a { color: red; }</style>
    <script>
      log(1)
      if (x) { log(
        2) }
    </script>
  </head>
  <body>
    <p>log(3)</p>
    <script lang="ts">const a: number = log(4);</script>
    <script lang="coffee">log 5</script>
    <script></script>
  </body>
</html>
"""


@pytest.mark.parametrize(
    ("pattern", "language"),
    [
        *(("log($A)", language) for language in (None, "javascript", "typescript", "css", "html")),
        *(("a { $$$A }", language) for language in (None, "css", "html")),
        *(("<p>$A</p>", language) for language in (None, "javascript", "html")),
    ],
)
async def test_what_is_found_in_a_page(tmp_path: Path, pattern: str, language: str | None) -> None:
    write(tmp_path, {"page.html": PAGE, "x.js": "log(9)\n"})
    found = await search(tmp_path, pattern, ScanScope(language=language))
    theirs = engine.matches(tmp_path, pattern, language)
    assert [(each.path, each.line - 1, each.column - 1, each.text) for each in found.matches] == [
        (each["file"], each["range"]["start"]["line"], each["range"]["start"]["column"], each["text"])
        for each in theirs
    ]


async def test_a_pattern_must_be_one_in_the_language_that_was_asked_for(tmp_path: Path) -> None:
    write(tmp_path, {"page.html": PAGE})
    with pytest.raises(ToolFailure, match="is invalid in javascript"):
        await search(tmp_path, "a { $$$A }", ScanScope(language="javascript"))


async def test_what_is_rewritten_in_a_page(tmp_path: Path) -> None:
    write(tmp_path, {"page.html": PAGE})
    made = await rewrite(tmp_path, [Op("log($A)", "note(\n  $A\n)")], ScanScope(["page.html"], "js"))
    (change,) = made.changes.files
    assert change.after == engine.rewritten(tmp_path, "log($A)", "note(\n  $A\n)", "js")["page.html"]


async def test_all_that_is_inside_a_page_is_rewritten_at_once(tmp_path: Path) -> None:
    write(tmp_path, {"page.html": PAGE})
    made = await rewrite(tmp_path, [Op("log($A)", "note($A)")])
    (change,) = made.changes.files
    assert made.changes.count == 3
    expected = PAGE
    for number in ("1", "4"):
        expected = expected.replace(f"log({number})", f"note({number})")
    assert change.after == expected.replace("log(\n        2)", "note(2)").encode()


async def test_a_script_that_does_not_parse_is_a_syntax_error_if_it_is_to_be_changed(tmp_path: Path) -> None:
    write(tmp_path, {"page.html": "<b>x</b><script>log(1); if (</script>"})
    made = await rewrite(tmp_path, [Op("log($A)", "note($A)")])
    assert (made.changes.files, made.skipped.counts) == ((), {"syntax": 1})
    made = await rewrite(tmp_path, [Op("<b>$A</b>", "<i>$A</i>")])
    assert made.changes.count == 1
