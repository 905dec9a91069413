"""Nouns as JSON and text as a terminal may show it: two formats that every room and every door uses."""
