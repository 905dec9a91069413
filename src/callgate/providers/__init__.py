"""Models that are reached over HTTP APIs: one group of modules for each API family, and the HTTP code that all
families share."""
