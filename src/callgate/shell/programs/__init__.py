"""The table of programs: which words read, write, run, load or send something."""
