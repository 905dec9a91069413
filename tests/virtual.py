"""Async tests run in virtual time; they must leave no task behind, and no exception that nobody saw."""

import asyncio
from collections.abc import Awaitable, Callable
from inspect import iscoroutinefunction
from typing import Any

import pytest

from callgate.testing import run_virtual, settle


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    if not iscoroutinefunction(pyfuncitem.obj):
        return None
    wanted = pyfuncitem._fixtureinfo.argnames
    run_virtual(alone(pyfuncitem.obj, {name: pyfuncitem.funcargs[name] for name in wanted}))
    return True


async def alone(test: Callable[..., Awaitable[None]], fixtures: dict[str, Any]) -> None:
    unseen: list[str] = []
    asyncio.get_running_loop().set_exception_handler(
        lambda _loop, context: unseen.append(f"{context['message']}: {context.get('exception')!r}")
    )
    await test(**fixtures)
    await settle()
    left = asyncio.all_tasks() - {asyncio.current_task()}
    assert not left, f"tasks left behind: {left}"
    assert not unseen, f"exceptions that nobody saw: {unseen}"


async def passes(seconds: float) -> None:
    """So much virtual time passes."""
    await asyncio.sleep(seconds)
