"""Commands, functions and addresses that are asked or told about what happens."""
