"""A ChangeSet onto real files: all of it or nothing, also when the program dies in the middle.

    steps        what every place is to become; symlinks are refused, and so is what lies outside the workspace
    difference   every file is compared with what the preview found
    note         the journal says what will be made, so that a crash leaves no litter
    stage        new contents and backups, synced, beside their targets
    note         the journal says that all is ready: from here on a crash is finished
    commit       one rename a file; a failure puts back what was done so far

Each step opens the file's folder anew, beneath the workspace and over no link: a folder that is swapped for a link
meanwhile makes the step fail. The journal is in a private folder, not in the workspace: whoever wrote the files there
must not tell us what to do with them. One lock beside it, and locks on the folders themselves, make those who apply
wait for each other.
"""

from callgate.host.applying.applying import apply_changes
from callgate.host.applying.journal import forget_applied, is_applied
from callgate.host.applying.recovering import Recovered, recover

__all__ = ["Recovered", "apply_changes", "forget_applied", "is_applied", "recover"]
