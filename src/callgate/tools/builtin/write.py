"""The tool Write: writes a whole file, and displays the change as a diff first."""

from typing import Any

from callgate.changes.edits import encoded
from callgate.changes.text import TextForm, read_guessed
from callgate.core.ports import Run
from callgate.tools.builtin import builtin_tool
from callgate.tools.files.file_changes import applied_result, content_before, workspace_path
from callgate.tools.files.read_marks import marks_of
from callgate.tools.tool import FunctionTool
from callgate.words.calls import Result
from callgate.words.changes import ChangeSet, FileChange
from callgate.words.errors import ToolFailure


def write() -> FunctionTool[Any]:

    def preview(file_path: str, content: str, run: Run) -> ChangeSet:
        before, path = content_before(run.host, file_path), workspace_path(run.host, file_path)
        if not before:
            form = TextForm(newline="")
        else:
            read = read_guessed(before)
            if read is None:
                raise ToolFailure(f"{file_path} is a binary file, and Write replaces only text: choose another name.")
            marks_of(run.host).require(run, file_path, before)
            form = read[1]
        after = encoded(content.removeprefix("\ufeff") if form.bom else content, form, path)
        if after == before:
            raise ToolFailure(f"{file_path} already has this content, so nothing was written.")
        verb = "create" if before is None else "replace"
        return ChangeSet(f"{verb} {path}", (FileChange(path, before, after),))

    def write(file_path: str, content: str, run: Run) -> Result:
        """Write.

        Args:
            file_path: the file; a relative path starts at the workspace
            content: all that the file shall have
        """
        created = run.changes is not None and run.changes.files[0].before is None
        return applied_result(run, f"{'Created' if created else 'Replaced'} {file_path}")

    return builtin_tool(
        write, title="Write a file", icon="edit", effects="mutating", writes="file_path", preview=preview
    )
