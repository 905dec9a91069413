"""Functions for Write, Edit, ApplyPatch and NotebookEdit: read the file before a change, and make the result after
it."""

from collections.abc import Mapping
from dataclasses import replace

from callgate.changes.diff import display, line_counts, summary
from callgate.changes.hunks import diffs
from callgate.changes.text import shown
from callgate.core.ports import Host, Run
from callgate.host.ports import files_of
from callgate.tools.builtin.read import MOST_BYTES
from callgate.tools.files.read_marks import marks_after
from callgate.words.calls import Result
from callgate.words.errors import ToolFailure
from callgate.words.messages import Text

_LINES_NAMED = 8


def workspace_path(host: Host, path: str) -> str:
    """Return the path relative to the workspace, with links resolved, as used in change sets. A path outside the
    workspace is returned unchanged, so that applying the change is refused."""
    place, root = host.resolve_path(path), host.resolve_path(".").resolved.rstrip("/") + "/"
    return place.resolved[len(root) :] if place.inside and place.resolved.startswith(root) else path


def content_before(host: Host, path: str) -> bytes | None:
    """Return the bytes of a file that is to be changed, or None if the file does not exist."""
    place = host.resolve_path(path)
    if path.endswith("/"):
        raise ToolFailure(f"{path} is the path of a folder, not of a file.")
    if place.fault is None and not place.inside:
        told = f"{path} is outside the workspace {host.resolve_path('.').resolved}: changes there could not be undone"
        raise ToolFailure(f"{told}, so file tools do not change it. Use a command, which may need approval.")
    files = files_of(host)
    kind = files.status(path).kind
    if kind == "missing":
        return None
    if kind == "folder":
        raise ToolFailure(f"{path} is a folder, not a file.")
    return files.read(path, MOST_BYTES)


def applied_result(run: Run, told: str) -> Result:
    """Return the result of a call whose change was applied: a text, and the diff for display. Files that the session
    has read are marked as known in their new state."""
    changes = run.changes
    if changes is None:
        raise ToolFailure("no change was applied")
    found = list(diffs(changes))
    added, removed = line_counts(found)
    details: Mapping[str, object] = {
        "files": [change.path for change in changes.files],
        "replacements": changes.count,
        "lines_added": added,
        "lines_removed": removed,
    }
    text = f"{told}: {summary(changes, found)}{_places(run)}"
    shown_diff = replace(display(changes, root=run.host.normal(".")), title=None)  # the call names the file
    return Result((Text(shown(text)),), (shown_diff,), details=details, context_update=marks_after(run))


def _places(run: Run) -> str:
    assert run.changes is not None
    if len(run.changes.files) != 1 or run.changes.files[0].before is None:
        return ""
    starts = [f"{hunk.after_at}" for found in diffs(run.changes, context=0) for hunk in found.hunks]
    if not starts:
        return ""
    more = ", …" if len(starts) > _LINES_NAMED else ""
    return f", at line {', '.join(starts[:_LINES_NAMED])}{more}"
