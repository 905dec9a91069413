"""For the tests of trust."""

from pathlib import Path

import pytest

from callgate.policy.trust import Trust
from tests.policy.trust_kit import HOOKS, put


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A repository whose settings have hooks."""
    folder = tmp_path / "root"
    put(folder, ".callgate/settings.toml", HOOKS)
    return folder


@pytest.fixture
def store(tmp_path: Path) -> Trust:
    """Nobody has trusted anything yet; it is always the same second."""
    return Trust(tmp_path / "data", clock=lambda: 1_000.0)
