"""Who may run what: rules, shell and path analysis, modes, remembered answers, hooks, trust."""
