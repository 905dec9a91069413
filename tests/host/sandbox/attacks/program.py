"""The program that runs all attacks, in the same way as ``callgate.host.sandbox.attacks`` runs its own."""

import json
import sys
from contextlib import suppress
from pathlib import Path

if __name__ == "__main__":
    sys.path.extend(str(Path(__file__).parents[4] / each) for each in ("", "src"))  # it runs isolated

from callgate.host.sandbox.attacks import run_all
from tests.host.sandbox.attacks import (
    kernel_attacks,
    network_attacks,
    proxy_attacks,
    reading_attacks,
    writing_attacks,
)
from tests.host.sandbox.attacks.table import ALL_ATTACKS
from tests.house.tree import ROOT, SRC

SOURCES = (ROOT, SRC)

assert all((kernel_attacks, network_attacks, proxy_attacks, reading_attacks, writing_attacks))

if __name__ == "__main__":
    arena = json.loads(sys.argv[1])
    host = f"localhost:{arena['allowed']}"
    with suppress(OSError):
        proxy_attacks.request(f"GET http://{host}/ HTTP/1.1\nHost: {host}\n\n")
    run_all(ALL_ATTACKS, arena)
