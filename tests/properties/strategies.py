"""Random locks, schedules and people, for the property tests."""

import asyncio

from hypothesis import strategies as st

from callgate.words.traits import Locks, exclusive, reads, shared, writes

PATHS = (".", "a", "a/b", "a/b/c", "ab", "d", "d/e")
"""Few enough to meet often; ``ab`` is a neighbour of ``a`` and not below it."""

paths = st.lists(st.sampled_from(PATHS), min_size=1, max_size=2, unique=True)

path_locks: st.SearchStrategy[Locks] = st.one_of(
    paths.map(lambda found: reads(*found)),
    paths.map(lambda found: writes(*found)),
    st.builds(lambda read, write: reads(*read) | writes(*write), paths, paths),
    st.just(Locks()),
)

locks: st.SearchStrategy[Locks] = st.one_of(path_locks, path_locks, st.just(shared), st.just(exclusive))
"""Declared locks of every kind; path locks are the most frequent."""


async def passing(seconds: float) -> None:
    """Let virtual time pass."""
    await asyncio.sleep(seconds)
