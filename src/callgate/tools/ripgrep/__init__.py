"""Searches the contents and the names of files, with ripgrep or with a built-in program of the same output format.

search_engine   select the search program, and make its arguments
search_root     open the searched folder, and select what the program can read
search_run      run the program, limit and parse its output, and format the results of Grep
excluded_files  the files that a search must omit
own_search      the built-in program: the same files and lines as with ripgrep
"""
