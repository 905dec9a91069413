"""Build hook of hatch: writes the specs of the built-in tools into the wheel, from the tools themselves."""

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class SpecsHook(BuildHookInterface[Any]):
    """Add ``tools/builtin/specs.json`` to a wheel; an editable installation derives the specs when it starts."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version == "editable":
            return
        sys.path.insert(0, str(Path(self.root, "src")))
        from callgate.tools.builtin.shipped import FILE, specs_of_tools

        self._folder = tempfile.TemporaryDirectory(prefix="callgate-build-")
        file = Path(self._folder.name, FILE)
        file.write_text(json.dumps(specs_of_tools(), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        build_data["force_include"][str(file)] = f"callgate/tools/builtin/{FILE}"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        if version != "editable":
            self._folder.cleanup()
