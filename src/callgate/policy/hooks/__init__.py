"""Hooks: commands, functions and URLs that are called on events of a session."""
