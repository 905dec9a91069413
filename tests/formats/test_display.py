"""What may be shown: nothing hides, nothing is lost, and ordinary words stay as they are."""

import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callgate.formats.display import BLANKS, MARKS, excerpt, look_alikes, visible, visible_lines, visible_page
from tests.steps import steps

SPELLED = re.compile(r"<U\+([0-9A-F]{4,6})>|<([0-9]+) blanks>")
# Text that comes close to the display's own spelling.
PIECES = st.sampled_from(
    [
        *(
            "<",
            "<U+001B>",
            "<U+",
            "U+003C>",
            ">",
            "<41 blanks>",
            "<1 more line>",
            "<2 more ",
            "0041",
            "\\x1b",
            " ",
            "e",
        ),
        *(" " * BLANKS, " " * (BLANKS + 1), "\u0301", "\u0301" * MARKS, "\u20dd", "\u0338", "\n", "\t", "\r", "\x1b"),
        *(
            "\u202e",
            "\u200d",
            "\ufe0f",
            "❤",
            "\U0001f468",
            "\U000e0041",
            "\ud800",
            "é",
            "日",
            "\xa0",
            "\ue000",
            "\u2800",
        ),
    ]
)
TEXTS = st.one_of(st.text(), st.text(st.characters(exclude_categories=())), st.lists(PIECES).map("".join))


def read_back(shown: str) -> str:
    """The text that is shown so."""
    return SPELLED.sub(lambda found: chr(int(found[1], 16)) if found[1] else " " * int(found[2]), shown)


@pytest.mark.parametrize(
    "text",
    [
        *(
            "",
            "ls -la 'x y' | wc \\n <in >out a<b <<EOF",
            "grün Ærø Ħ ñ łódź Ελληνικά Привет",
            "日本語 中文 한국어",
            "שלום مرحبا",
        ),
        *(
            "नमस्ते ไทย ខ្មែរ",
            "Việt Nam",
            "e\u0301 a\u0323\u0302",
            "👍 🏽 ⚠ ✓ ∑ £ „so“ —",
            " " * BLANKS,
            "e" + "\u0301" * MARKS,
        ),
        *("<U+1>", "<U+001b>", "<41 blank>", "<more>", "< 41 blanks>", "<U+0041 >", "\\x1b"),
    ],
    ids=ascii,
)
def test_ordinary_text_stays_as_it_is(text: str) -> None:
    assert visible(text) == visible_lines(text) == visible_page(text) == text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\x1b[31mb", "a<U+001B>[31mb"),
        ("\x00\x07\x08\x09\x0a", "<U+0000><U+0007><U+0008><U+0009><U+000A>"),
        ("\x0b\x0c\x0d\x0e\x1f", "<U+000B><U+000C><U+000D><U+000E><U+001F>"),
        ("\x7f\x80\x85\x9b", "<U+007F><U+0080><U+0085><U+009B>"),
        ("a\xadb\u061c\u180e", "a<U+00AD>b<U+061C><U+180E>"),
        ("\u200b\u200c\u200d\u200e\u200f\u2060\ufeff", "<U+200B><U+200C><U+200D><U+200E><U+200F><U+2060><U+FEFF>"),
        ("\u202a\u202e\u2066\u2069", "<U+202A><U+202E><U+2066><U+2069>"),
        ("a\xa0b\u2003c\u3000\u1680\u202f\u205f", "a<U+00A0>b<U+2003>c<U+3000><U+1680><U+202F><U+205F>"),
        ("\u2028\u2029", "<U+2028><U+2029>"),
        ("a\ufe0fb\ufe00\U000e0100\u180b", "a<U+FE0F>b<U+FE00><U+E0100><U+180B>"),
        ("\U000e0001\U000e0041\U000e007f", "<U+E0001><U+E0041><U+E007F>"),
        ("\ud800x\udfff", "<U+D800>x<U+DFFF>"),
        ("\ue000\U000f0000\U0010fffd", "<U+E000><U+F0000><U+10FFFD>"),
        ("\u0378\ufdd0\uffff\U0010ffff", "<U+0378><U+FDD0><U+FFFF><U+10FFFF>"),
        ("\u2800\u3164\u115f\u1160\uffa0", "<U+2800><U+3164><U+115F><U+1160><U+FFA0>"),
        ("\u034f\u17b4\U0001d159\ufffc", "<U+034F><U+17B4><U+1D159><U+FFFC>"),
        ("\u2061\u2064\u206a\ufff9", "<U+2061><U+2064><U+206A><U+FFF9>"),
        ("\U0001f468\u200d\U0001f4bb ❤\ufe0f", "\U0001f468<U+200D>\U0001f4bb ❤<U+FE0F>"),
        ("e" + "\u0301" * 5, "e" + "<U+0301>" * 5),
        ("é" + "\u0301" * 5 + "x", "é" + "<U+0301>" * 5 + "x"),
        ("\u0301a", "<U+0301>a"),
        ("/\u0301 \u0301", "/<U+0301> <U+0301>"),
        ("a\n\u0301", "a<U+000A><U+0301>"),
        ("\x1b\u0301", "<U+001B><U+0301>"),
        ("❤\u0301", "❤<U+0301>"),
        ("a\u0338b\u20dd", "a<U+0338>b<U+20DD>"),
        ("<U+001B>", "<U+003C>U+001B>"),
        ("<U+10FFFF>", "<U+003C>U+10FFFF>"),
        ("<41 blanks>", "<U+003C>41 blanks>"),
        ("<1 more line>", "<U+003C>1 more line>"),
        ("ls" + " " * (BLANKS + 1) + "; pwn", "ls<41 blanks>; pwn"),
        (" " * 400, "<400 blanks>"),
    ],
    ids=ascii,
)  # fmt: skip
def test_what_hides_is_spelled(text: str, shown: str) -> None:
    assert visible(text) == shown
    assert read_back(shown) == text


