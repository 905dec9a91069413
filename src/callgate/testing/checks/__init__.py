"""Checks of the promises that every implementation of a port must keep: run these on your own.

Each ``check_*`` raises an AssertionError that names the broken promise. All are coroutines, so that they run on the
event loop the implementation is made for.
"""

from callgate.testing.checks.calls import check_gate, check_journal, check_tool, check_toolbox
from callgate.testing.checks.streams import check_events, check_model
from callgate.testing.checks.world import check_clock, check_host

__all__ = [
    "check_clock",
    "check_events",
    "check_gate",
    "check_host",
    "check_journal",
    "check_model",
    "check_tool",
    "check_toolbox",
]
