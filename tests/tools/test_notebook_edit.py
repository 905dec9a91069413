"""NotebookEdit: one cell changes, and every other byte of the file stays."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callgate.testing import MemoryHost
from callgate.tools.builtin.notebook_edit import Notebook
from tests.profiles import fewer
from tests.rows import rows
from tests.tools.file_kit import Workspace

pytestmark = pytest.mark.spec("BLT-3")


def code(name: str, source: Any, **more: Any) -> dict[str, Any]:
    cell = {"cell_type": "code", "execution_count": 3, "id": name, "metadata": {}, "outputs": [{"text": "1"}]}
    return {**cell, "source": source, **more}


def notebook(*cells: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"cells": list(cells), "metadata": {"é": 1}, "nbformat": 4, "nbformat_minor": 5, **more}


BOOK = notebook(code("a", ["x = 1\n", "x"]), {"cell_type": "markdown", "id": "b", "metadata": {}, "source": ["# Hé"]})


class Desk(Workspace):
    def put(self, document: dict[str, Any], **layout: Any) -> None:
        options = {"indent": 1, "ensure_ascii": False, **layout}
        self.write({"n.ipynb": json.dumps(document, **options) + "\n"})
        self.call("Read", file_path="n.ipynb")

    def edit(self, **arguments: Any) -> str:
        return self.text("NotebookEdit", notebook_path="n.ipynb", **arguments)

    @property
    def cells(self) -> list[dict[str, Any]]:
        return json.loads(self.bytes_of("n.ipynb"))["cells"]


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path.resolve())


def test_a_cell_is_replaced_and_its_outputs_are_cleared(desk: Desk) -> None:
    desk.put(BOOK)
    before = desk.bytes_of("n.ipynb")
    assert desk.edit(cell_id="a", new_source="y = 2\ny").startswith("Replaced a cell of n.ipynb: 1 file, ")
    assert desk.cells[0] == code("a", ["y = 2\n", "y"], outputs=[], execution_count=None)
    assert desk.bytes_of("n.ipynb").endswith(before[before.index(b'"markdown"') :])
    desk.edit(cell_id="b", new_source="y", cell_type="code")
    assert desk.cells[1]["outputs"] == []
    desk.edit(cell_id="a", new_source="text", cell_type="markdown")
    assert desk.cells[0] == {"cell_type": "markdown", "id": "a", "metadata": {}, "source": ["text"]}


def test_a_mark_of_the_encoding_and_line_ends_are_kept(desk: Desk) -> None:
    for mark in (b"", b"\xef\xbb\xbf"):
        plain = json.dumps(BOOK, indent=1).replace("\n", "\r\n").encode()
        desk.write({"n.ipynb": mark + plain})
        desk.call("Read", file_path="n.ipynb")
        desk.edit(cell_id="b", new_source="# Other")
        assert desk.bytes_of("n.ipynb") == mark + plain.replace(b"# H\\u00e9", b"# Other")


def test_json_of_any_shape_is_shown(desk: Desk) -> None:
    deep = '{"cells": ' + "[" * 100_000 + "]" * 100_000 + "}"
    desk.write(
        {"deep.ipynb": deep, "odd.ipynb": '{"cells": [{"source": "x", "outputs": [{"data": [1]}, {"text": 5}]}]}'}
    )
    assert desk.text("Read", file_path="deep.ipynb").startswith('1\t{"cells": [[[')
    assert desk.text("Read", file_path="odd.ipynb").endswith("<output>\n5\n</output>\n")


def test_cells_are_inserted_and_deleted(desk: Desk) -> None:
    desk.put(BOOK)
    desk.edit(edit_mode="insert", cell_id="a", new_source="z")
    desk.edit(edit_mode="insert", new_source="# top", cell_type="markdown")
    assert [cell["source"] for cell in desk.cells] == [["# top"], ["x = 1\n", "x"], ["z"], ["# Hé"]]
    assert len({cell["id"] for cell in desk.cells}) == 4
    desk.edit(edit_mode="delete", cell_id="a")
    assert [cell["source"] for cell in desk.cells] == [["# top"], ["z"], ["# Hé"]]


def test_cells_of_old_notebooks_are_named_by_their_place_and_get_no_ids(desk: Desk) -> None:
    cells = [{"cell_type": "code", "metadata": {}, "source": "a"}, {"cell_type": "code", "metadata": {}, "source": "b"}]
    desk.put({"cells": cells, "nbformat": 4, "nbformat_minor": 4})
    desk.edit(cell_id="cell-1", new_source="c\nd")
    desk.edit(edit_mode="insert", cell_id="cell-1", new_source="e")
    assert [cell["source"] for cell in desk.cells] == ["a", "c\nd", "e"]
    assert not any("id" in cell for cell in desk.cells)


def test_what_is_wrong_is_said(desk: Desk) -> None:
    desk.put(notebook(code("a", "x"), code("a", "y"), code("c", "z")))

    def refused(**arguments: Any) -> str:
        return desk.refused("NotebookEdit", notebook_path="n.ipynb", **arguments)

    assert "has no cell 'q': it has a, a, c" in refused(cell_id="q", new_source="1")
    assert "several cells with the id 'a'" in refused(cell_id="a", new_source="1")
    assert "Pass the cell to delete" in refused(edit_mode="delete")
    assert "already has this source" in refused(cell_id="c", new_source="z")
    desk.write({"bad.ipynb": "{}"})
    desk.call("Read", file_path="bad.ipynb")
    assert "is not a supported notebook" in desk.refused(
        "NotebookEdit", notebook_path="bad.ipynb", cell_id="a", new_source="b"
    )
    assert "does not exist" in desk.refused("NotebookEdit", notebook_path="none.ipynb", cell_id="a", new_source="b")


@pytest.mark.spec("BLT-19")
def test_a_notebook_must_be_read_completely_and_pages_of_cells_add_up(desk: Desk) -> None:
    big = notebook(*(code(f"c{number}", "x" * 30_000, outputs=[]) for number in range(7)))
    desk.write({"n.ipynb": json.dumps(big)})
    change: dict[str, Any] = {"notebook_path": "n.ipynb", "cell_id": "c0", "new_source": "y"}
    assert "has not been read" in desk.refused("NotebookEdit", **change)
    assert desk.text("Read", file_path="n.ipynb").endswith("[Cells 1-3 of 7 are shown. Read on with offset=4.]")
    assert "not from number 4 of 7 on" in desk.refused("NotebookEdit", **change)
    desk.call("Read", file_path="n.ipynb", offset=4)
    desk.call("Read", file_path="n.ipynb", offset=7)
    assert "unchanged since you read it: cells 2-3" in desk.text("Read", file_path="n.ipynb", offset=2, limit=2)
    desk.call("NotebookEdit", **change)
    assert desk.cells[0]["source"] == "y"


LAYOUTS: list[dict[str, Any]] = [
    {"indent": 1, "ensure_ascii": False},
    {"indent": 2, "ensure_ascii": True},
    {"indent": "\t", "ensure_ascii": False},
    {"ensure_ascii": False},
    {"separators": (",", ":")},
    {"indent": 4, "sort_keys": True, "ensure_ascii": False},
]


@rows("layout", LAYOUTS, ids=range(6))
@rows("end", ["", "\n"])
def test_the_layout_of_the_json_is_kept(layout: dict[str, Any], end: str) -> None:
    text = json.dumps(BOOK, **layout) + end
    made = Notebook("n.ipynb", text.encode())
    assert made.written() == text.encode()
    made.replace("b", "# New", None)
    assert made.written() == (text.replace("# Hé", "# New").replace("# H\\u00e9", "# New")).encode()


SOURCES = st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=8), min_size=1, max_size=4)


@given(SOURCES, st.data())
@fewer(25)
def test_any_edit_is_that_of_a_list(sources: list[str], data: st.DataObject) -> None:
    """The reference: the same change of a plain list of sources."""
    cells = [code(f"c{number}", source) for number, source in enumerate(sources)]
    host = MemoryHost({"n.ipynb": json.dumps(notebook(*cells), indent=1)})
    work = Workspace(Path("/workspace"), host)
    work.call("Read", file_path="n.ipynb")
    at = data.draw(st.integers(0, len(sources) - 1))
    mode = data.draw(st.sampled_from(["replace", "insert", "delete"]))
    expected = [*sources]
    if mode == "replace":
        expected[at] = "new source"
    elif mode == "insert":
        expected.insert(at + 1, "new source")
    else:
        del expected[at]
    work.call("NotebookEdit", notebook_path="n.ipynb", cell_id=f"c{at}", edit_mode=mode, new_source="new source")
    assert [cell["source"] for cell in json.loads(host.text("n.ipynb"))["cells"]] == expected


def test_numbers_are_kept_as_they_are_written() -> None:
    numbers = "[1e400, -0, 1.10, 1E5, 0.1, 3, -0.0, 12345678901234567890123, 1e-7, 1.0]"
    text = f'{{"cells": [], "metadata": {{"n": {numbers}}}, "nbformat": 4, "nbformat_minor": 5}}'
    book = Notebook("n.ipynb", text.encode())
    assert book.written().decode() == text
    book.insert(None, "x = 1", "code")
    assert f'"n": {numbers}' in book.written().decode()
