"""Panels: what takes the keys instead of the input line. See ``tui.port.Panel``.

queue      the open questions: one card is shown, the others are counted
questions  the card of a question; ``always``: the rules it offers, ``fields``: questions with options
arming     when a card takes keys
lists      a list to choose from; ``sessions`` and ``rewind`` are such lists
pending    staged changes, applied or discarded
trust      the question whether a folder is trusted
scroll     a long text or a diff
page       lines of a panel
"""
