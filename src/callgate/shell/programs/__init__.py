"""The table of programs: which of their words read, write, run, load or send something."""
