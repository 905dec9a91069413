"""A table of rows as one test, which names every bad row when it fails."""

from collections.abc import Callable, Iterable, Sequence
from inspect import signature
from typing import Any

import pytest

Test = Callable[..., None]


def rows(names: str | Sequence[str], table: Iterable[Any], ids: object = None) -> Callable[[Test], Test]:
    """Like ``pytest.mark.parametrize``, but all rows are one test. The body must not keep anything between rows."""
    listed = [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)
    kept = list(table)
    assert not any(hasattr(row, "marks") for row in kept), "write plain rows, not pytest.param"

    def decorate(test: Test) -> Test:
        def every_row(**fixtures: Any) -> None:
            bad: list[str] = []
            for row in kept:
                values = dict(zip(listed, row if len(listed) > 1 else (row,), strict=True))
                try:
                    test(**fixtures, **values)
                except (Exception, pytest.fail.Exception) as error:
                    bad.append(f"{values!r}: {error!r:.600}")
            assert not bad, f"{len(bad)} of {len(kept)} rows:\n" + "\n".join(bad)

        taken = signature(test)
        left = [each for name, each in taken.parameters.items() if name not in listed]
        every_row.__name__, every_row.__doc__, every_row.__module__ = test.__name__, test.__doc__, test.__module__
        every_row.__dict__.update(test.__dict__)
        every_row.__signature__ = taken.replace(parameters=left)  # pyright: ignore[reportFunctionMemberAccess]
        return every_row

    return decorate
