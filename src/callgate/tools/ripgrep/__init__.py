"""Search in files and for files, by ripgrep or by a program of our own that answers in the same form.

engine     which program is in use: packaged, on PATH, or our own
request    a search as data, and as arguments of ripgrep
globs      patterns for names of files
running    starts the program, bounds its output, and reads it
walking, builtin     our own program: the files that ripgrep would look at, and the lines it would find
"""
