"""Changes to files: kept, shown as diffs, merged, undone, and made of edits and patches.

    history, history_host    every change on disk before it is applied, and the host of a session that does so
    undo, merge              what taking changes back does to the files as they are now
    diff, hunks, matching, summary               changes as people read them
    edits, patch, nearest, text                  changes from edits and patches, for the tools Edit and ApplyPatch

This module is light: it is loaded with every session, the others with the first change.
"""

UNDO = "undo"
"""The tool that changes name which take others back."""
