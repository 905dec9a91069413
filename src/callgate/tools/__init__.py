"""Functions as tools: their schemas, arguments, traits and results, and the boxes they come in."""