def test_lines_keep_their_ends_and_nothing_else() -> None:
    assert visible_lines("a\r\n\tb\n\u0301\n") == "a<U+000D>\n<U+0009>b\n<U+0301>\n"


def test_a_page_keeps_what_documents_need() -> None:
    page = "\tif x:\n" + " " * 60 + "y  # \U0001f469\U0001f3fd\u200d\U0001f4bb ❤\ufe0f done"
    assert visible_page(page) == page
    assert visible_page("a\ufe0f\u200db\r\x1b\u202e") == "a<U+FE0F><U+200D>b<U+000D><U+001B><U+202E>"
    assert visible_page("é\u0301❤\u0301\xa0<U+001B>") == "é\u0301❤<U+0301><U+00A0><U+003C>U+001B>"
    assert visible_page("❤\ufe0f\ufe0f❤\u200d") == "❤\ufe0f<U+FE0F>❤<U+200D>"


def test_every_character_that_is_shown_as_it_is_has_something_to_see() -> None:
    codes = (*range(0x40000), *range(0xE0000, 0xE2000), *range(0xFFFF0, 0x100010))  # between them nothing is assigned
    kept = {chr(code) for code in codes if visible(f"a{chr(code)}") == f"a{chr(code)}"}
    assert {unicodedata.category(sign)[0] for sign in kept - {" "}} == set("LMNPS")
    assert all(sign.isprintable() for sign in kept)
    # All of these are default-ignorable or blank in Unicode's own tables.
    ignorable = [0xAD, 0x34F, 0x61C, 0x115F, 0x1160, 0x17B4, 0x17B5, *range(0x180B, 0x1810), *range(0x200B, 0x2010)]
    ignorable += [*range(0x202A, 0x202F), *range(0x2060, 0x2070), 0x3164, *range(0xFE00, 0xFE10), 0xFEFF, 0xFFA0]
    ignorable += [*range(0xFFF0, 0xFFF9), *range(0x1BCA0, 0x1BCA4), *range(0x1D173, 0x1D17B), *range(0xE0000, 0xE1000)]
    ignorable += [0x2800, 0xFFFC, 0x13441, 0x13442, 0x16FE4, 0x1D159]
    assert not kept & set(map(chr, ignorable))
    assert len(kept) > 100_000


@given(TEXTS)
def test_what_is_shown_tells_exactly_what_the_text_was(text: str) -> None:
    assert read_back(visible(text)) == text
    assert read_back(visible_lines(text)) == text
    assert read_back(visible_page(text)) == text


@given(TEXTS)
def test_nothing_shown_commands_or_hides(text: str) -> None:
    shown = visible(text)
    assert shown.isprintable()
    shown.encode()
    assert " " * (BLANKS + 1) not in shown
    assert visible_lines(text).replace("\n", "").isprintable()
    assert visible_lines(text).count("\n") == text.count("\n")


