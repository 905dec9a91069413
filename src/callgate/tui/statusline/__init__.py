"""The user's status line: a command reads JSON on standard input and prints the lines to show.

status_payload  the JSON object, made from the session and from totals of its events
status_line     the status line of an open session: runs the command, and makes its output safe to show
"""
