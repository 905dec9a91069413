"""Notices: durable facts for the model, delivered between its turns at most once."""
