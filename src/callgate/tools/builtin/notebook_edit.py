"""The tool NotebookEdit: changes cells of a Jupyter notebook by their ids, and preserves the layout of its JSON."""

from typing import Any, Literal

from callgate.core.ports import Run
from callgate.tools.builtin import prompt_text
from callgate.tools.files.file_changes import applied_result, content_before, workspace_path
from callgate.tools.files.read_marks import marks_of
from callgate.tools.tool import FunctionTool, tool
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
        from callgate.tools.files.notebook import Notebook

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

    return tool(
        notebook_edit,
        name="NotebookEdit",
        description=prompt_text("notebook_edit.md"),
        title="Edit a notebook",
        icon="edit",
        effects="mutating",
        writes="notebook_path",
        preview=preview,
        search_hint="jupyter notebook ipynb cells replace insert delete",
    )
