"""Structural search and rewriting over many files, on ast-grep's engine.

terms       the nouns: what to look for, limits, results
languages   the known languages, and the one of a file
ignore      ``.gitignore`` and ``.ignore``
files       the walk: the files to examine, in order
templates   the text that a rewrite puts in place of a match
source      places and replacements in the text of one file
embedded    scripts and styles inside HTML
examine     one file: matches, replacements, overlaps
worker      the process that examines files
pool        several workers, and the files shared out among them
scan        walk, examine, collect: ``search``, and the part that ``rewrite`` shares
"""
