"""Tool search: finds the tools of a large set that match a query."""
