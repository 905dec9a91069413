"""Reads the files in the folders of tools. No file is run, and no file of an untrusted folder is opened."""

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field, replace
from hashlib import sha256
from pathlib import Path

from callgate.host.files import NotRegular, read_regular
from callgate.tools.custom.problems import Layer, Problem, SkippedTools
from callgate.words.noun import nothing, noun

LARGEST = 1024 * 1024
_ENDING = ".py"


@noun
class ToolFolder:
    """A folder of tools.

    trusted   the code in this folder may run
    contents  the sha256 hashes of the trusted files; other files are skipped; None accepts all files
    """

    path: Path
    layer: Layer
    trusted: bool = False
    contents: frozenset[str] | None = None


@noun
class ToolFile:
    """A file of tools, or the ``fault`` that prevented reading it. ``beside`` contains the files of its folder that
    begin with ``_``, by name without ``.py``; it can import them with ``from ._name``."""

    path: str
    layer: Layer
    data: bytes = b""
    sha256: str = ""
    fault: str = ""
    beside: Mapping[str, "ToolFile"] = field(default_factory=nothing)


@noun
class ToolSurvey:
    files: tuple[ToolFile, ...] = ()
    problems: tuple[Problem, ...] = ()
    skipped: tuple[SkippedTools, ...] = ()


def survey(folders: Iterable[ToolFolder]) -> ToolSurvey:
    """Return the files of all folders, with problems and skipped files. Blocks. Each folder is read once, in the given
    order; its files are sorted by name."""
    files: list[ToolFile] = []
    problems: list[Problem] = []
    skipped: list[SkippedTools] = []
    known: set[str] = set()
    for folder in folders:
        real = os.path.realpath(folder.path)
        if real in known:
            continue
        known.add(real)
        try:
            names = sorted(name for name in os.listdir(real) if name.endswith(_ENDING) and name[0] != ".")
        except FileNotFoundError:
            continue
        except OSError as error:
            text = f"this folder of tools cannot be read: {error.strerror or error}"
            problems.append(Problem(str(folder.path), None, text, folder.layer))
            continue
        if folder.trusted:
            files += _read(folder, names, skipped)
        elif names:
            count = f"{len(names)} file{'' if len(names) == 1 else 's'} of tools"
            skipped.append(
                SkippedTools(
                    str(folder.path), f"not trusted, so {count} did not run: see callgate trust show", folder.layer
                )
            )
    return ToolSurvey(tuple(files), tuple(problems), tuple(skipped))


def _read(folder: ToolFolder, names: Iterable[str], skipped: list[SkippedTools]) -> Iterator[ToolFile]:
    found: list[ToolFile] = []
    for name in names:
        file = _file(os.path.join(os.path.abspath(folder.path), name), folder.layer)
        if folder.contents is not None and not file.fault and file.sha256 not in folder.contents:
            skipped.append(SkippedTools(file.path, "changed since it was trusted, so it did not run", folder.layer))
        else:
            found.append(file)
    beside = {_stem(file): file for file in found if _stem(file).startswith("_") and not file.fault}
    return (replace(file, beside=beside) for file in found if not _stem(file).startswith("_"))


def _file(path: str, layer: Layer) -> ToolFile:
    try:
        found = read_regular(path, LARGEST)
    except NotRegular:
        return ToolFile(path, layer, fault="it is not a regular file")
    except OSError as error:
        return ToolFile(path, layer, fault=f"it cannot be read: {error.strerror or error}")
    if found.is_cut:
        return ToolFile(
            path, layer, fault=f"it has more than {LARGEST // 1024} KiB, which is the limit for files of tools"
        )
    return ToolFile(path, layer, found.data, sha256(found.data).hexdigest())


def _stem(file: ToolFile) -> str:
    return os.path.basename(file.path).removesuffix(_ENDING)
