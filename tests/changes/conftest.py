"""The tests of this folder look at files, not at what a power cut leaves of them: syncs are skipped."""

import os
from collections.abc import Iterator

import pytest


@pytest.fixture(scope="package", autouse=True)
def no_syncs() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda descriptor: None)
        yield
