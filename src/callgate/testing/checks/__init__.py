"""Checks of the promises that every implementation of a port must keep: run these on your own.

Each ``check_*`` raises an AssertionError that names the broken promise. All are coroutines, so that they run on the
event loop the implementation is made for.
"""
