"""Changes to files: shown first, applied whole, taken back."""
