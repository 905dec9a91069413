"""Changes to files: kept, shown as diffs, merged, undone, and made of edits and patches.

    history, history_host    every change on disk before it is applied, and the host of a session that does so
    undo, merge              what taking changes back does to the files as they are now
    diff, hunks, matching, summary               changes as people read them
    edits, patch, nearest, text                  changes from edits and patches, for the tools Edit and ApplyPatch

This module is light: it is loaded with every session, the others with the first change.
"""

from typing import TYPE_CHECKING

from callgate.core.ports import Host

if TYPE_CHECKING:
    from callgate.changes.history_host import HistoryHost

UNDO = "undo"
"""The tool that changes name which take others back."""


def kept_changes(host: Host) -> "HistoryHost | None":
    """The history of a host that keeps its changes; None for any other."""
    return getattr(host, "kept_changes", None)
