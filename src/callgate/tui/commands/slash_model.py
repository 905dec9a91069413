"""The slash commands /model and /effort."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence
from typing import TYPE_CHECKING, Any

from callgate.tui.blocks import TableBlock
from callgate.tui.commands import config_of, said, session_of
from callgate.tui.panels.list_panel import ListItem, ListPanel
from callgate.words.errors import UsageError
from callgate.words.inputs import SetEffort, SetModel
from callgate.words.model import EFFORTS, EffortInForce, WantedEffort

if TYPE_CHECKING:
    from callgate.assembly.models import ModelChoice
    from callgate.tui.port import Terminal


_SAVE = "--save"


def model(terminal: Terminal, text: str) -> Coroutine[Any, Any, None]:
    """Set the model, or open the list of models. ``--save`` also stores the model as the default."""
    words = text.split()
    saves = _SAVE in words
    names = [word for word in words if word != _SAVE]
    if len(names) > 1:
        raise UsageError(f"the command accepts one name, not {text!r:.60}: /model NAME [--save]")
    if names:
        return _take(terminal, names[0], saves=saves)
    return _choose(terminal, saves=saves)


async def _choose(terminal: Terminal, *, saves: bool) -> None:
    from callgate.assembly.models import model_choices

    found = await asyncio.to_thread(model_choices, config_of(terminal))
    now = session_of(terminal).model
    items = [_item(each, now) for each in found]

    def chosen(item: ListItem) -> None:
        terminal.start(_take(terminal, item.key, saves=saves))

    at = next((at for at, each in enumerate(found) if each.name == now), 0)
    terminal.open_panel(ListPanel(terminal, f"Model (now {now})", items, chosen, at=at))


def _item(choice: ModelChoice, now: str) -> ListItem:
    detail = choice.missing or ("local" if choice.local else f"{choice.window // 1000:,}k tokens")
    return ListItem(choice.name, choice.name, detail, ">" if choice.name == now else "")


async def _take(terminal: Terminal, name: str, *, saves: bool) -> None:
    """Set the model. If ``saves`` is True, store the model as the default if it can be opened. The session reports
    errors as events."""
    if saves:
        from callgate.admin.settings_change import change_setting
        from callgate.assembly.models import open_model

        opened = await asyncio.to_thread(open_model, name, config_of(terminal))
        await opened.aclose()
        changed = await asyncio.to_thread(change_setting, config_of(terminal), "models.default", [name], "user")
        said(terminal, f"models.default is {name} in {changed.file}. It applies to new sessions.")
    terminal.post(SetModel(name))


def model_names(terminal: Terminal) -> Sequence[tuple[str, str]]:
    """Return the model names of the catalogue. API keys are not checked, for speed."""
    if terminal.config is None:
        return ()
    from callgate.assembly.models import model_source

    catalogue = model_source(terminal.config).catalogue
    return [(name, "") for name in catalogue.names]


# ---- effort -------------------------------------------------------------------------------------------------------

_SOURCES = {
    "environment": "set by CALLGATE_EFFORT",
    "turn": "set by the running prompt",
    "session": "set in this session",
    "settings": "set in your settings",
    "model": "not set: the default of the model",
}


def effort(terminal: Terminal, text: str) -> None:
    session = session_of(terminal)
    efforts = session.controls.efforts
    if not text and efforts:
        sent = session.controls.effort_in_force.sent
        items = [ListItem(level, level, sign=">" if level == sent else "") for level in efforts]
        at = efforts.index(sent) if sent in efforts else len(efforts) // 2
        title = "Effort: from faster answers to more reasoning"
        terminal.open_panel(ListPanel(terminal, title, items, lambda item: effort(terminal, item.key), at=at))
        return
    if text in ("", "current"):
        found = session.controls.effort_in_force
        rows = (
            ("requested", found.wanted or "nothing"),
            ("origin", _SOURCES[found.source]),
            ("sent", found.sent or "no level"),
            ("reason", _why(found, session.model)),
        )
        terminal.show(TableBlock(rows, f"Effort of {session.model}", note=f"/effort {'|'.join((*EFFORTS, 'auto'))}"))
        return
    if text not in (*EFFORTS, "auto"):
        raise UsageError(f"Unknown effort {text!r:.40}. Use {', '.join(EFFORTS)} or auto.")
    wanted: WantedEffort = text
    terminal.post(SetEffort(wanted))
    found = session.controls.effort_in_force
    over = "" if found.source == "session" else f", but overridden: {found.wanted} is {_SOURCES[found.source]}"
    said(terminal, f"Effort {wanted} applies from the next request on{over}. {_why(found, session.model)}")


def _why(found: EffortInForce, name: str) -> str:
    if found.wanted in (None, "auto"):
        return f"{name} uses {found.sent} by default." if found.sent else f"{name} uses its own default."
    if found.sent is None:
        return f"{name} does not support effort, so none is sent."
    if found.sent != found.wanted:
        return f"{name} does not support {found.wanted}; the nearest level is {found.sent}."
    return f"{name} supports this level."
