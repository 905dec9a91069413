"""Changes to files: history, diffs, merge, undo, and change sets from edits and patches.

    history, history_host    store every change on disk before it is applied; the host of a session that does this
    undo, merge              compute how to undo changes when files have changed since
    diff, hunks, matching, change_summary    changes as text for people
    edits, patch, nearest, text              change sets from edits and patches, for the tools Edit and ApplyPatch

This module is loaded with every session, so it imports nothing; the others are loaded with the first change.
"""

UNDO = "undo"
"""The ``tool`` of changes that undo others."""
