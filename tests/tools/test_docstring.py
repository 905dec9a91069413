"""Docstrings in the three usual forms, and in none."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callgate.tools.signature import read_docstring
from tests.rows import rows

GOOGLE = """Read a text file.

    It may be large.

    Args:
        path: Where the file is,
            relative to the workspace.
        limit (int, optional): How many lines: all if left out.
        mode (Callable[[int], str]): With a colon in it.
        **more: Ignored stars.

    Returns:
        str: The text.

    Raises:
        path: not a parameter.
    """

NUMPY = """Read a text file.

    It may be large.

    Parameters
    ----------
    path : Path
        Where the file is,
        relative to the workspace.
    limit, mode : int, optional
        How many lines: all if left out.
    bare
        Without a type.

    Returns
    -------
    text : str
        The text.
    """

SPHINX = """Read a text file.

    It may be large.

    :param path: Where the file is,
        relative to the workspace.
    :type path: Path
    :param int limit: How many lines: all if left out.
    :returns: The text.
    :raises OSError: not a parameter.
    """


@pytest.mark.spec("TOOL-1")
@rows("text", [GOOGLE, NUMPY, SPHINX], ids=["google", "numpy", "sphinx"])
def test_every_form_gives_the_prose_and_the_parameters(text: str) -> None:
    said = read_docstring(text)
    assert said.description == "Read a text file.\n\nIt may be large."
    assert said.parameters["path"] == "Where the file is, relative to the workspace."
    assert said.parameters["limit"] == "How many lines: all if left out."
    assert not said.parameters.keys() & {"str", "text", "OSError", "Returns"}


def test_google_entries_may_have_types_and_stars() -> None:
    said = read_docstring(GOOGLE)
    assert said.parameters["mode"] == "With a colon in it."
    assert said.parameters["more"] == "Ignored stars."
    assert said.parameters["path"] == "Where the file is, relative to the workspace."


def test_numpy_entries_may_share_a_description_or_have_no_type() -> None:
    said = read_docstring(NUMPY)
    assert said.parameters["mode"] == said.parameters["limit"]
    assert said.parameters["bare"] == "Without a type."


def test_sections_may_come_one_after_the_other() -> None:
    said = read_docstring("Do it.\n\nArgs:\n    a: One.\nKeyword Args:\n    b: Two.\n\nReturns:\n    c: No.")
    assert said.parameters == {"a": "One.", "b": "Two."}


def test_text_after_a_list_does_not_belong_to_it() -> None:
    said = read_docstring("Do it.\n\nArgs:\n    a: One.\n\nNote: this is not a parameter.")
    assert said.parameters == {"a": "One."}


def test_a_docstring_without_a_form_is_all_prose() -> None:
    text = "Do it.\n\nReturns what was done: nothing.\nNote: careful.\n\nExample:\n    do()"
    said = read_docstring(text)
    assert said.description == text
    assert said.parameters == {}


@rows("text", [None, "", "   \n  "])
def test_no_docstring_says_nothing(text: str | None) -> None:
    said = read_docstring(text)
    assert (said.description, said.parameters) == ("", {})


@given(st.lists(st.sampled_from(["Args:", "Parameters", "-----", "  a: b", ":param x: y", "", "    deep", "a : b"])))
def test_nothing_raises(lines: list[str]) -> None:
    read_docstring("\n".join(lines))
