"""Layer 0: frozen value types and tables. Standard library only, no async."""
