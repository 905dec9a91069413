"""The tool NotebookEdit: changes cells of a Jupyter notebook by their ids, and preserves the layout of its JSON."""

import json
import re
from collections.abc import Iterator, Mapping
from hashlib import sha256
from secrets import token_hex
from typing import Any, Literal

from callgate.changes.text import read_text, write_text
from callgate.core.ports import Run
from callgate.tools.builtin import builtin_tool
from callgate.tools.files.file_changes import applied_result, content_before, workspace_path
from callgate.tools.files.file_kinds import cell_id, cells_of
from callgate.tools.files.read_marks import marks_of
from callgate.tools.tool import FunctionTool
from callgate.words.calls import Result
from callgate.words.changes import ChangeSet, FileChange
from callgate.words.errors import ToolFailure

CellType = Literal["code", "markdown", "raw"]
EditMode = Literal["replace", "insert", "delete"]


def notebook_edit() -> FunctionTool[Any]:

    def preview(
        notebook_path: str,
        run: Run,
        new_source: str = "",
        cell_id: str | None = None,
        cell_type: CellType | None = None,
        edit_mode: EditMode = "replace",
    ) -> ChangeSet:
        before = content_before(run.host, notebook_path)
        if before is None:
            raise ToolFailure(f"{notebook_path} does not exist: create it with Write.")
        marks_of(run.host).require(run, notebook_path, before)
        notebook = Notebook(notebook_path, before)
        if edit_mode == "insert":
            notebook.insert(cell_id, new_source, cell_type or "code")
        elif cell_id is None:
            raise ToolFailure(f"Pass the cell to {edit_mode} in cell_id: {notebook.ids}.")
        elif edit_mode == "delete":
            notebook.delete(cell_id)
        else:
            notebook.replace(cell_id, new_source, cell_type)
        after, path = notebook.written(), workspace_path(run.host, notebook_path)
        if after == before:
            raise ToolFailure(f"{notebook_path}: the cell already has this source.")
        return ChangeSet(f"{edit_mode} a cell of {path}", (FileChange(path, before, after),))

    def notebook_edit(
        notebook_path: str,
        run: Run,
        new_source: str = "",
        cell_id: str | None = None,
        cell_type: CellType | None = None,
        edit_mode: EditMode = "replace",
    ) -> Result:
        """Edit a notebook.

        Args:
            notebook_path: the notebook; a relative path starts at the workspace
            new_source: the source of the cell
            cell_id: the cell to replace or delete, or the one to insert behind
            cell_type: of a new cell, or to change it; code if left out
            edit_mode: replace, insert or delete
        """
        done = {"replace": "Replaced", "insert": "Inserted", "delete": "Deleted"}[edit_mode]
        return applied_result(run, f"{done} a cell of {notebook_path}")

    return builtin_tool(
        notebook_edit,
        title="Edit a notebook",
        icon="edit",
        effects="mutating",
        writes="notebook_path",
        preview=preview,
        always_loaded=False,
        search_hint="jupyter notebook ipynb cells replace insert delete",
    )


_INDENT = re.compile(r"[{\[]\n([ \t]+)")
_MANY = 20
_LONGEST_NUMBER = 1_000  # digits; Python refuses to read some more