@given(TEXTS, st.integers(0, 5), st.integers(0, 60))
def test_an_excerpt_accounts_for_everything(text: str, lines: int, chars: int) -> None:
    every = text.split("\n")
    shown = excerpt(text, lines=lines, chars=chars).split("\n")
    more_lines = more_chars = 0
    if found := re.fullmatch(r"<(\d+) more lines?>", shown[-1]):
        more_lines = int(found[1])
        shown.pop()
    if found := re.search(r"<(\d+) more characters?>$", shown[-1]):
        more_chars = int(found[1])
        shown[-1] = shown[-1].removesuffix(found[0])
    assert len(shown) + more_lines == len(every)
    assert len(shown) <= max(lines, 1)
    told = [read_back(line) for line in shown]
    assert told[:-1] == every[: len(told) - 1]
    assert every[len(told) - 1] == told[-1] + every[len(told) - 1][len(told[-1]) :]
    assert len(every[len(told) - 1]) - len(told[-1]) == more_chars
    assert len("\n".join(told)) <= chars


@pytest.mark.parametrize(
    ("text", "lines", "chars", "expected"),
    [
        ("", 3, 10, ""),
        ("", 0, 0, ""),
        ("a\nb", 2, 3, "a\nb"),
        ("a\nb\nc", 2, 99, "a\nb\n<1 more line>"),
        ("a\n" * 13, 2, 99, "a\na\n<12 more lines>"),
        ("x" * 350, 5, 10, "x" * 10 + "<340 more characters>"),
        ("xy\nz", 5, 1, "x<1 more character>\n<1 more line>"),
        ("ab\ncd", 5, 2, "ab\n<1 more line>"),
        ("ab\ncd", 5, 3, "ab\n<1 more line>"),
        ("ab\ncd", 5, 4, "ab\nc<1 more character>"),
        ("\n\n\n", 9, 2, "\n\n<2 more lines>"),
        ("y\n", 1, 9, "y\n<1 more line>"),
        ("ls" + " " * 400 + "; pwn", 5, 50, "ls<48 blanks><357 more characters>"),
        ("\x1b\x1b\x1b", 1, 2, "<U+001B><U+001B><1 more character>"),
        ("<1 more line>", 1, 99, "<U+003C>1 more line>"),
    ],
)
def test_an_excerpt_says_what_it_leaves_out(text: str, lines: int, chars: int, expected: str) -> None:
    assert excerpt(text, lines=lines, chars=chars) == expected


@pytest.mark.parametrize(
    "text", ["<", "<1", "<U+", "\u0301", "é", "\x1b", " ", "a \n", "❤\ufe0f\u200d", "\U000e0041<"], ids=ascii
)
def test_the_work_grows_with_the_text_alone(text: str) -> None:
    def taken(times: int) -> int:
        return sum(steps(lambda show=show: show(text * times)) for show in (visible, visible_lines, visible_page))

    assert taken(8_000) <= 10 * taken(800) + 100


@pytest.mark.parametrize(
    ("word", "note"),
    [
        ("rм", "м is cyrillic small letter em (U+043C)"),
        ("ﬁnd", "ﬁ is latin small ligature fi (U+FB01)"),
        ("ｌs", "ｌ is fullwidth latin small letter l (U+FF4C)"),
        ("gıt", "ı is latin small letter dotless i (U+0131)"),
        ("lѕѕ𝐥", "ѕ is cyrillic small letter dze (U+0455), 𝐥 is mathematical bold small l (U+1D425)"),
        ("αα", "α is greek small letter alpha (U+03B1)"),
        ("ɑ", "ɑ is latin small letter alpha (U+0251)"),
        ("նԁ", "ն is armenian small letter now (U+0576), ԁ is cyrillic small letter komi de (U+0501)"),
        ("Ꭺꓐ", "Ꭺ is cherokee letter go (U+13AA), ꓐ is lisu letter ba (U+A4D0)"),
        ("ⲟᵃ", "ⲟ is coptic small letter o (U+2C9F), ᵃ is modifier letter small a (U+1D43)"),
        ("ℓs", "ℓ is script small l (U+2113)"),
        ("git", None),
        ("grün", None),
        ("日本語", None),
        ("", None),
        ("a-1_✓", None),
    ],
    ids=ascii,
)  # fmt: skip
def test_letters_that_look_like_others_are_noted(word: str, note: str | None) -> None:
    assert look_alikes(word) == (note and f"some letters look like others: {note}")


def test_at_most_three_of_them_are_named() -> None:
    assert str(look_alikes("сору")).endswith("р is cyrillic small letter er (U+0440), and more")
    assert str(look_alikes("сор")).endswith("р is cyrillic small letter er (U+0440)")
