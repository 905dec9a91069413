"""The policy room: rules, modes, remembered answers, hooks and trust decide which calls run."""
