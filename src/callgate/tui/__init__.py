"""The terminal: a door that sends inputs, hears events, and shows their fold.

app        joins the parts, decides where keys go, draws frames
opening    which session is opened, and what is shown of one that goes on
layout     the live part for prompt_toolkit
screen     one write for each frame; finished lines above the live part
fold       events folded into blocks and the state of the session; ``blocks`` are its nouns
streaming  the finished part of Markdown that is still arriving
render     blocks as lines
theme      colours, signs and words
composer   the input line
panels     questions and lists, which take the keys while they are open
commands   slash commands
keys       the table of keys
port       the terminal as panels and commands see it
transcript a whole conversation: scrolled and searched
attention  the title of the terminal and its bell
editor     a text in the editor of the person
statusline the person's status line: its payload, cleaning and runs
"""
