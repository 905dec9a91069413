"""The commands ``callgate trust``.

Hooks and other commands in the settings of a folder run only after you trust the folder. Its deny and ask rules
always apply, its allow rules never. The list of trusted folders is stored in $CALLGATE_DATA_DIR (default:
~/.local/share/callgate).
"""

import os
import sys
from collections.abc import Iterator
from difflib import get_close_matches
from pathlib import Path

from callgate.admin import workspace_policy
from callgate.admin.sessions import moment
from callgate.cli.command_parser import USAGE, hexadecimal
from callgate.cli.command_rows import ArgumentRow, CommandRow
from callgate.cli.terminal import Line, Safe, Span, paragraph, safe
from callgate.cli.text_output import answer_to, item, put, put_paragraph, put_text, say, text_width
from callgate.formats.columns import pieces
from callgate.formats.display import counted
from callgate.words.errors import UsageError

DIGITS = 32
"""Digits of a fingerprint that are shown and asked for."""


def list_trusted() -> int:
    """List the trusted folders, since when they are trusted, and whether they have changed.

    examples:
      callgate trust list
    """
    store = workspace_policy.trust_store()
    found = store.list()
    if not found:
        put_text("No folder is trusted.")
    for each in found:
        put(_row(store, each, text_width()))
    return 0


def show(folder: str | None) -> int:
    """Show the hooks and tools that a folder would run if it were trusted, what has changed since it was trusted,
    and the fingerprint of these files. Nothing is run.

    examples:
      callgate trust show ~/src/app
    """
    root = _folder(folder)
    found = workspace_policy.fingerprint(root)
    put(_shown(root, workspace_policy.trust_store(root).state(root), found, text_width()))
    if found.problem or not found.files:
        return 1 if found.problem else 0
    put_paragraph(f"fingerprint {found.digest[:DIGITS]}", "bold")
    return 0


def add(folder: str | None, yes: str | None) -> int:
    """Trust a folder as it is now. Shows what the folder would run and asks. Without a terminal, --yes answers with
    the fingerprint that `callgate trust show` printed, so that exactly what was shown is trusted.

    examples:
      callgate trust add
      callgate trust add ~/src/app --yes 0123456789abcdef0123456789abcdef
    """
    root = _folder(folder)
    store = workspace_policy.trust_store(root)
    state, found = store.state(root), workspace_policy.fingerprint(root)
    if yes is not None and yes != found.digest[:DIGITS]:
        raise UsageError(f"this fingerprint does not match the current files of {root}: see `callgate trust show`")
    put(_shown(root, state, found, text_width()))
    sys.stdout.flush()
    if not found.problem and found.files and yes is None:
        if not (sys.stdin.isatty() and sys.stdout.isatty()):
            say("this is not a terminal: pass --yes with the fingerprint from `callgate trust show`")
            return USAGE
        if answer_to("trust? type yes: ") != "yes":
            say("not trusted")
            return 1
    trusted = store.trust(root, found)
    if isinstance(trusted, workspace_policy.Untrusted):
        say(f"not trusted: {trusted.why}")
        return 1
    put_paragraph(f"{root} is trusted; you are asked again after each change", "green")
    return 0


def revoke(folder: str | None) -> int:
    """Remove a folder from the list of trusted folders. The folder need not exist.

    examples:
      callgate trust revoke ~/src/app
    """
    root, store = _folder(folder, may_be_missing=True), workspace_policy.trust_store()
    if not store.revoke(root):
        close = get_close_matches(str(root), [each.root for each in store.list()], n=1)
        hint = f", did you mean {close[0]}?" if close else ""
        raise UsageError(f"{root} is not trusted{hint}")
    put_paragraph(f"{root} is not trusted any more")
    return 0


def _folder(folder: str | None, *, may_be_missing: bool = False) -> Path:
    root = Path(os.path.realpath(folder or os.getcwd()))
    if not may_be_missing and not root.is_dir():
        raise UsageError(f"{root} is not a folder")
    return root


def _row(store: workspace_policy.Trust, folder: workspace_policy.TrustedFolder, room: int) -> Iterator[Line]:
    if folder.problem:
        yield from item("  !", folder.root, f"{folder.problem}; nothing was trusted", room)
        return
    now = store.state(Path(folder.root))
    if not Path(folder.root).is_dir():
        state = "gone"
    elif isinstance(now, workspace_policy.Trusted):
        state = "as it was"
    elif isinstance(now, workspace_policy.Untrusted):
        state = f"not trusted now: {now.why or 'nothing is left to trust'}"
    else:
        state = "CHANGED, so not trusted now"
    below = f"since {moment(folder.at)}, {counted(folder.files, 'file')}; {state}"
    yield from item("  +" if isinstance(now, workspace_policy.Trusted) else "  -", folder.root, below, room)


def _shown(
    root: Path, state: workspace_policy.TrustState, found: workspace_policy.Fingerprint, room: int
) -> Iterator[Line]:
    """Yield every hook and tool that trust would allow to run."""
    yield from paragraph(f"{root} is {_in_words(state)}", room, "bold", hang=2)
    if found.problem:
        yield from paragraph(f"It cannot be trusted: {found.problem}", room, "red", hang=2)
        return
    if not found.files:
        yield from paragraph("The folder needs no trust: it contains no settings, hooks or other commands.", room)
        return
    yield (Span("once it is trusted, it", "bold"),)
    for effect in found.effects or ("has no further effects",):
        yield from paragraph(Safe(effect), room, indent=2, hang=2)
    for fault in (fault for each in found.settings for fault in each.faults):
        yield from paragraph(f"fault: {fault}", room, "red", indent=2, hang=2)
    if isinstance(state, workspace_policy.ChangedFolder):
        yield (Span("changed since it was trusted", "bold yellow"),)
        for line in state.describe():
            yield from _difference(line, room)


def _difference(line: str, room: int) -> Iterator[Line]:
    style = {"+": "green", "-": "red"}.get(line[2:3], "") if line.startswith("  ") else "bold"
    for piece in pieces(safe(f"  {line}"), room):
        yield (Span(Safe(piece), style),)


def _in_words(state: workspace_policy.TrustState) -> str:
    if isinstance(state, workspace_policy.Trusted):
        return f"trusted since {moment(state.at)}"
    if isinstance(state, workspace_policy.ChangedFolder):
        return "not trusted now: it changed"
    return f"not trusted: {state.why}" if state.why else "not trusted"


_FOLDER = ArgumentRow("DIR?", "the folder (default: the current one)", "folder")
_DIGEST = hexadecimal("is the fingerprint that `callgate trust show` prints", DIGITS)
_YES = ArgumentRow("--yes FINGERPRINT", "do not ask; pass the fingerprint from `callgate trust show`", read=_DIGEST)
COMMANDS = (
    CommandRow("trust list", list_trusted, "the trusted folders"),
    CommandRow("trust show", show, "what a folder would run", (_FOLDER,)),
    CommandRow("trust add", add, "trust a folder as it is now", (_FOLDER, _YES)),
    CommandRow("trust revoke", revoke, "trust a folder no more", (_FOLDER,)),
)
