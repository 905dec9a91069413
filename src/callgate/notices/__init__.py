"""Notices: recorded messages for the model, each delivered at most once, between two turns."""
