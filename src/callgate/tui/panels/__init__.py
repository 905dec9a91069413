"""Panels, which receive the keys in place of the input line. See ``tui.port.Panel``.

question_queue    the open questions, of which one is shown as a card
question_card     the card of a question; ``card_forms`` has its rules to remember and its fields
list_panel        a list to choose from; ``sessions_panel`` is a list
pending_panel     staged changes, to apply or discard
trust_panel       the question whether the user trusts a folder
scroll_panel      a long text, a diff, the keys of a context, the whole conversation
panel_page        the lines of a panel
"""
