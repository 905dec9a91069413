"""The rows of the table, one module for each kind of work."""

from collections.abc import Callable, Mapping

from benchmarks.measure import Size
from benchmarks.report import Row
from benchmarks.rows import (
    applying,
    calls,
    decisions,
    file_tools,
    gap,
    growth,
    headless,
    imports,
    latency,
    memory,
    previews,
    processes,
    prompt,
    record,
    sandbox,
    search,
    streams,
    structural,
    terminal,
    turns,
)

ROWS: Mapping[str, Callable[[Size], list[Row]]] = {
    "calls": calls.rows,
    "growth": growth.rows,
    "gap": gap.rows,
    "latency": latency.rows,
    "turns": turns.rows,
    "import": imports.rows,
    "memory": memory.rows,
    "decisions": decisions.rows,
    "previews": previews.rows,
    "apply": applying.rows,
    "structural": structural.rows,
    "files": file_tools.rows,
    "processes": processes.rows,
    "sandbox": sandbox.rows,
    "streams": streams.rows,
    "headless": headless.rows,
    "prompt": prompt.rows,
    "terminal": terminal.rows,
    "search": search.rows,
    "retrieval": search.retrieval_rows,
    **record.ROWS,
}
