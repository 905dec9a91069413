"""Commands about the program and the machine: /version, /env, /doctor, /config, /statusline."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING

from callgate._version import __version__
from callgate.tui.blocks import TableBlock
from callgate.tui.commands.parts import config_of, said

if TYPE_CHECKING:
    from callgate.admin.settings import SettingRow
    from callgate.tui.port import Terminal


def version(terminal: Terminal, _text: str) -> None:
    import platform

    said(terminal, f"callgate {__version__}, Python {platform.python_version()}, {platform.system()}")


async def env(terminal: Terminal, _text: str) -> None:
    from callgate.admin.surroundings import surroundings

    found = await asyncio.to_thread(surroundings, config_of(terminal))
    note = "What looks like a secret is masked. Variables: those of Callgate, the terminal and the network."
    terminal.show(TableBlock(tuple(found), "Environment", note=note))


async def doctor(terminal: Terminal, _text: str) -> None:
    from callgate.admin.doctor import is_healthy, run_checks

    found = await asyncio.to_thread(run_checks, config_of(terminal))
    rows: list[tuple[str, str, str]] = []
    for each in found:
        problem = f". Problem: {each.problem}" if each.problem else ""
        repair = f". Repair: {'; '.join(each.repair)}" if each.repair else ""
        rows.append((each.status, each.name, f"{each.saw}{problem}{repair}"))
    title = "Everything that was asked for works" if is_healthy(found) else "Something is wrong"
    terminal.show(TableBlock(tuple(rows), title, note="`callgate doctor --online` asks the model, too."))


async def config(terminal: Terminal, text: str) -> None:
    """All settings, one of them, or a new value of one, in the person's own file."""
    from callgate.admin.settings import find_setting, list_settings
    from callgate.admin.settings_change import change_setting

    words = text.split()
    now = config_of(terminal)
    if len(words) > 1:
        changed = await asyncio.to_thread(change_setting, now, words[0], words[1:], "user")
        force = "It counts from the next start on." if changed.counts else "Another value counts: /config shows which."
        said(terminal, f"{words[0]} is set in {changed.file}. {force} {' '.join(changed.notes)}".rstrip())
        return
    rows = [find_setting(now, words[0])] if words else list_settings(now)
    shown = tuple((row.name, _value(row), ", ".join(map(str, row.origins)) or "default") for row in rows)
    note = (
        rows[0].key.meaning
        if words
        else "/config KEY VALUE sets one in your own file; `callgate config edit` opens it."
    )
    terminal.show(TableBlock(shown, "" if words else "Settings", ("key", "value", "from"), note))


def _value(row: SettingRow) -> str:
    return "not set" if row.value is None else str(row.value)


def setting_words(_terminal: Terminal) -> Sequence[tuple[str, str]]:
    from callgate.admin.settings import setting_names

    return [(name, "") for name in setting_names()]


def statusline(terminal: Terminal, _text: str) -> None:
    found = config_of(terminal).statusline
    if found.command is None:
        said(
            terminal,
            "There is no status line of your own. /config statusline.command COMMAND sets one: it gets JSON on its"
            " standard input and prints up to three lines; `callgate statusline test` tries it.",
        )
        return
    place = "the trusted folder" if found.from_repository else "your settings"
    rows = (
        ("command", found.command),
        ("from", place),
        ("refresh", f"every {found.refresh:g} s" if found.refresh else "after events"),
        ("padding", str(found.padding)),
    )
    terminal.show(TableBlock(rows, "Status line", note="`callgate statusline test` runs it and shows its output."))
