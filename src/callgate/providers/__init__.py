"""Real models: one file for each family of APIs, and the wire that all of them share."""
