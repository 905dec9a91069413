"""Exports sessions as Markdown, HTML or AI SDK messages, and imports transcripts of Claude Code."""
