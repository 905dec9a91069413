"""Commands about who may run what: rules, settings and remembered answers."""
