"""Write models.toml, which people read and edit, as the JSON that ships and a start reads; with --check, fail if that
is stale."""

import argparse
import json
import sys
import tomllib
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[1] / "src" / "callgate" / "providers"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    check = parser.parse_args().check
    read = tomllib.loads((FOLDER / "models.toml").read_text("utf-8"))
    text, file = json.dumps(read, ensure_ascii=False, separators=(",", ":"), default=str) + "\n", FOLDER / "models.json"
    if check:
        return 0 if file.read_text("utf-8") == text else 1
    file.write_text(text, "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
