"""`import callgate` costs little and brings nobody else's code."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

# Modules that a fresh interpreter does not have yet, ours included. asyncio and dataclasses alone bring about 120.
BUDGET = 200

PROBE = """
import sys
before = set(sys.modules)
import callgate
after = set(sys.modules)
import json
print(json.dumps(sorted(after - before)))
"""


def test_importing_the_package_loads_only_itself_and_few_standard_modules(
    tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    # -I: no environment and no current folder; site-packages, and so an editable installation, remain.
    ran = subprocess.run([sys.executable, "-I", "-c", PROBE], cwd=tmp_path, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    loaded: list[str] = json.loads(ran.stdout)
    assert "callgate" in loaded
    ours = {"callgate"} | sys.stdlib_module_names
    foreign = [name for name in loaded if name.partition(".")[0] not in ours]
    assert not foreign, f"`import callgate` loads {', '.join(foreign)}"
    record_property("report", f"import callgate: {len(loaded)} modules of at most {BUDGET}")
    assert len(loaded) <= BUDGET, f"`import callgate` loads {len(loaded)} modules:\n" + "\n".join(loaded)
