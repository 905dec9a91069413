"""Panels: what takes the keys instead of the input line. See ``tui.port.Panel``.

queue      the open questions: one card is shown, the others are counted
questions  the card of a question; ``always``: the rules it offers, ``fields``: questions with options
arming     when a card takes keys
lists      a list to choose from; ``sessions`` and ``rewind`` are such lists
scroll     a long text or a diff
page       lines of a panel
"""
