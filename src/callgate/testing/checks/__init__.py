"""Conformance checks of the ports: run them on your own implementations.

Each ``check_*`` raises an AssertionError that names the violated requirement. All are coroutines, because they run on
the
event loop of the implementation.
"""
