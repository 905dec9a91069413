"""The rows of the record on disk. Those that wait for the disk come first: the others leave it much to write."""

from collections.abc import Callable, Mapping

from benchmarks.measure import Size
from benchmarks.report import Row
from benchmarks.rows import record_append, record_history, record_list, record_load, record_turn

ROWS: Mapping[str, Callable[[Size], list[Row]]] = {
    "append": record_append.rows,
    "durable": record_turn.rows,
    "list": record_list.rows,
    "load": record_load.rows,
    "history": record_history.rows,
}
