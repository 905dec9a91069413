"""The tool ApplyPatch: applies a patch to several files, completely or not at all. ``changes.patch`` parses the
patch."""

from typing import Any

from callgate.changes.patch import from_patch, patch_paths
from callgate.core.ports import Run
from callgate.tools.builtin import builtin_tool
from callgate.tools.files.file_changes import applied_result, content_before
from callgate.tools.tool import FunctionTool
from callgate.words.calls import Result
from callgate.words.changes import ChangeSet


def apply_patch() -> FunctionTool[Any]:
    """Make the tool ``ApplyPatch``. The files need not have been read with Read, because the context lines of the patch
    show that the model knows them."""

    def preview(patch: str, run: Run) -> ChangeSet:
        return from_patch(patch, lambda path: content_before(run.host, path))

    def apply_patch(patch: str, run: Run) -> Result:
        """Apply a patch.

        Args:
            patch: the whole patch, as a unified diff or between *** Begin Patch and *** End Patch
        """
        return applied_result(run, "Applied the patch")

    return builtin_tool(
        apply_patch,
        aliases=["apply_patch"],
        title="Apply a patch",
        icon="edit",
        effects="mutating",
        writes=lambda a: patch_paths(a.patch),
        preview=preview,
    )
