"""Files and images that a person names in the input line."""

from pathlib import Path

import pytest

from callgate.tui.composer.local_files import clipboard_picture, folder_names, read_picture, workspace_files
from callgate.words.errors import UsageError

PNG = b"\x89PNG\r\n\x1a\n" + bytes(40)


@pytest.mark.parametrize("engine", ["system", "builtin"])
def test_files_are_those_that_git_does_not_ignore(engine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CALLGATE_RIPGREP", engine)
    for name in ("a.py", "src/b c.py", ".hidden/x", ".env", "out/big.o", "é.md"):
        file = tmp_path / name
        file.parent.mkdir(exist_ok=True)
        file.write_text("x")
    (tmp_path / ".gitignore").write_text("out/\n")
    assert sorted(workspace_files(tmp_path)) == ["a.py", "src/b c.py", "é.md"]
    assert len(workspace_files(tmp_path, most=2)) == 2


COMPILED = ("a.pyc", "b.pyo", "c.pyd", "d.o", "e.obj", "f.a", "lib/g.so", "h.dylib", "i.dll", "j.exe", "K.class")
KEPT = ("a.py", "o", "so.md", "class.txt", "pyc", "a.object", "dll/readme", "node_modules.md", "x.awk", "b.pyx")


def test_compiled_files_and_packages_are_not_offered(tmp_path: Path) -> None:
    folders = ("__pycache__/m.py", "src/__pycache__/n.txt", "node_modules/p/index.js", "web/node_modules/q.js")
    for name in (*COMPILED, *KEPT, *folders):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    assert sorted(workspace_files(tmp_path)) == sorted(KEPT)


def test_one_folder_is_listed_with_hidden_names_last(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    for name in ("b", ".a"):
        (tmp_path / name).touch()
    assert folder_names(tmp_path) == ["b", "folder/", ".a"]
    assert folder_names(tmp_path / "missing") == []


def test_an_image_is_known_by_what_is_in_it_and_a_large_one_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(PNG)
    (tmp_path / "b.png").write_text("no image")
    (tmp_path / "c.png").mkdir()
    found = read_picture(tmp_path / "a.png")
    assert found is not None
    assert (found.media_type, found.data) == ("image/png", PNG)
    assert [read_picture(tmp_path / name) for name in ("b.png", "c.png", "none.png")] == [None, None, None]
    with (tmp_path / "d.png").open("wb") as file:
        file.write(PNG)
        file.truncate(6_000_000)
    with pytest.raises(UsageError, match="at most 5,000,000: make a smaller copy"):
        read_picture(tmp_path / "d.png")


def test_a_missing_program_for_the_clipboard_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UsageError, match="which is not installed; you can also write the path"):
        clipboard_picture()
    program = tmp_path / "xclip"
    program.write_text("#!/bin/sh\nprintf '\\211PNG\\r\\n\\032\\n1234'\n")
    program.chmod(0o755)
    assert clipboard_picture().media_type == "image/png"
