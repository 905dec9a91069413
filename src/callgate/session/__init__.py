"""A session: inputs in, events out. ``assembly`` makes one of a model, tools and settings.

conversation       the session as its users see it
work               runs the turns: the next prompt, what was left open, what is done between turns
history            edits of the conversation: rewind, branch, snip, trim, and settings on record
compaction         keeps the history within the window of the model; ``context_gauge`` counts its use
summaries          summaries by a model; ``restoring``: texts that are put back behind them
titles             titles by a model
recaps             one line on where things stand, by a model
asking             one request beside the conversation
workspace_changes  recovery after a crash, and undo
hooks              hooks for everything but calls
remembered         answers that are remembered beyond the session
questions          questions and answers of nested sessions and of other programs
view               the state as properties
tasks              tasks that no caller waits for
parts              the collaborators that a session is given
"""
