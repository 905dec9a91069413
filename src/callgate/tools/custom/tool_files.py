"""Reads the files in the folders of tools, and runs a file as a module with a private name.

No file of an untrusted folder is opened. A file is run from the bytes that were read. No bytecode is written, because
it would be a new file in a trusted folder, and existing bytecode may not match the file. Each load has its own name, so
two loads of one file are separate. The module is a package that contains the other files of its folder: ``from ._shared
import x`` gives each file of tools its own copy.
"""

import os
import re
import sys
from collections.abc import Generator, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import field, replace
from hashlib import sha256
from importlib.abc import InspectLoader
from importlib.machinery import ModuleSpec
from importlib.util import decode_source, module_from_spec, spec_from_file_location
from pathlib import Path
from traceback import walk_tb
from types import CodeType, ModuleType
from typing import Any, Literal, cast

from callgate.host.files import NotRegular, read_regular
from callgate.policy.shorten import sentence
from callgate.words.errors import ToolDefinitionError, in_words
from callgate.words.noun import nothing, noun

Layer = Literal["user", "installed", "project"]
"""The owner of a tool. Of two tools with one name, the tool whose owner is further left is used."""


@noun
class Problem:
    """A fault in a file of tools, or the reason why a file or folder was not loaded."""

    file: str
    line: int | None
    text: str
    layer: Layer = "user"

    def __str__(self) -> str:
        return f"{self.file}: {self.text}" if self.line is None else f"{self.file}:{self.line}: {self.text}"


def blamed(error: BaseException, file: str, layer: Layer) -> Problem:
    """Return an exception as a Problem of this file. The line is the line of the innermost frame in the file. If the
    exception passed through another file of the folder, the message names that file."""
    line, deeper = None, ""
    for frame, number in walk_tb(error.__traceback__):
        name = frame.f_code.co_filename
        if name == file:
            line, deeper = number, ""
        elif os.path.dirname(name) == os.path.dirname(file) != "":
            deeper = f" (in {os.path.basename(name)}, line {number})"
    text = in_words(error) + deeper
    if isinstance(error, SyntaxError) and error.filename == file:
        text, line = f"{type(error).__name__}: {error.msg}", error.lineno or 1
    elif isinstance(error, SyntaxError):
        text = in_words(error)  # its message has the place
    elif isinstance(error, ToolDefinitionError):
        text = str(error)
    text = _PRIVATE_NAME.sub("", sentence(text))
    if isinstance(error, ModuleNotFoundError) and (error.name or "").startswith(PREFIX):
        text += " (only files of this folder that begin with _ can be imported from it)"
    return Problem(file, line, text, layer)


def last_file_of(package: str, error: BaseException) -> str | None:
    """Return the file of the innermost traceback frame whose code belongs to this package."""
    if isinstance(error, SyntaxError) and error.filename:
        return error.filename
    frames = [frame for frame, _ in walk_tb(error.__traceback__)]
    names = [each.f_code.co_filename for each in frames if str(each.f_globals.get("__name__")).split(".")[0] == package]
    return names[-1] if names else None


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


def survey(folders: Iterable[ToolFolder]) -> tuple[list[ToolFile], list[Problem], list[Problem]]:
    """Return the files of all folders, the problems, and the skipped files and folders. Blocks. Each folder is read
    once, in the given order; its files are sorted by name."""
    files: list[ToolFile] = []
    problems: list[Problem] = []
    skipped: list[Problem] = []
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
            text = f"not trusted, so {count} did not run: see callgate trust show"
            skipped.append(Problem(str(folder.path), None, text, folder.layer))
    return files, problems, skipped


def _read(folder: ToolFolder, names: Iterable[str], skipped: list[Problem]) -> Iterator[ToolFile]:
    found: list[ToolFile] = []
    for name in names:
        file = _file(os.path.join(os.path.abspath(folder.path), name), folder.layer)
        if folder.contents is not None and not file.fault and file.sha256 not in folder.contents:
            skipped.append(Problem(file.path, None, "changed since it was trusted, so it did not run", folder.layer))
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
        return ToolFile(path, layer, fault=f"it has more than {LARGEST // 1024} KiB, the limit for files of tools")
    return ToolFile(path, layer, found.data, sha256(found.data).hexdigest())


def _stem(file: ToolFile) -> str:
    return os.path.basename(file.path).removesuffix(_ENDING)


PREFIX = "callgate_custom_"
_PRIVATE_NAME = re.compile(PREFIX + "[0-9a-f]+")


@contextmanager
def loaded(file: ToolFile) -> Generator[ModuleType]:
    """Run the file as a module with a private name, and yield the module. Raise any exception of the file. After an
    exception, also of the caller, the module is removed."""
    name = PREFIX + os.urandom(8).hex()
    place = _place(file, name)
    spec = spec_from_file_location(name, file.path, loader=_Bytes(file), submodule_search_locations=[place])
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    # The only way to make it importable without changing sys.meta_path and sys.path_hooks.
    _finders()[place] = _Beside(name, file.beside)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
        yield module
    except BaseException:
        _finders().pop(place, None)
        for each in [each for each in sys.modules if each == name or each.startswith(f"{name}.")]:
            sys.modules.pop(each, None)
        raise


class _Bytes(InspectLoader):
    def __init__(self, file: ToolFile) -> None:
        self._file = file

    def is_package(self, fullname: str) -> bool:
        return False  # its spec marks a package

    def get_source(self, fullname: str) -> str:
        """Return the source of the file for tracebacks, even if the file was removed."""
        return decode_source(self._file.data)

    def get_code(self, fullname: str) -> CodeType:
        data = self._file.data
        if b"\0" in data:
            fault = SyntaxError("a Python file cannot contain null bytes")
            fault.filename, fault.lineno = self._file.path, data.count(b"\n", 0, data.index(b"\0")) + 1
            raise fault
        return self.source_to_code(data, self._file.path)


class _Beside:
    """Finds the submodules of one module: the files in the same folder."""

    def __init__(self, package: str, beside: Mapping[str, ToolFile]) -> None:
        self._package = package
        self._beside = beside

    def find_spec(self, fullname: str, target: ModuleType | None = None) -> ModuleSpec | None:
        file = self._beside.get(fullname.removeprefix(f"{self._package}."))
        return None if file is None else spec_from_file_location(fullname, file.path, loader=_Bytes(file))


def _place(file: ToolFile, name: str) -> str:
    """Return the path entry for the submodules. The entry must be absolute, because ``importlib.invalidate_caches``
    removes relative entries."""
    return os.path.join(os.path.dirname(file.path), name)


def _finders() -> dict[str, Any]:
    return cast("dict[str, Any]", sys.path_importer_cache)
