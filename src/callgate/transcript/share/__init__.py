"""Sessions that leave as Markdown, HTML or AI SDK messages, and transcripts of other agents that come in."""
