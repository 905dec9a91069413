"""The status line of the terminal: a command of the person gets JSON on its standard input and prints the line.

payload  the JSON, as a function of a snapshot
totals   the part of the snapshot that is a fold of events
output   the lines that may be shown of what the command printed
runner   when the command runs, and what its end changes
shown    all of it for an open session
"""
