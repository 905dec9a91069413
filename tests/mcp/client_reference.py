"""The reference servers of MCP from npm and PyPI, installed once below the environment of this checkout."""

import os
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from tests.mcp.conformance import _node  # pyright: ignore[reportPrivateUsage]

_CACHE = Path(sys.prefix) / "mcp-reference"
_SECONDS = 240


@cache
def npm_server(name: str) -> tuple[str, str]:
    """Node and the program of ``@modelcontextprotocol/server-NAME``; skips the test where it cannot be installed."""
    node, package = _node(), f"@modelcontextprotocol/server-{name}"
    folder = _CACHE / f"npm-{name}"
    program = folder / "node_modules" / package / "dist" / "index.js"
    if not program.is_file():
        npm = node.parents[1] / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
        path = os.pathsep.join((str(node.parent), os.environ["PATH"]))
        words = ("install", "--no-audit", "--no-fund", "--fetch-retries", "1", "--prefix", str(folder), package)
        _run(package, str(node), str(npm), *words, env={**os.environ, "PATH": path})
    return str(node), str(program)


@cache
def python_server(name: str) -> str:
    """The program of ``mcp-server-NAME``, in an environment of its own: it may want another version of the SDK."""
    folder, package = _CACHE / f"pypi-{name}", f"mcp-server-{name}"
    program = folder / "bin" / package
    if not program.is_file():
        _run(package, sys.executable, "-m", "venv", str(folder))
        _run(package, str(folder / "bin" / "python"), "-m", "pip", "install", "--quiet", "--retries", "1", package)
    return str(program)


def _run(package: str, *argv: str, env: dict[str, str] | None = None) -> None:
    try:
        ran = subprocess.run(argv, capture_output=True, text=True, timeout=_SECONDS, env=env, check=False)
    except subprocess.TimeoutExpired:
        pytest.skip(f"{package} could not be installed within {_SECONDS} s")
    if ran.returncode:
        pytest.skip(f"{package} cannot be installed here: {ran.stderr.strip()[-300:]}")
