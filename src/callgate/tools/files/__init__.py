"""Modules of the tools that read and change files.

file_kinds    text files, images, PDF files, notebooks and folders as content for a model
file_changes  the file before a change, and the result after it
read_marks    the files that a session has read, with their hashes
"""
