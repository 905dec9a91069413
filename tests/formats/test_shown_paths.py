"""Paths as the screen shows them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callgate.formats.columns import width
from callgate.formats.shown_paths import home_path, shortened, shown_path, shown_paths
from tests.rows import rows

ROOT = "/home/ann/shop/"


@pytest.fixture(autouse=True)
def home(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/ann")


def test_the_home_folder_is_a_tilde_and_other_paths_stay() -> None:
    shown = [home_path(path) for path in ("/home/ann", "/home/ann/shop", "/home/anna/shop", "/srv")]
    assert shown == ["~", "~/shop", "/home/anna/shop", "/srv"]


@rows(
    "path, shown",
    [
        ("/home/ann/shop/src/app.py", "src/app.py"),
        ("/home/ann/shop", "."),
        ("/home/ann/shopping/a.py", "~/shopping/a.py"),
        ("/home/ann/notes.md", "~/notes.md"),
        ("/home/ann", "~"),
        ("/home/anna/notes.md", "/home/anna/notes.md"),
        ("/etc/passwd", "/etc/passwd"),
        ("src/app.py", "src/app.py"),
        ("../other/a.py", "../other/a.py"),
        ("", ""),
    ],
)
def test_a_path_is_relative_to_the_workspace_or_to_the_home_folder(path: str, shown: str) -> None:
    assert shown_path(path, ROOT) == shown


@rows(
    "text, shown",
    [
        ("/home/ann/shop/src/app.py does not exist", "src/app.py does not exist"),
        ("read '/home/ann/shop/a.py' and (/home/ann/shop/b.py)", "read 'a.py' and (b.py)"),
        ("outside the workspace /home/ann/shop: no", "outside the workspace ~/shop: no"),
        ("in /home/ann/shopping/a", "in ~/shopping/a"),
        ("in /mnt/home/ann/shop/a", "in /mnt/home/ann/shop/a"),
        ("in x/home/ann/shop/a", "in x/home/ann/shop/a"),
        ("in /home/anna/x", "in /home/anna/x"),
        ("a: /home/ann/x", "a: ~/x"),
        ("Edit(/home/ann/shop/a.py)", "Edit(a.py)"),
        ("no path", "no path"),
    ],
)
def test_the_paths_in_a_text_are_relative(text: str, shown: str) -> None:
    assert shown_paths(text, ROOT) == shown


@rows(
    "path, columns, shown",
    [
        ("src/app.py", 10, "src/app.py"),
        ("src/shop/basket/app.py", 21, "src/shop/…/app.py"),
        ("src/shop/basket/app.py", 14, "src/…/app.py"),
        ("src/shop/basket/app.py", 9, "…/app.py"),
        ("src/shop/basket/app.py", 6, "app.py"),
        ("src/shop/basket/app.py", 5, "ap…py"),
        ("/etc/shop/basket/app.py", 16, "/etc/…/app.py"),
        ("~/notes/2026/11/a.md", 14, "~/notes/…/a.md"),
        ("a_very_long_file_name_in_the_root.py", 16, "a_very_l…root.py"),
        ("src/中文文件.py", 12, "中文文件.py"),
        ("src/shop/app.py", 0, ""),
    ],
)
def test_a_long_path_is_shortened_in_the_middle_and_keeps_the_file_name(path: str, columns: int, shown: str) -> None:
    assert shortened(path, columns) == shown


@given(st.text("ab/é中.", max_size=30), st.integers(0, 30))
def test_a_shortened_path_fits(path: str, columns: int) -> None:
    assert width(shortened(path, columns)) <= columns
