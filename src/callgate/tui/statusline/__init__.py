"""The user's status line: a command reads JSON on standard input and prints the lines.

status_payload  the JSON, as a function of a snapshot
status_totals   the part of the snapshot that is folded from events
status_runner   runs the command and cleans its output
status_line     connects these to an open session
"""
