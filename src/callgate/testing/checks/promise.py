"""The report of a broken promise."""


def promise(kept: object, text: str) -> None:
    """Raise an AssertionError with the promise that was not kept. Unlike ``assert`` it survives ``python -O``."""
    if not kept:
        raise AssertionError(f"broken promise: {text}")


def promise_kind(value: object, *kinds: type, text: str) -> None:
    """Raises if the value is of none of these types: a port's type is a promise as well."""
    promise(isinstance(value, kinds), f"{text}, not {value!r}")
