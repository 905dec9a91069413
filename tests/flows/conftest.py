"""For every test of this folder."""

from pathlib import Path

import pytest

from tests.flows.keep import Keep


@pytest.fixture
def keep(tmp_path: Path) -> Keep:
    return Keep(tmp_path)
