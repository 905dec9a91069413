"""Rules, modes, remembered answers, hooks and trust: the package decides which calls run."""
