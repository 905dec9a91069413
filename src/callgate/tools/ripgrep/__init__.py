"""Searches the contents and the names of files, with ripgrep or with a built-in program of the same output format.

search_engine   select the search program: packaged ripgrep, ``rg`` on PATH, or the built-in one
search_request  a search as data, and as arguments of ripgrep
globs           patterns for file names
search_root     open the searched folder, and select what the program can read
search_run      run the program, limit its output, and parse it
search_text     the results of Grep as text for the model
excluded_files  the files that a search must omit
file_walk, own_search    the built-in program: the same files and lines as with ripgrep
"""
