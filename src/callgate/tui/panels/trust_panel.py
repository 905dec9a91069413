"""The question whether the user trusts a folder. Settings and code of an untrusted folder are not used."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from callgate.admin.workspace_policy import ChangedFolder, Fingerprint, Trust, Trusted, Untrusted, fingerprint
from callgate.formats.shown_paths import home_path
from callgate.tui.blocks import NoticeBlock
from callgate.tui.panels.panel_page import PanelPage, clip_lines
from callgate.tui.panels.scroll_panel import ScrollPanel
from callgate.tui.route import Card
from callgate.words.errors import CallgateError

if TYPE_CHECKING:
    from callgate.config import Config
    from callgate.tui.port import Terminal


TrustAnswer = Literal["later", "trust", "never"]
_ANSWERS: tuple[tuple[TrustAnswer, str], ...] = (
    ("later", "not now: its hooks, tools and skills are not used"),
    ("trust", "trust these files (asks again if they change)"),
    ("never", "never ask for this folder again"),
)


class TrustPanel(Card):
    """A panel that lists the effects of the folder's files.

    The cursor starts at "not now" and no letter is a key, so that a key that was meant for the input line cannot trust
    the folder.
    """

    def __init__(
        self, terminal: Terminal, config: Config, found: Fingerprint, answer: asyncio.Future[TrustAnswer]
    ) -> None:
        super().__init__()
        self._terminal = terminal
        self._config = config
        self._found = found
        self._answer = answer
        self.at = 0

    def act(self, action: str) -> None:
        match action:
            case "up" | "down":
                self.at = (self.at + (1 if action == "down" else -1)) % len(_ANSWERS)
            case "choose":
                self._say(_ANSWERS[self.at][0])
            case "other":
                self._terminal.open_panel(ScrollPanel(self._terminal, "Effects of trust", self._write))
            case "cancel":
                self._say("later")
            case _:
                return

    def _say(self, answer: TrustAnswer) -> None:
        self._terminal.close_panel(self)
        if not self._answer.done():
            self._answer.set_result(answer)

    def lines(self, width: int, height: int) -> Sequence[str]:
        theme = self._terminal.theme
        head, body, foot = (PanelPage(theme, width) for _ in range(3))
        head.rule()
        head.line(f"? Trust {home_path(self._config.root)}", "bold yellow")
        changed = isinstance(self._config.trust, ChangedFolder)
        head.words(
            "The folder changed since you trusted it."
            if changed
            else "The folder contains settings or code for Callgate.",
            "grey",
        )
        self._write(body)
        for number, (_answer, text) in enumerate(_ANSWERS):
            here = number == self.at
            foot.line(f"{theme.cursor(here)} {text}", "bold" if here else "")
        keys = [(theme.sign("↑ ↓", "up/down"), "choose"), ("Enter", "take"), ("Tab", "all of it"), ("Esc", "not now")]
        foot.card_keys(self._terminal.receiver, keys)
        room = max(height - len(head.lines) - len(foot.lines), 3)
        return [*head.lines, *clip_lines(body.lines, room, " (Tab shows all)", theme), *foot.lines]

    def _write(self, page: PanelPage) -> None:
        page.words("If you trust the folder, it", "bold")
        for effect in self._found.effects or ("has no further effects",):
            page.safe_words(effect, indent=4)
        named = "\n".join(self._found.effects)
        others = sorted(each.path for each in self._found.files if each.path not in named)
        if others:
            page.words(f"Other files: {', '.join(others)}", "grey")
        for fault in (fault for each in self._found.settings for fault in each.faults):
            page.words(f"fault: {fault}", "red", 4)
        if isinstance(self._config.trust, ChangedFolder):
            page.words("Changed since you trusted it:", "bold")
            for line in self._config.trust.describe():
                page.block(line, {"+": "green", "-": "red"}.get(line[2:3], "") if line.startswith("  ") else "", 4)


async def ask_trust(terminal: Terminal, config: Config) -> bool:
    """Ask whether the user trusts the folder, if it has untrusted settings or code and the user did not decline
    before. Return True if the user trusts it now; then settings must be read again."""
    if isinstance(config.trust, Trusted) or not config.own_data:
        return False
    store = Trust(config.data)
    found = await asyncio.to_thread(fingerprint, config.root)
    if not found.files or found.problem or await asyncio.to_thread(store.declined, config.root):
        return False
    return await trust_now(terminal, config, found)


async def trust_now(terminal: Terminal, config: Config, found: Fingerprint) -> bool:
    """Show the effects of the folder's files, ask whether the user trusts the folder, and store the answer. Return
    True for trust."""
    store = Trust(config.data)
    answer: asyncio.Future[TrustAnswer] = asyncio.get_running_loop().create_future()
    terminal.open_panel(TrustPanel(terminal, config, found, answer))
    said = await answer
    try:
        if said == "trust":
            state = await asyncio.to_thread(store.trust, config.root, found)
            if isinstance(state, Untrusted):
                terminal.show(NoticeBlock(f"Not trusted: {state.why}", "error"))
            return isinstance(state, Trusted)
        if said == "never":
            await asyncio.to_thread(store.decline, config.root)
            terminal.show(NoticeBlock("You will not be asked again. To trust the folder: callgate trust add"))
    except CallgateError as error:
        terminal.show(NoticeBlock(str(error), "error"))
    return False
