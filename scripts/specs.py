"""Write what models are told of the built-in tools to a file that ships; with --check, fail if it is stale.

A start reads the file instead of making the tools (``callgate.tools.builtin.shipped``).
"""

import argparse
import json
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "src" / "callgate" / "tools" / "builtin"


def rows() -> dict[str, Any]:
    from callgate.tools.builtin import builtin_tools
    from callgate.tools.builtin.shipped import TAKING
    from callgate.tools.builtin.skill import skill

    prompts = {file.read_text(encoding="utf-8").strip(): file.name for file in sorted(FOLDER.glob("*.md"))}
    found: dict[str, Any] = {}
    for tool in builtin_tools():
        if tool.spec.name == "Skill":  # without those of this machine: they are added at the start
            tool = skill(())
            description = tool.spec.description.rpartition("\n\n")[0]
        else:
            description = tool.spec.description
        found[tool.spec.name] = {
            "prompt": prompts[description],
            "parameters": tool.spec.parameters,
            "aliases": list(tool.aliases),
            "previews": tool.previews,
            "stages": bool(getattr(tool, "stages", False)),
            "search_hint": getattr(tool, "search_hint", ""),
            "always_loaded": bool(getattr(tool, "always_loaded", False)),
            "takes": sorted(name for name in dir(tool) if name.startswith(TAKING)),
        }
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    check = parser.parse_args().check
    sys.path.insert(0, str(ROOT / "src"))
    from callgate.tools.builtin.shipped import FILE

    text = json.dumps(rows(), indent=1, ensure_ascii=False) + "\n"
    file = FOLDER / FILE
    if check:
        return 0 if file.read_text(encoding="utf-8") == text else 1
    file.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
