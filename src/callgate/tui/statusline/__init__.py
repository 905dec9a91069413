"""The user's status line: a command reads JSON on standard input and prints the lines.

status_payload  the JSON, made of the session and of totals of its events
status_runner   runs the command and cleans its output
status_line     connects these to an open session
"""
