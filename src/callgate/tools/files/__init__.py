"""Parts of the tools that read and change files.

file_text     texts with their encodings
file_kinds    images, PDF files, notebooks and folders as content for a model
file_changes  changes of whole files as change sets
read_marks    which files a session has read, and in which state
notebook      cells of a notebook
"""
