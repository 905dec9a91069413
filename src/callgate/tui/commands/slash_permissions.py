"""/permissions and /hooks."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING

from callgate.formats.display import counted
from callgate.tui.blocks import NoticeBlock, TableBlock
from callgate.tui.commands.slash_support import config_of, said, session_of
from callgate.words.decisions import Origin
from callgate.words.errors import UsageError
from callgate.words.modes import MODES

if TYPE_CHECKING:
    from callgate.tui.port import Terminal


_REVOKE = "revoke"


def permission_words(_terminal: Terminal) -> Sequence[tuple[str, str]]:
    return [(_REVOKE, "forget remembered answers, by their ids")]


async def permissions(terminal: Terminal, text: str) -> None:
    """Show the rules with their origins and the remembered answers; ``revoke ID…`` removes answers."""
    from callgate.admin.workspace_policy import WorkspacePolicy

    words = text.split()
    if words and words[0] != _REVOKE:
        raise UsageError(f"/permissions takes nothing, or revoke ID…, not {text!r:.60}")
    policy = await asyncio.to_thread(WorkspacePolicy, config_of(terminal).root)
    if words:
        if not words[1:]:
            raise UsageError("Name the answers to forget: /permissions lists them with their ids.")
        for each in await asyncio.to_thread(policy.revoke, words[1:]):
            said(terminal, f"Forgotten: {each.policy.effect} {each.covers}. A new session asks again.")
        return
    mode = session_of(terminal).mode
    note = f"Where no rule says anything, the mode {mode} does: it {MODES[mode].meaning}."
    rules = tuple((rule.effect, rule.text, _short(rule.origin)) for rule in policy.rulebook.rules)
    heads = ("", "rule", "from")
    terminal.show(TableBlock(rules, f"{counted(len(rules), 'rule')} in force", heads, note))
    answers = tuple(
        (each.id, each.policy.effect, each.covers, "expired" if each.expired else each.policy.scope)
        for each in await asyncio.to_thread(policy.answers)
    )
    forget = "/permissions revoke ID forgets one. " if answers else ""
    note = f"{forget}`callgate policy explain` says what decides about a call."
    terminal.show(TableBlock(answers, counted(len(answers), "remembered answer"), note=note))
    for fault in policy.faults:
        terminal.show(NoticeBlock(f"Every call is denied until this is mended: {fault}", "error"))


def hooks(terminal: Terminal, _text: str) -> None:
    config = config_of(terminal)
    if not config.hooks:
        said(terminal, "There are no hooks. A [[hooks]] table in your settings adds one: see the guide on hooks.")
        return
    rows = tuple(
        (each.event, each.matcher or each.condition or "all", each.target, _short(each.origin)) for each in config.hooks
    )
    measures = terminal.fold.measures
    note = "" if measures is None else f"They took {measures.hooks:.2f} s in the last turn."
    terminal.show(TableBlock(rows, counted(len(rows), "hook"), ("event", "for", "runs", "from"), note))


def _short(origin: Origin) -> str:
    """Return the settings layer, and the line in its file."""
    return f"{origin.layer}:{origin.line}" if origin.line else origin.layer
