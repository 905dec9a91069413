"""Applies a ChangeSet to the disk: either all of its files are changed, or none, even if the program is killed.

    plan        determine the old and new content of every file; refuse links and paths outside the workspace
    compare     compare every file with the preview
    journal     record the files that will be created, so that recovery can remove them
    stage       write new contents and backups beside their targets and sync them; sync new folders into their parents
    journal     ``ready``: from now on recovery completes the change after a crash
    commit      one rename or link per file; after a failure, restore the files changed so far
    clean up    remove the backups, sync, and then remove the journal entry

Each step opens the folder of a file again, without following links, so a step fails if the folder was replaced by a
link. The journal is stored in a private folder outside the workspace, because a repository must not contain a journal
of its own. A lock in the journal folder and locks on the workspace and its parent folders serialize all applies.
"""
