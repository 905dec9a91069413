"""Functions that all interfaces share: sessions, MCP servers, settings, checks. They call the packages of layer 2
and ``assembly``, and block. A module is imported at its first use, so that the command line starts fast."""

from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from callgate.admin import sessions as sessions


def __getattr__(name: str) -> ModuleType:
    try:
        return import_module(f"{__name__}.{name}")
    except ModuleNotFoundError as error:
        raise AttributeError(f"there is no module {name} in {__name__}: {error}") from None
