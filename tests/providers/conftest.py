"""Async tests of this folder run on a real event loop, because their sockets are real; the clock is moved by hand."""

import asyncio
from inspect import iscoroutinefunction

import pytest

from tests.virtual import alone


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    if not iscoroutinefunction(pyfuncitem.obj):
        return None
    wanted = pyfuncitem._fixtureinfo.argnames
    asyncio.run(alone(pyfuncitem.obj, {name: pyfuncitem.funcargs[name] for name in wanted}))
    return True
