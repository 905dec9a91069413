"""The tool Edit: makes exact replacements in one file, all or none, and displays them as a diff first."""

from collections.abc import Sequence
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from callgate.changes.edits import TextReplacement, from_edits
from callgate.core.ports import Run
from callgate.tools.builtin import builtin_tool
from callgate.tools.files.file_changes import applied_result, content_before, workspace_path
from callgate.tools.files.read_marks import marks_of
from callgate.tools.tool import FunctionTool
from callgate.words.calls import Result
from callgate.words.changes import ChangeSet
from callgate.words.errors import ToolFailure

MOST_EDITS = 100


class EditPart(BaseModel):
    model_config = ConfigDict(extra="forbid")

    old_string: str = Field(description="the text to replace, exactly as in the file")
    new_string: str = Field(description="the text to put there")
    replace_all: bool = Field(False, description="replace all occurrences")


def edit() -> FunctionTool[Any]:

    def preview(
        file_path: str,
        run: Run,
        old_string: str | None = None,
        new_string: str | None = None,
        replace_all: bool = False,
        edits: list[EditPart] | None = None,
    ) -> ChangeSet:
        wanted = _wanted(old_string, new_string, replace_all, edits)
        path = workspace_path(run.host, file_path)
        if path.endswith(".ipynb"):
            raise ToolFailure(f"{file_path} is a notebook: use NotebookEdit to change its cells.")
        before = content_before(run.host, file_path)
        if before is None and wanted[0].old:
            raise ToolFailure(f"{file_path} does not exist: check the path, or create it with Write.")
        if before:
            marks_of(run.host).require(run, file_path, before)
        return from_edits(path, before, wanted, f"edit {path}", "Edit")

    def edit(
        file_path: str,
        run: Run,
        old_string: str | None = None,
        new_string: str | None = None,
        replace_all: bool = False,
        edits: Annotated[list[EditPart], Field(min_length=1, max_length=MOST_EDITS)] | None = None,
    ) -> Result:
        """Edit.

        Args:
            file_path: the file; a relative path starts at the workspace
            old_string: the text to replace, exactly as in the file
            new_string: the text to put there
            replace_all: replace all occurrences
            edits: several replacements in one file, instead of the three above
        """
        loose = "" if run.changes is None else run.changes.label.removeprefix(f"edit {run.changes.files[0].path}")
        return applied_result(run, f"Edited {file_path}{loose}")

    return builtin_tool(edit, title="Edit a file", icon="edit", effects="mutating", writes="file_path", preview=preview)


def _wanted(old: str | None, new: str | None, all: bool, edits: Sequence[EditPart] | None) -> list[TextReplacement]:
    if edits is not None:
        if old is not None or new is not None:
            raise ToolFailure("Pass either old_string and new_string, or edits, not both.")
        return [TextReplacement(each.old_string, each.new_string, all=each.replace_all) for each in edits]
    if old is None or new is None:
        raise ToolFailure("Pass old_string and new_string, or edits.")
    return [TextReplacement(old, new, all)]
