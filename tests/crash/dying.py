"""An apply that ends as if its program were killed: nothing is put back, tidied up or noted."""

from collections.abc import Generator
from contextlib import contextmanager

import pytest

from callgate.host.applying import apply, replacement


class Died(BaseException):
    """The program is gone."""


@contextmanager
def dies_after(commits: int, monkeypatch: pytest.MonkeyPatch) -> Generator[None]:
    """Inside, an apply dies when so many of its files are in their places."""
    real, done = replacement.FileReplacement.commit, 0

    def commit(self: replacement.FileReplacement) -> None:
        nonlocal done
        if done == commits:
            raise Died
        real(self)
        done += 1

    def finish(self: object) -> None:
        raise Died

    with monkeypatch.context() as patch:
        patch.setattr(replacement.FileReplacement, "commit", commit)
        patch.setattr(replacement.FileReplacement, "undo", lambda self: True)
        patch.setattr(apply._Apply, "_roll_back", lambda self, left: None)
        patch.setattr(apply._Apply, "_finish", finish)
        with pytest.raises(Died):
            yield
