"""Changes to files: history, diffs, merge, undo, and change sets from edits and patches.

    history, history_host    store every change on disk before it is applied; the host of a session with a history
    undo, merge              compute how to undo changes when files have changed since
    diff, hunks, matching                    display changes to the user
    edits, patch, nearest, text              make change sets from edits and patches, for the tools Edit and ApplyPatch

This module is imported by every session, so it imports nothing; the other modules are imported at the first change.
"""

UNDO = "undo"
"""The ``tool`` of changes that undo other changes."""
