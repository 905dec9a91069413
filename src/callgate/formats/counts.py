"""Numbers of things in words."""


def counted(number: int, what: str, several: str = "") -> str:
    """``1 line``, ``2 lines``. ``several`` is the plural where an ``s`` does not make it."""
    return f"{number:,} {what if number == 1 else several or f'{what}s'}"
