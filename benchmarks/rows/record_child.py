"""A program: loads and resumes one log in a process of its own, and prints what that cost.

CPU time in ms, the memory it took at most in KB, and the number of messages, as JSON.
"""

import json
import os
import sys
import time
from pathlib import Path
from resource import RUSAGE_SELF, getrusage

from callgate.conversation.ledger import Ledger
from callgate.transcript.loader import load
from callgate.transcript.lock import open_log

STATUS = Path("/proc/self/status")
PAGE = 4.0
"""Nobody gets by with less, so there is always a ratio."""


def peak() -> float:
    """In KB. On Linux, what ``getrusage`` says begins with the peak of the process that started this one."""
    if STATUS.exists():
        return float(STATUS.read_text().partition("VmHWM:")[2].split()[0])
    return getrusage(RUSAGE_SELF).ru_maxrss / (1024 if sys.platform == "darwin" else 1)


def main(log: Path) -> None:
    fd = open_log(log, os.O_RDONLY)
    start, before = peak(), time.process_time_ns()
    ledger = Ledger(load(fd, log).events)
    took = (time.process_time_ns() - before) / 1e6
    print(json.dumps((took, max(peak() - start, PAGE), len(ledger.messages))))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
