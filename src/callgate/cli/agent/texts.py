"""Texts that flags give, on the command line or in a file: those of the system prompt, and a schema."""

from argparse import Namespace
from pathlib import Path

from callgate.assembly.prompting import PromptPart, PromptWishes
from callgate.words.errors import UsageError

_LARGEST = 1 << 20


def prompt_wishes(options: Namespace) -> PromptWishes:
    """The texts that ``--system-prompt`` and ``--append-system-prompt`` ask for."""
    return PromptWishes(
        own=_part(options, "own", "system-prompt"), appended=_part(options, "appended", "append-system-prompt")
    )


def text_of(file: str, flag: str) -> str:
    """The text of a file that a flag names. UsageError if there is none."""
    try:
        with Path(file).open("rb") as stream:
            data = stream.read(_LARGEST + 1)
        if len(data) > _LARGEST:
            raise UsageError(f"{flag}: {file} has more than {_LARGEST >> 20} MiB")
        return data.decode()
    except OSError as error:
        raise UsageError(f"{flag}: {file} cannot be read: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise UsageError(f"{flag}: {file} is not UTF-8") from None


def _part(options: Namespace, part: str, flag: str) -> PromptPart | None:
    """The text of ``--<flag>``, or of the file of ``--<flag>-file``, with its origin; None if neither was given."""
    name = flag.replace("-", "_")
    given, file = getattr(options, name), getattr(options, f"{name}_file")
    if given is not None:
        return PromptPart(part, given, f"--{flag}")
    return None if file is None else PromptPart(part, text_of(file, f"--{flag}-file").strip(), file)
