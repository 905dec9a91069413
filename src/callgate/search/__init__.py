"""Tool search: finds the tools of a large set that fit a text."""
