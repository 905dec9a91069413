"""Requests beside the conversation: summaries that keep the history within the model's window, titles and recaps."""
