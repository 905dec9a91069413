"""Read as a model calls it: text in all encodings, limits said in words, and files of other kinds."""

import base64
import json
import os
from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from callgate.changes.text import read_lines
from callgate.testing import MemoryHost
from callgate.tools.files.file_kinds import CHARACTERS, LINES, WIDTH, numbered
from callgate.tools.files.read_marks import ReadMark, joined, parse_mark
from callgate.words.messages import Image, Text
from tests.rows import rows
from tests.tools.file_kit import Workspace

pytestmark = pytest.mark.spec("BLT-18")

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


@pytest.fixture
def work(tmp_path: Path) -> Workspace:
    return Workspace(tmp_path.resolve())


def test_lines_have_their_numbers(work: Workspace) -> None:
    work.write({"a.txt": "one\n\n  three"})
    result = work.call("Read", file_path="a.txt")
    assert result.text == "1\tone\n2\t\n3\t  three"
    assert result.details == {"lines": [1, 3], "of": 3, "encoding": "utf-8"}
    assert work.text("Read", file_path=str(work.root / "a.txt"), offset=2, limit=1) != ""


def test_two_thousand_lines_are_shown_and_the_rest_is_said(work: Workspace) -> None:
    work.write({"a.txt": "".join(f"line {number}\n" for number in range(1, 4501))})
    first = work.text("Read", file_path="a.txt").split("\n")
    assert first[LINES - 1 :] == ["2000\tline 2000", "[Lines 1-2000 of 4,500 are shown. Read on with offset=2001.]"]
    last = work.text("Read", file_path="a.txt", offset=4499).split("\n")
    assert last == ["4499\tline 4499", "4500\tline 4500", "[Lines 4499-4500 of 4,500: this is the end of the file.]"]
    assert (
        work.refused("Read", file_path="a.txt", offset=4501) == "a.txt has 4,500 lines, so number 4501 does not exist."
    )


def test_an_answer_is_cut_between_lines_before_it_is_too_long(work: Workspace) -> None:
    work.write({"a.txt": ("x" * 1000 + "\n") * 500})
    text = work.text("Read", file_path="a.txt")
    *shown, note = text.split("\n")
    assert len(text) <= CHARACTERS + 200
    assert note == f"[Lines 1-{len(shown)} of 500 are shown. Read on with offset={len(shown) + 1}.]"


def test_a_long_line_is_cut_and_shown_whole_when_asked_for_alone(work: Workspace) -> None:
    work.write({"a.js": "a\n" + "x" * 5000 + "\nb\n"})
    shown = work.text("Read", file_path="a.js").split("\n")
    assert shown[1] == "2\t" + "x" * WIDTH + "… (3,000 more characters)"
    assert shown[3] == "[Cut after 2,000 characters: line 2. offset=2 with limit=1 shows the whole line.]"
    assert "read in part, but not from number 2 of 3 on" in work.refused(
        "Edit", file_path="a.js", old_string="b", new_string="c"
    )
    assert work.text("Read", file_path="a.js", offset=2, limit=1).startswith("2\t" + "x" * 5000 + "\n")
    work.call("Edit", file_path="a.js", old_string="b", new_string="c")
    assert work.bytes_of("a.js").endswith(b"\nc\n")


def test_a_line_that_is_too_long_even_alone_does_not_lock_its_file(work: Workspace) -> None:
    work.write({"a.js": "x" * 150_000 + "y\n"})
    assert "Cut after 100,000 characters" in work.text("Read", file_path="a.js", limit=1)
    work.call("Edit", file_path="a.js", old_string="xy", new_string="xz")
    assert work.bytes_of("a.js").endswith(b"xz\n")


@rows(
    ("data", "text", "note"),
    [
        ("é\n".encode(), "1\té", ""),
        ("é\n".encode("utf-8-sig"), "1\té", "the encoding is utf-8 with a byte order mark"),
        ("aé\n".encode("utf-16"), "1\taé", "the encoding is utf-16-le"),
        ("plain text é\n".encode("utf-16-be"), "1\tplain text é", "the encoding is utf-16-be"),
        (b"caf\xe9\r\n", "1\tcafé", "the file is not UTF-8 and was read as Latin-1; the lines end with CRLF"),
        (b"\xc3\xa9 \xe9\n", "1\té \\xe9", "bytes that are not UTF-8 are shown as \\x.."),
        (b"a\r\nb\n", "1\ta\n2\tb", "the line endings are mixed"),
        (b"a\rb\r", "1\ta\n2\tb", "the lines end with CR"),
    ],
    ids=range(8),
)
def test_encodings_are_detected_and_said(work: Workspace, data: bytes, text: str, note: str) -> None:
    work.write({"a.txt": data})
    assert work.text("Read", file_path="a.txt") == text + (f"\n[Note: {note}. Edits preserve this.]" if note else "")


