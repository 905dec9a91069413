"""The terminal interface: sends inputs to a session, receives its events and shows them.

app              starts the terminal and routes keys to the other modules
layout           the layout of prompt_toolkit for the redrawn part of the screen
screen           output and application of prompt_toolkit; prints finished lines above the redrawn part
frames           schedules and draws frames
fold             folds events into blocks and session state; ``blocks`` has the types
markdown_parts   splits Markdown that is still streaming into finished parts
render           paints blocks as lines
theme            tables of colours, signs and words
composer         the input line
panels           questions and lists, which receive the keys while they are open
commands         slash commands
keys             the table of keys; ``bindings`` registers it with prompt_toolkit
route            decides which part of the screen receives a key
port             the interface for panels and commands; ``inner_port`` is the interface for the other modules
attention        terminal title and bell
external_editor  edits a text in $EDITOR; used by `callgate answer` too
statusline       the user's status line command
"""
