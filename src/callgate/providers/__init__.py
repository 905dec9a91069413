"""Models behind HTTP APIs: one module group for each API family, and the HTTP code that all families share."""
