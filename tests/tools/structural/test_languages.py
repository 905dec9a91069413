"""Every language of the engine is known, under its names and endings; no other name ever reaches it."""

import subprocess
from pathlib import Path

import pytest

from callgate.tools.structural.scan_types import LANGUAGES, language_named, language_of
from callgate.words.errors import ToolFailure
from tests.rows import rows
from tests.tools.structural.engine import PROGRAM


def test_the_languages_are_those_of_the_engine() -> None:
    told = subprocess.run([str(PROGRAM), "run", "-h"], capture_output=True, text=True, check=True).stdout
    listed = told.partition("Supported languages are:")[2].partition("[")[2].partition("]")[0]
    assert sorted(name.strip().lower() for name in listed.split(",")) == [language.name for language in LANGUAGES]


def test_files_are_in_the_language_that_the_engine_takes_them_for(tmp_path: Path) -> None:
    endings = [ending for language in LANGUAGES for ending in language.endings]
    assert len(set(endings)) == len(endings)
    for ending in [*endings, "txt", "vue", "PY", "pyw", "toml"]:
        (tmp_path / f"x.{ending}").write_text("x", encoding="utf-8")
    for name in ("Rakefile", "py", ".py"):
        (tmp_path / name).write_text("x", encoding="utf-8")
    asked = [str(PROGRAM), "run", "-p", "x", "--inspect=entity", "."]
    told = subprocess.run(asked, cwd=tmp_path, capture_output=True, text=True).stderr
    theirs = dict[str, str]()
    for line in told.splitlines():
        if line.startswith("sg: entity|file|"):
            path, _, language = line.rpartition("|")[2].partition(": language=")
            theirs[path.removeprefix("./")] = language.lower()
    ours = {path.name: language.name for path in tmp_path.iterdir() if (language := language_of(path.name))}
    assert ours == theirs


@rows(
    ("name", "meant"),
    [("py", "python"), (" Python ", "python"), ("TS", "typescript"), ("c++", "cpp"), ("golang", "go"), ("zig", "zig")],
)
def test_a_language_goes_by_several_names(name: str, meant: str) -> None:
    assert language_named(name).name == meant


def test_an_unknown_language_is_refused_with_those_there_are() -> None:
    with pytest.raises(
        ToolFailure, match=r"Unknown language 'pyton', did you mean python\? Known languages: bash, c, cpp, "
    ):
        language_named("pyton")
    with pytest.raises(ToolFailure, match="Unknown language 'klingon'"):
        language_named("klingon")


@rows("path", ["x", "py", ".py", "a.b/py", "x.PY", "x.", ""])
def test_a_name_without_a_known_ending_is_in_no_language(path: str) -> None:
    assert language_of(path) is None
