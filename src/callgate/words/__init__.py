"""Layer 0: frozen value types and tables. This package imports only the standard library and has no async code."""
