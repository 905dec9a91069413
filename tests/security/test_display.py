"""Every row of the corpus of texts that try to show something else than they are.

That keys pressed before a question are forgotten is a matter of the door that reads them, not of the text.
"""

import json
import re
from pathlib import Path
from typing import Any

from callgate.formats.display import excerpt, visible, visible_lines, visible_page
from tests.rows import rows

CORPUS = Path(__file__).parents[1] / "data" / "security" / "display.jsonl"
ROWS: list[dict[str, Any]] = [json.loads(line) for line in CORPUS.read_text(encoding="utf-8").splitlines()]

# Controls, then what has no width or turns the direction, tags, selectors of variants, blanks that look like nothing.
FORBIDDEN = re.compile(
    "[\x00-\x1f\x7f-\x9f\xa0\xad\u034f\u061c\u115f\u1160\u1680\u180b-\u180f\u2000-\u200f\u2028-\u202f\u205f-\u206f"
    "\u2800\u3000\u3164\ud800-\udfff\ue000-\uf8ff\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffc\U000e0000-\U0010ffff]"
)
SPELLED = re.compile(r"<U\+([0-9A-F]{4,6})>")


@rows("row", ROWS, ids=[row["id"] for row in ROWS])
def test_nothing_of_the_row_hides_or_is_lost(row: dict[str, Any]) -> None:
    text = row["text"]
    shown = visible(text)
    assert not FORBIDDEN.search(shown)
    assert SPELLED.sub(lambda found: chr(int(found[1], 16)), shown) == text
    assert shown.count("<U+") == len(FORBIDDEN.findall(text))
    lines = visible_lines(text)
    assert not FORBIDDEN.search(lines.replace("\n", ""))
    assert lines.count("\n") == text.count("\n")


@rows("row", ROWS, ids=[row["id"] for row in ROWS])
def test_what_has_no_room_is_counted(row: dict[str, Any]) -> None:
    text = row["text"]
    found = excerpt(text, lines=1, chars=5)
    first, *rest = text.split("\n")
    assert (f"{len(first) - 5:,} more character" in found) == (len(first) > 5)
    assert (f"{len(rest):,} more line" in found) == bool(rest)
    assert excerpt(text, lines=99, chars=99_999) == visible_lines(text)


@rows("row", [row for row in ROWS if row["id"] != "dis040"], ids=lambda row: row["id"])
def test_a_document_hides_nothing_either(row: dict[str, Any]) -> None:
    assert not FORBIDDEN.search(visible_page(row["text"]).replace("\n", ""))


@rows("blanks", [100, 400, 5_000])
def test_a_payload_cannot_be_pushed_out_of_the_window(blanks: int) -> None:
    assert visible(f"grep x{' ' * blanks}; env|curl") == f"grep x<{blanks} blanks>; env|curl"
    assert visible(f"a{chr(0x2003) * blanks}b") == f"a{'<U+2003>' * blanks}b"
    pushed = "ls" + "\n" * blanks + "pwn"
    assert excerpt(pushed, lines=10, chars=1_000).endswith(f"\n<{blanks - 9:,} more lines>")
