"""/view and /setup: how the terminal looks, and the steps of a first start."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from callgate.tui.blocks import TableBlock
from callgate.tui.commands.parts import config_of, said, session_of
from callgate.tui.theme import theme_for
from callgate.words.errors import UsageError

if TYPE_CHECKING:
    from callgate.tui.port import Terminal, ViewName

VIEWS: tuple[ViewName, ...] = ("inline", "full")
THEMES = ("auto", "dark", "light", "mono")


async def view(terminal: Terminal, text: str) -> None:
    """Changes the view without ending the session, and keeps the choice."""
    if text in ("", "status"):
        said(terminal, f"The view is {terminal.viewed}. /view inline or /view full changes it.")
        return
    if text not in VIEWS:
        raise UsageError(f"There is no view {text!r:.40}; there are {', '.join(VIEWS)}.")
    terminal.view(text)
    await _set(terminal, "tui.view", text)


def view_words(_terminal: Terminal) -> Sequence[tuple[str, str]]:
    return [
        ("inline", "finished output stays in the terminal's own scrollback"),
        ("full", "the conversation on a screen of its own"),
        ("status", "the view now"),
    ]


# ---- the steps of a first start -----------------------------------------------------------------------------------


async def setup(terminal: Terminal, text: str) -> None:
    step, _, rest = text.partition(" ")
    match step:
        case "" | "status":
            await _status(terminal)
        case "theme":
            await _theme(terminal, rest.strip())
        case "trust":
            await _trust(terminal)
        case "reset":
            await _reset(terminal)
        case _:
            raise UsageError(f"There is no step {step!r:.40}; there are status, theme, trust and reset.")


def setup_words(_terminal: Terminal) -> Sequence[tuple[str, str]]:
    return [
        ("status", "the steps and their state"),
        *((f"theme {name}", "") for name in THEMES),
        ("trust", "look at what this folder brings along, and trust it"),
        ("reset", "reset colours, view and trust of this folder"),
    ]


async def _status(terminal: Terminal) -> None:
    from callgate.admin.workspace_policy import Trusted, fingerprint

    config, session = config_of(terminal), session_of(terminal)
    found = await asyncio.to_thread(fingerprint, config.root)
    trusted = "yes" if isinstance(config.trust, Trusted) else "no" if found.files else "nothing to trust"
    rows = (
        ("model", session.model, "/model changes it, callgate auth set PROVIDER stores a key"),
        ("colours", config.theme, f"/setup theme {'|'.join(THEMES)}"),
        ("view", terminal.viewed, "/view inline|full"),
        ("trust", trusted, "/setup trust"),
        ("settings", str(config.folder or "none"), "/config, callgate config edit"),
    )
    terminal.show(TableBlock(rows, "Setup", note="/setup reset forgets colours, view and trust of this folder."))


async def _theme(terminal: Terminal, name: str) -> None:
    if name not in THEMES:
        raise UsageError(f"/setup theme takes {', '.join(THEMES)}{f', not {name!r:.40}' if name else ''}.")
    terminal.theme = theme_for(encoding=sys.stdout.encoding, name=name)
    await _set(terminal, "tui.theme", name)


async def _trust(terminal: Terminal) -> None:
    """Shows what the folder brings along, and asks."""
    from callgate.admin.workspace_policy import Trusted, fingerprint, trust_store
    from callgate.tui.panels.trust import trust_now

    config = config_of(terminal)
    found = await asyncio.to_thread(fingerprint, config.root)
    store = await asyncio.to_thread(trust_store, config.root)
    if found.problem or not found.files:
        said(terminal, f"There is nothing to trust: {found.problem or 'the folder brings no settings along'}.")
    elif isinstance(await asyncio.to_thread(store.state, config.root), Trusted):
        said(terminal, f"{config.root} is trusted as it is; `callgate trust revoke` ends that.")
    elif await trust_now(terminal, config, found):
        said(terminal, "The folder is trusted as it is now. It counts from the next session on: /clear begins one.")


async def _reset(terminal: Terminal) -> None:
    from callgate.admin.settings_change import change_setting
    from callgate.admin.workspace_policy import trust_store

    config = config_of(terminal)
    for name in ("tui.theme", "tui.view"):
        await asyncio.to_thread(change_setting, config, name, None, "user")
    store = await asyncio.to_thread(trust_store, config.root)
    revoked = await asyncio.to_thread(store.revoke, config.root)
    terminal.theme = theme_for(encoding=sys.stdout.encoding)
    terminal.view("inline")
    trust = " and the folder is trusted no more" if revoked else ""
    said(terminal, f"Colours and view are as at the first start{trust}.")


async def _set(terminal: Terminal, name: str, value: str) -> None:
    """Writes a setting into the person's own file."""
    from callgate.admin.settings_change import change_setting

    changed = await asyncio.to_thread(change_setting, config_of(terminal), name, [value], "user")
    said(terminal, f"{name} is {value} from now on ({changed.file}).")
