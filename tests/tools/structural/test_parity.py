"""What is found and what is rewritten is what ast-grep's command line finds and rewrites."""

from pathlib import Path

from callgate.tools.structural.examination import FileResult, ScanRequest, examine
from callgate.tools.structural.scan_types import LANGUAGES, Op, ScanLimits
from callgate.tools.structural.source_walk import SourceFile
from tests.rows import rows
from tests.tools.structural import engine
from tests.tools.structural.samples import SAMPLES, Sample

ids = [sample.id for sample in SAMPLES]


def test_there_is_a_sample_of_every_language() -> None:
    assert len(set(ids)) == len(ids)
    assert {sample.language for sample in SAMPLES} == {language.name for language in LANGUAGES}


def place(sample: Sample, folder: Path, data: bytes | None = None) -> SourceFile:
    folder.mkdir()
    path = folder / f"sample.{sample.ending}"
    path.write_bytes(sample.source.encode() if data is None else data)
    return SourceFile(path.name, sample.language, path.stat().st_size)


def rewrite(sample: Sample, file: SourceFile, folder: Path) -> FileResult:
    asked = ScanRequest(str(folder), ScanLimits(), ops=(Op(sample.pattern, sample.rewrite),))
    return examine(asked, file)


@rows("sample", SAMPLES)
def test_matches_are_those_of_the_command_line(sample: Sample, tmp_path: Path) -> None:
    folder = tmp_path / sample.id
    looked = examine(ScanRequest(str(folder), ScanLimits(), sample.pattern), place(sample, folder))
    assert looked.skipped is None
    theirs = engine.matches(folder, sample.pattern)
    assert len(theirs) == looked.count == sample.matches
    for ours, other in zip(looked.matches, theirs, strict=True):
        start = other["range"]["start"]
        assert (ours.line - 1, ours.column - 1, ours.text) == (start["line"], start["column"], other["text"])


@rows("sample", SAMPLES)
def test_rewritten_bytes_are_those_of_the_command_line(sample: Sample, tmp_path: Path) -> None:
    folder = tmp_path / sample.id
    file = place(sample, folder)
    looked = rewrite(sample, file, folder)
    assert looked.skipped is None
    assert (looked.after is not None) == (sample.matches > 0)
    ours = looked.after or sample.source.encode()
    assert ours == engine.rewritten(folder, sample.pattern, sample.rewrite)[file.path]


ENDS = {
    "crlf": lambda text: text.replace("\n", "\r\n").encode(),
    "bom": lambda text: b"\xef\xbb\xbf" + text.encode(),
    "no-last-line-end": lambda text: text.rstrip("\n").encode(),
    "far-in-a-line": lambda text: text.replace("\n", "\n" + " " * 600).encode(),
    "first-line": lambda text: ("   " + text.lstrip()).encode(),
}


@rows("kind", ENDS)
@rows("id", ["javascript-lines", "javascript-nested", "python-lines", "typescript-call", "go-plain"])
def test_bytes_survive_as_with_the_command_line(id: str, kind: str, tmp_path: Path) -> None:
    sample = SAMPLES[ids.index(id)]
    data = ENDS[kind](sample.source)
    folder = tmp_path / f"{id}-{kind}"
    file = place(sample, folder, data)
    looked = rewrite(sample, file, folder)
    theirs = engine.rewritten(folder, sample.pattern, sample.rewrite)[file.path]
    if looked.skipped is None:
        assert (looked.after or data) == theirs
    else:
        assert looked.skipped.kind == "syntax"
        assert sample.language == "python"
