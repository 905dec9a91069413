"""A session: inputs in, events out. ``assembly`` makes one of a model, tools and settings.

conversation    the session as its users see it
view            the state as properties
run             one run, from an input to its end
work            runs the turns: the next prompt, work left open, tasks between turns
history         edits of the conversation: rewind, branch, snip, trim, and settings on record
meter           measures requests and turns
nesting         sessions inside sessions: names, costs, questions and modes; ``nested_gate`` judges their calls
answer_mailbox  answers of other programs
user_questions  questions that no call asks
hooks           hooks for everything but calls
remembered      answers that are remembered beyond the session
"""
