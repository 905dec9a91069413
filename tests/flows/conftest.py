"""For every test of this folder."""

from pathlib import Path

import pytest

from tests.flows.keep import Keep
from tests.virtual import pytest_pyfunc_call

__all__ = ["keep", "pytest_pyfunc_call"]


@pytest.fixture
def keep(tmp_path: Path) -> Keep:
    return Keep(tmp_path)
