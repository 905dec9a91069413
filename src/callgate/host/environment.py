"""Settings in the environment that a session without a Config obeys too."""

from collections.abc import Mapping

from callgate.words.errors import UsageError
from callgate.words.limits import LARGEST_COUNT


def max_concurrency_from(environment: Mapping[str, str]) -> int | None:
    """The value of CALLGATE_MAX_CONCURRENCY, None where it is not set; UsageError if it is no count."""
    wanted = environment.get("CALLGATE_MAX_CONCURRENCY")
    if not wanted:
        return None
    if not (wanted.isascii() and wanted.isdigit() and 0 < int(wanted) <= LARGEST_COUNT):
        raise UsageError(f"CALLGATE_MAX_CONCURRENCY must be a whole number above 0, not {wanted!r}")
    return int(wanted)
