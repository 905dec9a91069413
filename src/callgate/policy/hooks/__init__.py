"""Hooks: commands, functions and addresses that are called on events of a session."""
