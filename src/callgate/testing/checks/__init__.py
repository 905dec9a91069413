"""Conformance checks of the ports, to run on other implementations of a port.

Each ``check_*`` function raises an AssertionError that names the violated requirement. All functions are coroutines,
because they run on the event loop of the implementation.
"""
