"""Commands for permissions: rules, settings and remembered answers."""
