"""Structural search and rewriting over many files, on ast-grep's engine.

terms          value types: patterns, limits, results
languages      the known languages, and the language of a file
source_walk    finds the files to examine, in order
templates      the replacement text of a match
source         positions and replacements in the text of one file, and scripts inside HTML
examination    one file: matches, replacements, overlaps
worker         the process that examines files
worker_pool    starts several workers and distributes the files
scan           walks, examines, collects: ``search`` and ``rewrite``
"""
