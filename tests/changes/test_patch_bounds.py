"""Whatever a patch is, it is taken or refused, and neither takes long."""

from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callgate.changes.patch import from_patch, placement
from callgate.words.errors import ToolFailure
from tests.steps import steps

PIECES = st.sampled_from(
    [
        *("*** Begin Patch\n", "*** End Patch\n", "*** Add File: ", "*** Update File: ", "*** Delete File: "),
        *(
            "*** Move to: ",
            "*** End of File\n",
            "*** ",
            "@@",
            "@@ ",
            "@@ -1 +1 @@\n",
            "@@ -1,2 +1,9 @@\n",
            "@@ -0,0 +1 @@\n",
        ),
        *(
            "diff --git a/f b/f\n",
            "diff --git ",
            "--- a/f\n",
            "+++ b/f\n",
            "--- /dev/null\n",
            "+++ ",
            '"a/\\',
            "\\ No newline",
        ),
        *(
            "new file mode 100644\n",
            "deleted file mode 1",
            "rename from ",
            "rename to ",
            "copy from ",
            "index 1..2 1\n",
        ),
        *(
            "old mode ",
            "new mode 100755\n",
            "f",
            "g",
            "/",
            "..",
            "\n",
            "\r\n",
            " ",
            "+",
            "-",
            "\\",
            "a\n",
            "\0",
            "\ud800",
            "\udcff",
        ),
        *("--- a/f\t1970-01-01 00:00:00 +0000\n", "GIT binary patch\n", "é", "```\n", "-a\n", "+b\n", " a\n"),
    ]
)
FILES = {"f": b"a\nb\n\na\n", "g": b"", "f/g": b"\xff\r\n"}


def attempt(text: str | bytes, files: dict[str, bytes]) -> str:
    try:
        from_patch(text, files.get)
    except ToolFailure as failure:
        message = str(failure)
        message.encode()
        assert "of the patch: " in message
        return message
    return ""


@given(st.lists(PIECES, max_size=30).map("".join))
def test_nothing_but_a_tool_failure_is_ever_raised(text: str) -> None:
    attempt(text, FILES)


@given(st.lists(PIECES, max_size=20).map("".join), st.sampled_from(["", "--- a/f\n+++ b/f\n@@ -1,2 +1,3 @@\n"]))
def test_nothing_but_a_tool_failure_is_raised_within_a_section_either(text: str, start: str) -> None:
    attempt((start or "*** Begin Patch\n*** Update File: f\n") + text, FILES)


@given(st.text() | st.binary())
def test_any_text_is_taken_or_refused(text: str | bytes) -> None:
    attempt(text, FILES)


def unified(*hunks: str) -> str:
    return "--- a/f\n+++ b/f\n" + "".join(hunks)


def begun(*chunks: str) -> str:
    return "*** Begin Patch\n*** Update File: f\n" + "".join(chunks)


def many(size: int) -> dict[str, tuple[str, bytes]]:
    """Patches that cost more than they should if something is done once too often, and the files they are for."""
    body = "".join(f" {'a'}\n" for _ in range(size))
    alike = b"a\n" * size
    turns = b"a\nb\n" * size
    return {
        "a long hunk that fits almost everywhere": (
            unified(f"@@ -9,{size + 2} +9,{size + 2} @@\n{body}-b\n+c\n b\n"),
            alike + b"b\n" + alike,
        ),
        "many hunks from the last to the first": (
            unified(*(f"@@ -{n},2 +{n},3 @@\n {n}\n+x\n {n + 1}\n" for n in range(2 * size, 1, -3))),
            b"".join(b"%d\n" % n for n in range(3 * size)),
        ),
        "many hunks that are nowhere": (
            unified(*(f"@@ -{n},3 +{n},3 @@\n b\n-b\n+x\n a\n" for n in range(2, size))),
            turns,
        ),
        "many chunks": (begun(*("@@\n a\n-b\n+c\n" for _ in range(size))), turns),
        "many anchors": (begun("@@ a\n" * size, "-b\n+c\n"), turns),
        "anchors that were passed": (begun("-z\n", "@@ a\n" * size, "-b\n"), turns + b"z\n"),
        "a long chunk that fits almost everywhere": (begun("@@\n", body, "-c\n"), alike + b"c\n" + alike + b"b\n"),
        "a long chunk that fits nowhere": (begun("@@\n", body, " b\n", body, "-c\n"), (alike + b"b\n") * 2 + b"c\n"),
        "a long line": (begun("-" + "a " * size * 10 + "\n"), b"a " * size * 10 + b"b\n"),
        "many empty sections": (unified("@@ -1 +1 @@\n-a\n+b\n" + "\n" * size) * 2, alike),
        "many prefixes": (
            "".join(
                f"--- {n}/f{n}\n+++ b/f{n}\n@@ -0,0 +1 @@\n+x\n--- /dev/null\n+++ b/g{n}\n@@ -0,0 +1 @@\n+x\n"
                for n in range(size)
            ),
            alike,
        ),
        "a long name and many headers": (
            "diff --git a/f b/f\n" + f"rename to {'f' * size}\n" + "index 1..2\n" * size,
            alike,
        ),
        "quotes": ("--- " + '"' + "\\" * size * 4 + "\n+++ b/f\n@@ -1 +1 @@\n-a\n+b\n", alike),
        "names": ("diff --git " + "a/f " * size + "\n", alike),
        "counts": (unified("@@ -1,99999 +1,99999 @@\n", body * 2), alike),
        "lines almost alike": (
            begun("-" + "word " * 30 + "end\n"),
            (b"word " * 29 + b"%d\n") * size % tuple(range(size)),
        ),
    }


@pytest.mark.parametrize("name", many(1))
def test_twice_the_patch_is_about_twice_the_work(name: str) -> None:
    small, large = (steps(partial(attempt, *_case(name, size))) for size in (200, 400))
    assert large < 2.6 * small + 2_000


def _case(name: str, size: int) -> tuple[str, dict[str, bytes]]:
    text, data = many(size)[name]
    return text, {"f": data}


def test_a_patch_that_would_take_for_ever_is_refused_after_a_bounded_amount_of_work(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(placement, "MOST_WORK", 500)
    text = begun("@@\n", " a\n" * 100, " b\n", "-b\n")
    files = {"f": (b"a\n" * 99 + b"b\n") * 100 + b"b\n"}
    assert "takes too long" in attempt(text, files)
    assert steps(partial(attempt, text, files)) < 20 * 10_000


def test_a_chunk_that_fits_everywhere_is_refused_after_a_few_places() -> None:
    text, files = begun("@@\n a\n-a\n+c\n" * 5_000), {"f": b"a\n" * 300_000}
    assert "several places, at lines 1, 2, 3, 4, 5 and more" in attempt(text, files)


@pytest.mark.slow
def test_many_chunks_in_a_file_of_lines_that_are_alike_are_placed() -> None:
    """Lists of all places that are made for each chunk are no calls, so counting calls would not see them."""
    lines = [b"a%d\n" % number + b"a\n" * 30 for number in range(5_000)]
    chunks = "".join(f"@@\n a{number}\n-a\n+c\n" for number in range(5_000))
    (change,) = from_patch(begun(chunks), {"f": b"".join(lines)}.get).files
    assert change.after == b"".join(line.replace(b"a\n", b"c\n", 1) for line in lines)
