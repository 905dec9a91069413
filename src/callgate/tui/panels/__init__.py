"""Panels: what takes the keys instead of the input line. See ``tui.port.Panel``.

questions  the card of an open question
"""