def test_an_unchanged_file_is_answered_short_once(work: Workspace) -> None:
    work.write({"a.txt": "one\ntwo\n"})
    whole = work.text("Read", file_path="a.txt")
    assert "unchanged since you read it: lines 1-2 are above" in work.text("Read", file_path="./a.txt")
    assert work.text("Read", file_path="a.txt") == whole, "it may be gone from the context, and is asked for again"
    assert "unchanged" in work.text("Read", file_path="a.txt", offset=2)
    work.write({"a.txt": "one\nTWO\n"})
    assert work.text("Read", file_path="a.txt") == "1\tone\n2\tTWO"


def test_what_was_written_but_never_shown_is_shown_in_full(work: Workspace) -> None:
    work.call("Write", file_path="a.txt", content="one\n")
    assert work.text("Read", file_path="a.txt") == "1\tone"
    work.call("Edit", file_path="a.txt", old_string="one", new_string="two")
    assert work.text("Read", file_path="a.txt") == "1\ttwo"


def test_an_image_is_a_part_of_its_own(work: Workspace) -> None:
    work.write({"a.png": PNG, "big.png": PNG + bytes(5_000_000)})
    text, image = work.call("Read", file_path="a.png").content
    assert text == Text(f"[a.png: image/png, {len(PNG)} bytes]")
    assert image == Image("image/png", PNG)
    assert "make a smaller copy" in work.refused("Read", file_path="big.png")


def test_binary_huge_and_strange_files_are_answered_in_words(work: Workspace) -> None:
    work.write({"a.bin": b"\x7fELF\0\0\1", "empty": b""})
    with (work.root / "huge").open("wb") as file:
        file.truncate(3_000_000_000)
    os.mkfifo(work.root / "pipe")
    assert (
        work.refused("Read", file_path="a.bin") == "a.bin is a binary file of 7 bytes, which cannot be shown as text."
    )
    assert "3,000,000,000 bytes" in work.refused("Read", file_path="huge")
    assert "pipe" in work.refused("Read", file_path="pipe")
    assert work.text("Read", file_path="empty") == "[empty is empty.]"


def test_a_folder_is_answered_with_its_names(work: Workspace) -> None:
    work.write({"src/b.py": "12345", "src/a/c.py": "", "none/x": ""})
    (work.root / "src/link").symlink_to("b.py")
    (work.root / "none/x").unlink()
    assert work.text("Read", file_path="src").split("\n")[1:] == ["a/", "b.py  5", "link@"]
    assert work.text("Read", file_path="none") == "[none is an empty folder.]"
    for number in range(600):
        (work.root / f"none/{number:03}").touch()
    assert work.text("Read", file_path="none").endswith("[100 more entries are not shown: use Glob.]")


def test_names_that_may_have_been_meant_are_told(work: Workspace) -> None:
    work.write({"src/utils.py": "", "src/README.md": "", "src/zzz": ""})
    said = work.refused("Read", file_path="src/util.py")
    assert said == f"src/util.py does not exist. Did you mean utils.py in {work.root}/src?"
    assert "Did you mean README.md" in work.refused("Read", file_path="src/readme.md")
    said = work.refused("Read", file_path="scr/utils.py")
    assert said == f"scr/utils.py does not exist: there is no folder {work.root}/scr. Did you mean src in {work.root}?"
    assert work.refused("Read", file_path="src/qqqqqq") == "src/qqqqqq does not exist."


def test_a_link_that_leads_out_is_not_followed(work: Workspace, tmp_path_factory: pytest.TempPathFactory) -> None:
    secret = tmp_path_factory.mktemp("out").resolve() / "secret"
    secret.write_text("secret")
    (work.root / "link").symlink_to(secret)
    assert f"leaves the workspace through a symbolic link, to {secret}" in work.refused("Read", file_path="link")
    assert work.text("Read", file_path=str(secret)) == "1\tsecret"  # the gate decided about this very path


def test_a_notebook_is_shown_as_cells_with_ids_and_outputs(work: Workspace) -> None:
    outputs = [
        {"output_type": "stream", "text": ["1\n", "2\n"]},
        {"output_type": "display_data", "data": {"image/png": base64.b64encode(PNG).decode(), "text/plain": "<Fig>"}},
        {"output_type": "error", "traceback": ["\x1b[31mboom\x1b[0m"]},
    ]
    cells = [
        {"id": "abc", "cell_type": "code", "source": ["x = 1\n", "x"], "outputs": outputs},
        {"cell_type": "markdown", "source": "# Hi"},
    ]
    work.write({"n.ipynb": json.dumps({"cells": cells}), "broken.ipynb": "{"})
    result = work.call("Read", file_path="n.ipynb")
    assert result.text == (
        '<cell id="abc" type="code">\nx = 1\nx\n</cell>\n<output>\n1\n2\n\n</output>\n<output>\n<Fig>\n</output>\n'
        '<output>\nboom\n</output>\n<cell id="cell-1" type="markdown">\n# Hi\n</cell>\n'
    )
    assert [part.data for part in result.content if isinstance(part, Image)] == [PNG]
    assert work.text("Read", file_path="broken.ipynb") == "1\t{"


