"""Sequences of the terminal at a card: keys in parts, keys with Alt, and answers of the terminal are no answers of the
user, and are not typed."""

from pathlib import Path

import pytest

from callgate.tui.screen import without_reports
from tests.rows import rows
from tests.tui.test_typing_at_cards import KINDS, LONG, _card

READS: tuple[tuple[str, tuple[tuple[str, float], ...], str], ...] = (
    # what the row shows, (bytes of one read, pause after them) ..., the text of the input line
    ("an arrow in two parts", (("\x1b", 0.2), ("[C", LONG)), ""),
    ("an arrow in three parts", (("\x1b", 0.1), ("[", 0.1), ("C", LONG)), ""),
    ("a paste whose mark comes in parts", (("\x1b", 0.2), ("[200~yes\x1b[201~", LONG)), "yes"),
    ("a paste that is cut in its mark", (("\x1b[20", 0.2), ("0~yes\x1b[201~", LONG)), "yes"),
    ("a paste that is cut in its text", (("\x1b[200~y", 3.0), ("es\x1b[201~", LONG)), "yes"),
    ("a paste that is cut at its end", (("\x1b[200~yes\x1b[20", 3.0), ("1~", LONG)), "yes"),
    ("a word to the left", (("\x1bb", LONG),), ""),
    ("Alt and a key of the card", (("\x1by", LONG),), ""),
    ("Alt and Enter", (("\x1b\r", LONG),), "\n"),
    ("the background colour", (("\x1b]11;rgb:1e1e/1e1e/1e1e\x07", LONG),), ""),
    ("the background colour, with the other end", (("\x1b]11;rgb:1e1e/1e1e/1e1e\x1b\\", LONG),), ""),
    ("the name of the terminal", (("\x1bP>|xterm(390)\x1b\\", LONG),), ""),
    ("what the terminal can do", (("\x1b[?62;22c", LONG),), ""),
    ("the place of the cursor", (("\x1b[24;80R", LONG),), ""),
    ("the window has the focus", (("\x1b[I", LONG),), ""),
    ("the window has lost the focus", (("\x1b[O", LONG),), ""),
    ("a click", (("\x1b[<0;10;10M", LONG),), ""),
    ("a key in the encoding of kitty", (("\x1b[121;5u", LONG),), ""),
    ("a report between a letter and its word", (("y", 0.1), ("\x1b[I", 0.1), ("es", LONG)), "yes"),
)


@pytest.mark.spec("TUI-4")
@pytest.mark.parametrize("kind", ["permission", "question with options", "question of a server"])
async def test_no_sequence_answers_a_card_or_is_typed(kind: str, tmp_path: Path) -> None:
    assert kind in KINDS
    for row, reads, text in READS:
        async with _card(kind, tmp_path) as (person, _):
            for data, pause in reads:
                await person.read(data, pause)
            assert (person.text, person.answers) == (text, []), row


@rows(
    "data, kept",
    [
        ("plain", "plain"),
        ("\x1b", "\x1b"),
        ("\x1b[A\x1b[1;5C\x1bOP\x1b[3~", "\x1b[A\x1b[1;5C\x1bOP\x1b[3~"),
        ("\x1b[13;2u", "\x1b[13;2u"),
        ("\x1b[200~a\x1b[201~", "\x1b[200~a\x1b[201~"),
        ("\x1b[200~a\x1b[31mb\x1b[201~", "\x1b[200~ab\x1b[201~"),
        ("\x1b[Z\x1bb\x1b\r", "\x1b[Z\x1bb\x1b\r"),
        ("a\x1b]10;rgb:0/0/0\x07b", "ab"),
        ("a\x1b]10;rgb:0/0", "a\x1b]10;rgb:0/0"),
        ("\x1b[>0;276;0c\x1b[?1;2c", ""),
    ],
)
def test_keys_are_kept_and_reports_are_removed(data: str, kept: str) -> None:
    assert without_reports(data) == kept
