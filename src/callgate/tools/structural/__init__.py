"""Structural search and rewriting of many files, with the engine of ast-grep.

scan_types     value types (patterns, limits, results), the supported languages, and the language of a file
source_walk    finds the files to examine, in order
source_text    positions and replacements in the text of one file, and scripts inside HTML
examination    one file: matches, replacements, overlaps; the process that examines files
worker_pool    start several workers and distribute the files
scan           walk, examine, collect: ``search`` and ``rewrite``
"""
