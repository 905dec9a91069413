"""Applies a ChangeSet to real files: all of it or nothing, also when the program dies in the middle.

    plan        every file: what must be there now, what shall be there afterwards; links and outside paths are refused
    compare     every file with what the preview found
    journal     what will be made, so that recovery can remove it
    stage       new contents and backups beside their targets, all synced; new folders synced into their parents
    journal     ``ready``: from here on a crash is finished
    commit      one rename or link per file; a failure puts back what was done so far
    tidy up     backups are removed and synced, and only then does the journal entry go

Each step opens the file's folder anew, beneath the workspace and over no link: a folder that is swapped for a link
meanwhile makes the step fail. The journal lies in a private folder, not in the workspace: a repository must not bring
a journal of its own. A lock beside it, and locks on the folders themselves, make applies wait for each other.
"""

from callgate.host.applying.apply import apply_changes, with_modes
from callgate.host.applying.journal import ApplyEntry, applied_entries, forget_applied, open_entries
from callgate.host.applying.recovery import Recovered, recover

__all__ = [
    "ApplyEntry",
    "Recovered",
    "applied_entries",
    "apply_changes",
    "forget_applied",
    "open_entries",
    "recover",
    "with_modes",
]