def test_the_text_of_a_pdf_is_shown_page_by_page(work: Workspace) -> None:
    work.write({"a.pdf": pdf(["first page", "second page", ""]), "bad.pdf": b"%PDF-1.4 nothing"})
    assert work.text("Read", file_path="a.pdf") == (
        "--- page 1 of 3 ---\nfirst page\n--- page 2 of 3 ---\nsecond page\n--- page 3 of 3 ---\n[no text on this page]"
    )
    assert work.text("Read", file_path="a.pdf", pages="2").split("\n")[1:] == [
        "second page",
        "[Pages 2-2 of 3 are shown. Read on with pages=3-3.]",
    ]
    assert "write a range such as 3 or 1-5" in work.refused("Read", file_path="a.pdf", pages="4")
    assert "is an invalid PDF file" in work.refused("Read", file_path="bad.pdf")


def test_a_pdf_without_its_package_names_the_extra(work: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "pypdf", None)
    work.write({"a.pdf": b"%PDF-1.4"})
    assert "pip install 'callgate[pdf]'" in work.refused("Read", file_path="a.pdf")


def pdf(pages: list[str]) -> bytes:
    """The smallest PDF with these texts."""
    count = len(pages)
    kids = " ".join(f"{4 + 2 * number} 0 R" for number in range(count))
    bodies = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {count} >>",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    for number, text in enumerate(pages):
        stream = f"BT /F1 12 Tf 72 700 Td ({text}) Tj ET" if text else ""
        font = "<< /Font << /F1 3 0 R >> >>"
        page = (
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Resources {font} /Contents {5 + 2 * number} 0 R >>"
        )
        bodies += [page, f"<< /Length {len(stream)} >>\nstream\n{stream}\nendstream"]
    out, offsets = "%PDF-1.4\n", list[int]()
    for number, body in enumerate(bodies, start=1):
        offsets.append(len(out))
        out += f"{number} 0 obj\n{body}\nendobj\n"
    table = "".join(f"{offset:010} 00000 n \n" for offset in offsets)
    size = len(bodies) + 1
    tail = f"trailer\n<< /Size {size} /Root 1 0 R >>\nstartxref\n{len(out)}\n%%EOF\n"
    return (out + f"xref\n0 {size}\n0000000000 65535 f \n{table}" + tail).encode()


def test_the_same_on_a_host_in_memory(tmp_path: Path) -> None:
    host = MemoryHost({"src/a.txt": "one\ntwo\n"})
    work = Workspace(tmp_path, host)
    assert work.text("Read", file_path="src/a.txt") == "1\tone\n2\ttwo"
    work.call("Edit", file_path="src/a.txt", old_string="two", new_string="TWO")
    assert host.text("src/a.txt") == "one\nTWO\n"
    assert "Did you mean a.txt" in work.refused("Read", file_path="src/b.txt")


def plainly(text: str, offset: int, limit: int) -> list[str]:
    lines = text.split("\n")
    lines = lines[:-1] if lines[-1] == "" else lines
    return [f"{number}\t{line}" for number, line in enumerate(lines, 1) if offset <= number < offset + limit]


@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r")), st.integers(1, 5), st.integers(1, 5))
def test_numbered_lines_are_those_of_the_plain_function(text: str, offset: int, limit: int) -> None:
    assume("\0" not in text)
    lines = read_lines(text.encode())
    assume(lines is not None and offset <= lines.total)
    assert lines is not None
    shown, last, _known = numbered(lines, offset, limit)
    expected = plainly(text, offset, limit)
    # Blank lines of other kinds, such as U+2028, are no line ends.
    assert shown.split("\n")[: len(expected)] == expected
    assert last == offset + len(expected) - 1


SPANS = st.lists(st.tuples(st.integers(1, 30), st.integers(0, 8)).map(lambda it: (it[0], it[0] + it[1])), max_size=6)


@given(SPANS, SPANS, st.integers(0, 40))
def test_a_mark_is_written_and_read_again_and_knows_its_lines(
    some: list[tuple[int, int]], others: list[tuple[int, int]], total: int
) -> None:
    mark = ReadMark("a" * 64, total, joined(some), joined(others))
    assert parse_mark(str(mark)) == mark
    lines = {line for first, last in some for line in range(first, last + 1)}
    assert {line for first, last in mark.known for line in range(first, last + 1)} == lines
    assert mark.complete == (total == 0 or lines == set(range(1, total + 1)))
    assert all(before[1] + 1 < after[0] for before, after in zip(mark.known, mark.known[1:], strict=False))
