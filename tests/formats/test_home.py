"""The home folder in paths that are shown."""

import pytest

from callgate.formats.home import home_path


def test_the_home_folder_is_a_tilde_and_other_paths_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/ann")
    shown = [home_path(path) for path in ("/home/ann", "/home/ann/shop", "/home/anna/shop", "/srv")]
    assert shown == ["~", "~/shop", "/home/anna/shop", "/srv"]
