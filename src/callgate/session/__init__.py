"""A session receives inputs and publishes events. The package ``assembly`` creates a session from a model, tools and
settings.

conversation    the methods and properties for callers of a session
controls        the state and the operations that only interfaces use
run             one run, from an input to its end
work            runs the turns: the next prompt, unfinished work, tasks between turns
history         edits of the conversation: rewind, branch, snip, trim, and recorded settings
reply           events as asynchronous iterators
nesting         nested sessions: names, costs, questions and modes; ``nested_gate`` checks their calls
user_questions  questions to the user outside of calls, and answers that other programs write next to the log
hooks           hooks for all events except calls
remembered      answers that are remembered beyond the session
"""
