"""Runs a file of tools as a module with a private name, from bytes that were read earlier, without writing bytecode.

Bytecode would be a new file in a trusted folder, and existing bytecode may not match the file. Each load has its own
name, so two loads of one file are separate. The module is a package that contains the other files of its folder: ``from
._shared import x`` gives each file of tools its own copy.
"""

import os
import sys
from collections.abc import Mapping
from importlib.abc import InspectLoader
from importlib.machinery import ModuleSpec
from importlib.util import decode_source, module_from_spec, spec_from_file_location
from types import CodeType, ModuleType
from typing import Any, cast

from callgate.tools.custom.tool_files import ToolFile

PREFIX = "callgate_custom_"


def new_name() -> str:
    return PREFIX + os.urandom(8).hex()


def load(file: ToolFile, name: str) -> ModuleType:
    """Run the file as a module with this name and return the module. Raise any exception of the file; the caller must
    then call ``drop``."""
    place = _place(file, name)
    spec = spec_from_file_location(name, file.path, loader=_Bytes(file), submodule_search_locations=[place])
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    # The only way to make it importable without changing sys.meta_path and sys.path_hooks.
    _finders()[place] = _Beside(name, file.beside)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def drop(file: ToolFile, name: str) -> None:
    _finders().pop(_place(file, name), None)
    for each in [each for each in sys.modules if each == name or each.startswith(f"{name}.")]:
        sys.modules.pop(each, None)


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
