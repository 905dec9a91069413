"""Slash commands about the program and the screen: /help, /keys, /quit, /version, /env, /doctor, /sandbox, /config,
/statusline, /setup, /copy, /theme, /view, /vim."""

from __future__ import annotations

import asyncio
import os
import platform
import subprocess
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from callgate._version import __version__
from callgate.formats.display import counted
from callgate.host.environment import find_program
from callgate.tui.blocks import NoticeBlock, TableBlock
from callgate.tui.commands import all_commands, argument_words, config_of, find_command, said, session_of, unknown
from callgate.tui.commands.command_table import THEMES
from callgate.tui.keys import interrupt_key, shown_keys
from callgate.tui.theme import theme_for
from callgate.words.errors import UsageError

if TYPE_CHECKING:
    from callgate.config import Config
    from callgate.tui.port import Terminal, ViewName


_VARIABLES = (
    *("TERM", "COLORTERM", "TERM_PROGRAM", "NO_COLOR", "LANG", "LC_ALL", "EDITOR", "VISUAL"),
    *("HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "SSL_CERT_FILE"),
)
"""Environment variables of other programs that Callgate reads."""


def version(terminal: Terminal, _text: str) -> None:
    said(terminal, f"callgate {__version__}, Python {platform.python_version()}, {platform.system()}")


async def env(terminal: Terminal, _text: str) -> None:
    session = session_of(terminal)
    use = session.controls.context_use()
    window = "of unknown size" if use.limits is None else f"{use.limits.window:,} tokens"
    source = f", {use.window_from}" if use.window_from else ""
    model = (("model", session.model), ("context window", f"{window}{source}"))
    found = model + await asyncio.to_thread(_environment, config_of(terminal))
    note = "Values that look secret are masked. Only variables for Callgate, the terminal and the network are listed."
    terminal.show(TableBlock(found, "Environment", note=note))


def _environment(config: Config) -> tuple[tuple[str, str], ...]:
    from callgate import Store
    from callgate.admin.workspace_policy import Trusted

    mask = Store(config.root, config.data).masker.text
    facts = (
        ("callgate", __version__),
        ("Python", f"{platform.python_version()} ({sys.executable})"),
        ("platform", platform.platform()),
        ("terminal", os.environ.get("TERM_PROGRAM") or os.environ.get("TERM") or "none"),
        ("workspace", str(config.root)),
        ("trusted", "yes" if isinstance(config.trust, Trusted) else "no"),
        ("settings", str(config.folder or "none")),
        ("data", str(config.data)),
    )
    named = sorted(name for name in os.environ if name.startswith("CALLGATE_") or name.upper() in _VARIABLES)
    return tuple((name, mask(value)) for name, value in (*facts, *((name, os.environ[name]) for name in named)))


async def doctor(terminal: Terminal, _text: str) -> None:
    from callgate.admin.doctor import is_healthy, run_checks

    found = await asyncio.to_thread(run_checks, config_of(terminal))
    rows: list[tuple[str, str, str]] = []
    for each in found:
        problem = f". Problem: {each.problem}" if each.problem else ""
        repair = f". Repair: {'; '.join(each.repair)}" if each.repair else ""
        rows.append((each.status, each.name, f"{each.saw}{problem}{repair}"))
    title = "Everything that is configured works" if is_healthy(found) else "Some checks failed"
    terminal.show(TableBlock(tuple(rows), title, note="`callgate doctor --online` also tests the model."))


async def sandbox(terminal: Terminal, _text: str) -> None:
    """Show whether commands run in a sandbox and, if not, the reason. The first use tests the sandbox."""
    from callgate.admin.doctor import CHECKS, run_checks

    (found,) = await asyncio.to_thread(run_checks, config_of(terminal), checks={"sandbox": CHECKS["sandbox"]})
    hosts = config_of(terminal).settings.sandbox_allow_hosts
    reachable = ", ".join(hosts) or "none: commands have no network"
    effect = ("effect", found.problem) if found.problem else ("hosts", reachable)
    rows = [("state", found.saw), effect, *(("repair", each) for each in found.repair)]
    terminal.show(TableBlock(tuple(rows), "Sandbox", note="`callgate sandbox prove` runs all escape tests."))


async def config(terminal: Terminal, text: str) -> None:
    """Show all settings or one setting, or write a setting to the user's file."""
    from callgate.admin.settings import find_setting, list_settings
    from callgate.admin.settings_change import change_setting

    words = text.split()
    now = config_of(terminal)
    if len(words) > 1:
        changed = await asyncio.to_thread(change_setting, now, words[0], words[1:], "user")
        force = "Takes effect after a restart." if changed.counts else "Overridden by another layer: see /config."
        said(terminal, f"{words[0]} is set in {changed.file}. {force} {' '.join(changed.notes)}".rstrip())
        return
    rows = [find_setting(now, words[0])] if words else list_settings(now)
    shown = tuple(
        (row.name, "not set" if row.value is None else str(row.value), ", ".join(map(str, row.origins)) or "default")
        for row in rows
    )
    note = (
        rows[0].key.help if words else "/config KEY VALUE sets one in your settings; `callgate config edit` opens it."
    )
    terminal.show(TableBlock(shown, "" if words else "Settings", ("key", "value", "from"), note))


def setting_words(_terminal: Terminal) -> Sequence[tuple[str, str]]:
    from callgate.admin.settings import setting_names

    return [(name, "") for name in setting_names()]


def statusline(terminal: Terminal, _text: str) -> None:
    found = config_of(terminal).statusline
    if found.command is None:
        said(
            terminal,
            "There is no custom status line. /config statusline.command COMMAND sets one: the command gets "
            "JSON on standard input and prints up to three lines; `callgate statusline test` tests it.",
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


def help_(terminal: Terminal, text: str) -> None:
    """Show all commands, or one command with its aliases and arguments."""
    if not text:
        rows = tuple((each.form, each.help) for each in all_commands(terminal))
        rest = f"! runs a command, @ completes files, {interrupt_key(terminal.keys)} interrupts; /keys lists the keys."
        terminal.show(TableBlock(rows, "Commands", note=f"/help NAME explains a command. {rest}"))
        return
    name = text.removeprefix("/")
    found = find_command(terminal, name)
    if found is None:
        raise UsageError(unknown(terminal, name))
    facts = [("", found.help)]
    if found.aliases:
        facts.append(("also", ", ".join(f"/{alias}" for alias in found.aliases)))
    facts.append(("when", "while the agent is idle" if found.at_rest else "at any time"))
    terminal.show(TableBlock((*facts, *argument_words(terminal, found.name)), found.form))


def names(terminal: Terminal) -> Sequence[tuple[str, str]]:
    return [(each.name, each.help) for each in all_commands(terminal)]


def keys(terminal: Terminal, _text: str) -> None:
    plain = not terminal.theme.unicode
    rows = tuple(
        (row.context, ", ".join(shown_keys(each, plain) for each in row.keys), row.help) for row in terminal.keys
    )
    terminal.show(TableBlock(rows, "Keys", ("where", "keys", "")))


def quit_(terminal: Terminal, text: str) -> None:
    if text:
        terminal.show(NoticeBlock("/quit accepts no arguments", "warning"))
        return
    terminal.quit()


# ---- the steps of a first start -----------------------------------------------------------------------------------


async def setup(terminal: Terminal, text: str) -> None:
    step, _, rest = text.partition(" ")
    match step:
        case "" | "status":
            await _status(terminal)
        case "theme":
            if not rest.strip():
                raise UsageError(f"/setup theme accepts {', '.join(THEMES)}.")
            await theme(terminal, rest.strip())
        case "trust":
            await _trust(terminal)
        case "reset":
            await _reset(terminal)
        case _:
            raise UsageError(f"Unknown step {step!r:.40}. Use status, theme, trust or reset.")


async def _status(terminal: Terminal) -> None:
    from callgate.admin.workspace_policy import Trusted, fingerprint

    config, session = config_of(terminal), session_of(terminal)
    found = await asyncio.to_thread(fingerprint, config.root)
    trusted = "yes" if isinstance(config.trust, Trusted) else "no" if found.files else "nothing to trust"
    rows = (
        ("model", session.model, "change: /model; store a key: callgate auth set PROVIDER"),
        ("colours", config.settings.tui_theme, f"/setup theme {'|'.join(THEMES)}"),
        ("view", terminal.viewed, "/view inline|full"),
        ("trust", trusted, "/setup trust"),
        ("settings", str(config.folder or "none"), "/config, callgate config edit"),
    )
    terminal.show(TableBlock(rows, "Setup", note="/setup reset resets colours, view and trust of this folder."))


async def _trust(terminal: Terminal) -> None:
    from callgate.admin.workspace_policy import Trusted, fingerprint, trust_store
    from callgate.tui.panels.trust_panel import trust_now

    config = config_of(terminal)
    found = await asyncio.to_thread(fingerprint, config.root)
    store = await asyncio.to_thread(trust_store, config.root)
    if found.problem or not found.files:
        said(terminal, f"This folder needs no trust: {found.problem or 'the folder has no settings'}.")
    elif isinstance(await asyncio.to_thread(store.state, config.root), Trusted):
        said(terminal, f"{config.root} is trusted. To revoke: callgate trust revoke")
    elif await trust_now(terminal, config, found):
        said(terminal, "The folder is trusted. This takes effect in the next session: /clear starts one.")


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
    trust = " and the folder is no longer trusted" if revoked else ""
    said(terminal, f"Colours and view are reset{trust}.")


VIEWS: tuple[ViewName, ...] = ("inline", "full")


async def theme(terminal: Terminal, text: str) -> None:
    """Change the colours and store the theme in the settings. Without a name, show the theme."""
    if not text:
        said(terminal, f"The colours are {terminal.theme.name}. /theme {'|'.join(THEMES)} changes them.")
        return
    if text not in THEMES:
        raise UsageError(f"Unknown theme {text!r:.40}. Use {', '.join(THEMES)}.")
    terminal.theme = theme_for(encoding=sys.stdout.encoding, name=text)
    await _set(terminal, "tui.theme", text)


async def vim(terminal: Terminal, text: str) -> None:
    """Switch the vim keys of the input line on or off, and store the choice in the settings."""
    if text not in ("", "on", "off"):
        raise UsageError(f"/vim accepts on or off, not {text!r:.40}.")
    terminal.use_vim(not terminal.vim if not text else text == "on")
    await _set(terminal, "tui.editing", "vim" if terminal.vim else "emacs")


async def copy(terminal: Terminal, _text: str) -> None:
    """Copy the last answer of the model to the clipboard."""
    texts = (each.text.strip() for each in reversed(session_of(terminal).messages) if each.role == "assistant")
    text = next((each for each in texts if each), "")
    if not text:
        raise UsageError("There is no answer to copy yet.")
    terminal.copy(text)
    program = await asyncio.to_thread(_copy_with_program, text)
    through = program or "the terminal, if it accepts OSC 52"
    said(terminal, f"Copied the last answer ({counted(len(text.splitlines()), 'line')}) with {through}.")


_PROGRAMS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("WAYLAND_DISPLAY", ("wl-copy",)),
    ("DISPLAY", ("xclip", "-selection", "clipboard", "-in")),
    ("DISPLAY", ("xsel", "--clipboard", "--input")),
    ("", ("pbcopy",)),
    ("", ("clip.exe",)),
)
"""Programs that write to the clipboard, each with the variable without which it does not work."""


def _copy_with_program(text: str) -> str:
    """Write the text to the clipboard of this machine. Return the name of the program, or "" if none works."""
    for variable, (name, *arguments) in _PROGRAMS:
        program = find_program(name, os.environ.get("PATH", ""), avoid=os.getcwd())
        if program is None or (variable and not os.environ.get(variable)):
            continue
        try:
            quiet = subprocess.DEVNULL  # xclip keeps running in the background, with its output open
            ran = subprocess.run(
                (program, *arguments), input=text.encode(), stdout=quiet, stderr=quiet, timeout=5, check=False
            )
        except (OSError, subprocess.TimeoutExpired):
            continue
        if ran.returncode == 0:
            return name
    return ""


async def view(terminal: Terminal, text: str) -> None:
    """Change the view (inline or full screen) and store it in the settings."""
    if text in ("", "status"):
        said(terminal, f"The view is {terminal.viewed}. /view inline or /view full changes it.")
        return
    if text not in VIEWS:
        raise UsageError(f"Unknown view {text!r:.40}. Use {', '.join(VIEWS)}.")
    terminal.view(text)
    await _set(terminal, "tui.view", text)


async def _set(terminal: Terminal, name: str, value: str) -> None:
    from callgate.admin.settings_change import change_setting

    changed = await asyncio.to_thread(change_setting, config_of(terminal), name, [value], "user")
    said(terminal, f"{name} is now {value} ({changed.file}).")
