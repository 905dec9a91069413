"""The site builds without a warning, and asks no other host for anything."""

import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.docs.kit import ROOT

# What a browser would load by itself; a link that a person follows may lead elsewhere.
LOADED = re.compile(
    r"<(?:script|img|iframe|source)\b[^>]*\bsrc=\"([^\"]+)\"|<link\b(?![^>]*rel=\"canonical)[^>]*href=\"([^\"]+)\""
)
FROM_STYLES = re.compile(r"(?:@import|url\()\s*['\"]?(?!data:)(https?:)?//")


@pytest.mark.slow
@pytest.mark.skipif(not find_spec("sphinx"), reason="sphinx is not installed: scripts/setup.sh docs")
def test_the_site_builds_in_strict_mode_and_needs_no_network(tmp_path: Path) -> None:
    words = ["-q", "-E", "-W", "--keep-going", "-n", "-d", str(tmp_path / "trees"), "docs", str(tmp_path / "site")]
    built = subprocess.run(
        [sys.executable, "-m", "sphinx", *words], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert built.returncode == 0, built.stderr
    pages = sorted((tmp_path / "site").rglob("*.html"))
    assert len(pages) > 60
    foreign = [
        f"{page.name}: {target}"
        for page in pages
        for match in LOADED.finditer(page.read_text(encoding="utf-8"))
        if (target := match[1] or match[2]).startswith(("http:", "https:", "//"))
    ]
    styles = [
        file for file in (tmp_path / "site").rglob("*.css") if FROM_STYLES.search(file.read_text(encoding="utf-8"))
    ]
    assert (foreign, styles) == ([], [])
    statuses = (tmp_path / "site/reference/statuses.html").read_text(encoding="utf-8")
    assert "<svg" in statuses
    assert "awaiting approval</text>" in statuses
