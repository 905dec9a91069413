"""What the runtime costs, against the least a person would write by hand; see ``python -m benchmarks --help``."""
