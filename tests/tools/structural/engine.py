"""ast-grep's own command line, which ours must agree with."""

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

PROGRAM = Path(sys.executable).with_name("ast-grep")


def matches(folder: Path, pattern: str, language: str | None = None, paths: Sequence[str] = ()) -> list[dict[str, Any]]:
    """What it finds, in the order of files and text."""
    ran = _run(folder, pattern, language, ["--json=compact"], paths)
    found: list[dict[str, Any]] = json.loads(ran) if ran else []
    return sorted(found, key=lambda each: (each["file"].removeprefix("./").split("/"), _order(each)))


def rewritten(folder: Path, pattern: str, rewrite: str, language: str | None = None) -> dict[str, bytes]:
    """The files of the folder after it has changed them."""
    _run(folder, pattern, language, [f"--rewrite={rewrite}", "-U"], ())
    return contents(folder)


def contents(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not path.is_symlink()
    }


def _order(each: dict[str, Any]) -> tuple[int, int]:
    place = each["range"]["byteOffset"]
    return place["start"], -place["end"]


def _run(folder: Path, pattern: str, language: str | None, more: Sequence[str], paths: Sequence[str]) -> str:
    given = ["-l", language] if language else []
    asked = [str(PROGRAM), "run", f"--pattern={pattern}", *given, *more, *paths]
    ran = subprocess.run(asked, cwd=folder, capture_output=True, text=True, encoding="utf-8")
    assert ran.returncode in (0, 1), ran.stderr
    return ran.stdout
