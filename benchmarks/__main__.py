"""``python -m benchmarks``: measures, prints the table, writes the JSON."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks import peers
from benchmarks.measure import FULL, QUICK, USUAL, Size
from benchmarks.report import Row, over, table, write
from benchmarks.rows import ROWS

LATEST = Path(__file__).parent / "results" / "latest.json"


def arguments(given: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="What the runtime costs.")
    parser.add_argument("--rows", default=",".join(ROWS), help=f"which of {', '.join(ROWS)} (default: all)")
    parser.add_argument("--json", type=Path, default=LATEST, metavar="FILE", help="where to write the numbers")
    parser.add_argument("--full", action="store_true", help="more rounds, for numbers to be quoted")
    parser.add_argument("--quick", action="store_true", help="less of everything; the numbers say little")
    parser.add_argument("--peers", default="", metavar="PY[,PY…]", help="interpreters with other libraries to compare")
    parser.add_argument("--strict", action="store_true", help="exit with 1 when a limit is exceeded")
    options = parser.parse_args(given)
    options.rows = [name for name in options.rows.split(",") if name]
    unknown = [name for name in options.rows if name not in ROWS]
    if unknown:
        parser.error(f"there is no row {', '.join(unknown)}; there are {', '.join(ROWS)}")
    options.peers = [str(Path(name).expanduser()) for name in options.peers.split(",") if name]
    return options


def measured(names: Sequence[str], interpreters: Sequence[str], size: Size) -> list[Row]:
    found: list[Row] = []
    for name in names:
        print(f"… {name}", file=sys.stderr, flush=True)
        made = ROWS[name](size)
        _show(made)
        found += made
    for interpreter in interpreters:
        print(f"… peers in {interpreter}", file=sys.stderr, flush=True)
        made = peers.rows(interpreter, size)
        _show(made)
        found += made
    return found


def _show(rows: Sequence[Row]) -> None:
    """Each as soon as it is known."""
    for row in rows:
        value = "–" if row.measured is None else f"{row.measured:,.4g} {row.unit}"
        times = "" if row.ratio is None else f", {row.ratio:.3g} ×"
        print(f"    {row.work.strip()}: {value}{times} ({row.verdict})", file=sys.stderr, flush=True)


def main(given: Sequence[str]) -> int:
    options = arguments(given)
    rows = measured(options.rows, options.peers, QUICK if options.quick else FULL if options.full else USUAL)
    print(table(rows))
    exceeded = over(rows)
    print(f"\n{len(exceeded)} of {sum(row.limit is not None for row in rows)} limits exceeded; {options.json}")
    write(options.json, rows, " ".join(given))
    return 1 if options.strict and exceeded else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
