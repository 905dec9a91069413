"""Model requests outside the conversation: summaries that keep the history within the context window, titles and
recaps."""
