"""Modules of the tools that read and change files.

file_text     text files with their encodings
file_kinds    images, PDF files, notebooks and folders as content for a model
file_changes  the file before a change, and the result after it
read_marks    the files that a session has read, with their hashes
notebook      cells of a notebook
"""
