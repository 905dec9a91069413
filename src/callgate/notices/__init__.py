"""Notices: facts that the model is told between its turns, durable and delivered at most once."""
