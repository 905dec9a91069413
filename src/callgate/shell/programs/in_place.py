"""Programs that write back into the files they read, with an option for it or without."""

from collections.abc import Sequence
from posixpath import basename, dirname, join

from callgate.shell.programs.options import Found
from callgate.shell.programs.uses import Use


def rewritten(option: Found, files: Sequence[str], suffix: str = "") -> list[Use]:
    """The option makes it write these files, and keep the old ones under a name with this suffix. Whoever writes the
    option into a rule means any file of the workspace; otherwise a grant is needed for each."""
    why = f"{option.name} writes a file"
    # A suffix may lead to another folder; and without a file it is not plain what is written.
    unclear = [Use("write", "", option.at, option.on, why)] if "/" in suffix or not files else []
    kept = [_kept(path, suffix) for path in files] if suffix else []
    return unclear + [Use("write", path, option.at, option.on, why, target=True) for path in (*files, *kept)]


def _kept(path: str, suffix: str) -> str:
    name = basename(path)
    return join(dirname(path), suffix.replace("*", name) if "*" in suffix else name + suffix)


def always_rewritten(files: Sequence[Found]) -> list[Use]:
    """To write them is what it is for."""
    return [Use("write", each.text, each.at, each.on, meant=True) for each in files]
