"""Structural search and rewriting over many files, on ast-grep's engine.

languages   which there are, and which one a file is in
ignoring    the files that tell which files to leave out
files       the walk: which files are looked at, and in which order
terms       what is asked for and what comes back, as nouns
templates   what a rewrite makes of a match
source      the text of one file: places in it, and what is replaced
embedded    scripts and styles inside HTML
examining   one file: matches, replacements, overlaps
worker      the program that examines files, one of several
crew        files shared out among such programs
folding     the way of both, and what came of all files together
searching   ``search``
rewriting   ``rewrite``
"""
