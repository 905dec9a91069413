"""Rows, the table of them, and their JSON."""

import json
import platform
import sys
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

Verdict = Literal["within", "OVER", "reported", "missing"]

HEADS = ("work", "measured", "yardstick", "ratio", "limit", "of limit", "spread", "verdict")


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table. The limit is for the ratio where there is a yardstick, else for what was measured."""

    name: str
    work: str
    unit: str
    measured: float | None
    yardstick: float | None = None
    ratio: float | None = None
    limit: float | None = None
    spread: float | None = None
    note: str = ""

    @property
    def judged(self) -> float | None:
        return self.measured if self.ratio is None else self.ratio

    @property
    def of_limit(self) -> float | None:
        """How much of the limit is used; a limit of nothing is used up by anything."""
        if self.limit is None or self.judged is None:
            return None
        if self.limit == 0:
            return 0.0 if self.judged == 0 else float("inf")
        return self.judged / self.limit

    @property
    def verdict(self) -> Verdict:
        if self.judged is None:
            return "missing"
        if self.of_limit is None:
            return "reported"
        return "within" if self.of_limit <= 1 else "OVER"


def over(rows: Iterable[Row]) -> list[Row]:
    return [row for row in rows if row.verdict == "OVER"]


def table(rows: Sequence[Row]) -> str:
    cells = [HEADS, *(_cells(row) for row in rows)]
    widths = [max(len(line[column]) for line in cells) for column in range(len(HEADS))]
    rule = "  ".join("-" * width for width in widths)
    lines = [_line(cells[0], widths), rule]
    for row, line in zip(rows, cells[1:], strict=True):
        lines.append(_line(line, widths))
        if row.note:
            lines.append(f"    {row.note}")
    return "\n".join(lines)


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    first, *others = (
        cell.ljust(width) if column == 0 else cell.rjust(width)
        for column, (cell, width) in enumerate(zip(cells, widths, strict=True))
    )
    return "  ".join([first, *others]).rstrip()


def _cells(row: Row) -> tuple[str, ...]:
    limit = "" if row.limit is None else (f"{row.limit:g} {row.unit}" if row.ratio is None else f"{row.limit:g} ×")
    return (
        row.work,
        _amount(row.measured, row.unit),
        _amount(row.yardstick, row.unit),
        "" if row.ratio is None else f"{row.ratio:.{4 if row.ratio < 2 else 3}g} ×",
        limit,
        "" if row.of_limit is None else f"{row.of_limit:.2f}",
        "" if row.spread is None else f"±{row.spread:.0%}",
        row.verdict,
    )


def _amount(value: float | None, unit: str) -> str:
    if value is None:
        return ""
    return f"{value:.0f} {unit}" if value == int(value) or value >= 1_000 else f"{value:.4g} {unit}"


def as_json(rows: Sequence[Row], asked: str) -> dict[str, Any]:
    return {
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "asked": asked,
        "python": sys.version.split()[0],
        "machine": f"{platform.system()} {platform.machine()}",
        "rows": [{**asdict(row), "of_limit": _finite(row.of_limit), "verdict": row.verdict} for row in rows],
    }


def _finite(value: float | None) -> float | str | None:
    return "over" if value == float("inf") else value


def write(path: Path, rows: Sequence[Row], asked: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(as_json(rows, asked), ensure_ascii=False, indent=2) + "\n", encoding="utf-8")
