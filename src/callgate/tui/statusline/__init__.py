"""The user's status line: a command reads JSON on standard input and prints the lines to show.

status_payload  the JSON object, made from the session and from totals of its events
status_runner   runs the command and removes unsafe characters from its output
status_line     the status line of an open session
"""
