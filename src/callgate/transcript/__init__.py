"""The record of a session: its log, what is loaded of it, and its import and export."""