class Notebook:
    """A parsed Jupyter notebook. The constructor raises ToolFailure if the file is not a notebook; the methods raise it
    if a cell does not exist."""

    def __init__(self, path: str, data: bytes) -> None:
        self._path = path
        found, read = cells_of(data), read_text(data)
        if found is None or read is None:
            raise ToolFailure(f"{path} is not a supported notebook: its JSON has no list of cells.")
        text, self._form = read
        numbers = self._numbers = _SpelledNumbers()
        self._document: dict[str, Any] = json.loads(text, parse_float=numbers.read_float, parse_int=numbers.read_int)
        self._cells: list[dict[str, Any]] = self._document["cells"]
        self._end = "\n" if text.endswith("\n") else ""
        layouts = list(_layouts(text))
        self._layout = next((each for each in layouts if self._dumped(each) == text), layouts[0])

    @property
    def ids(self) -> str:
        names = [cell_id(cell, number) for number, cell in enumerate(self._cells)]
        more = f" and {len(names) - _MANY} more" if len(names) > _MANY else ""
        return f"it has {', '.join(names[:_MANY])}{more}" if names else "it has no cells"

    def replace(self, name: str, source: str, kind: str | None) -> None:
        cell = self._cells[self._index(name)]
        kind = kind or str(cell.get("cell_type", "code"))
        if kind == cell.get("cell_type") and self._source(source, cell) == cell.get("source"):
            return
        cell["source"] = self._source(source, cell)
        cell["cell_type"] = kind
        if kind == "code":
            cell["outputs"], cell["execution_count"] = [], None
        else:
            for name in ("outputs", "execution_count"):
                cell.pop(name, None)

    def insert(self, behind: str | None, source: str, kind: str) -> None:
        at = 0 if behind is None else self._index(behind) + 1
        cell: dict[str, Any] = {"cell_type": kind}
        if kind == "code":
            cell["execution_count"] = None
        if self._has_ids:
            cell["id"] = self._new_id(at, source)
        cell["metadata"] = {}
        if kind == "code":
            cell["outputs"] = []
        cell["source"] = self._source(source, self._cells[0] if self._cells else {})
        self._cells.insert(at, cell)

    def delete(self, name: str) -> None:
        del self._cells[self._index(name)]

    def written(self) -> bytes:
        text = self._dumped(self._layout)
        try:
            text.encode()
        except UnicodeEncodeError:  # a lone surrogate must be escaped
            text = self._dumped({**self._layout, "ensure_ascii": True})
        return write_text(text, self._form)

    def _dumped(self, layout: Mapping[str, Any]) -> str:
        return self._numbers.put_back(json.dumps(self._document, **layout)) + self._end

    def _index(self, name: str) -> int:
        names = [cell_id(cell, number) for number, cell in enumerate(self._cells)]
        if name not in names:
            raise ToolFailure(f"{self._path} has no cell {name!r}: {self.ids}.")
        if names.count(name) > 1:
            raise ToolFailure(f"{self._path} has several cells with the id {name!r}: give the cells unique ids first.")
        return names.index(name)

    @property
    def _has_ids(self) -> bool:
        version = (self._document.get("nbformat", 4), self._document.get("nbformat_minor", 0))
        return version >= (4, 5) or any("id" in cell for cell in self._cells)

    def _new_id(self, at: int, source: str) -> str:
        """Return an unused cell id. The same call always gets the same id."""
        taken = {cell.get("id") for cell in self._cells}
        tries = (sha256(f"{at} {number} {source}".encode("utf-8", "replace")).hexdigest()[:8] for number in range(1000))
        return next(each for each in tries if each not in taken)

    @staticmethod
    def _source(source: str, like: Mapping[str, Any]) -> str | list[str]:
        """Return the source in the form that the other cells have: a string, or a list of lines."""
        return source if isinstance(like.get("source"), str) else source.splitlines(keepends=True)


class _SpelledNumbers:
    """Preserves numbers that Python would write differently (``1e400``, ``1.10``, ``-0``) by replacing them with
    placeholder strings."""

    def __init__(self) -> None:
        self._mark = f"number-{token_hex(16)}-"
        self._written: list[str] = []
        self._stand_in = re.compile(rf'"{self._mark}(\d+)"')

    def read_float(self, text: str) -> float | str:
        found = float(text)
        return found if repr(found) == text else self._keep(text)

    def read_int(self, text: str) -> int | str:
        return int(text) if len(text) < _LONGEST_NUMBER and str(int(text)) == text else self._keep(text)

    def _keep(self, text: str) -> str:
        self._written.append(text)
        return f"{self._mark}{len(self._written) - 1}"

    def put_back(self, text: str) -> str:
        return self._stand_in.sub(lambda found: self._written[int(found[1])], text) if self._written else text


def _layouts(text: str) -> Iterator[dict[str, Any]]:
    """Yield the JSON layouts that the file may have, the most likely layout first."""
    found = _INDENT.search(text)
    indent = None if found is None else found[1]
    separators = [(",", ": ")] if indent else [(", ", ": "), (",", ":")]
    for ensure_ascii in (True, False) if text.isascii() and "\\u" in text else (False,):
        for pair in separators:
            for ordered in (False, True):
                yield {"indent": indent, "separators": pair, "ensure_ascii": ensure_ascii, "sort_keys": ordered}
