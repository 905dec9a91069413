"""``callgate trust list``, ``show``, ``add`` and ``revoke``: whose hooks and tools may run."""

import os
import sys
from argparse import Namespace
from collections.abc import Iterator
from difflib import get_close_matches
from pathlib import Path

from callgate.admin.policy import (
    ChangedFolder,
    Fingerprint,
    Trust,
    Trusted,
    TrustedFolder,
    TrustState,
    Untrusted,
    fingerprint,
    trust_store,
)
from callgate.admin.sessions import moment
from callgate.cli.parsing import USAGE
from callgate.cli.policy.trust_arguments import DIGITS
from callgate.cli.policy.words import item, room_on
from callgate.cli.session.output import out, put, say
from callgate.cli.terminal import Line, Safe, Span, paragraph, safe
from callgate.formats.display import counted
from callgate.words.errors import UsageError


def list_trusted(options: Namespace) -> int:
    store, stream = trust_store(), out()
    found = store.list()
    if not found:
        put([(Span("No folder is trusted."),)], stream)
    for each in found:
        put(_row(store, each, room_on(stream)), stream)
    return 0


def show(options: Namespace) -> int:
    root = _folder(options)
    store, stream = trust_store(root), out()
    state, found = store.state(root), fingerprint(root)
    put(_shown(root, state, found, room_on(stream)), stream)
    if found.problem or not found.files:
        return 1 if found.problem else 0
    put(paragraph(f"fingerprint {found.digest[:DIGITS]}", room_on(stream), "bold"), stream)
    return 0


def add(options: Namespace) -> int:
    root = _folder(options)
    store, stream = trust_store(root), out()
    state, found = store.state(root), fingerprint(root)
    if options.yes is not None and options.yes != found.digest[:DIGITS]:
        raise UsageError(
            f"this fingerprint does not fit the files of {root} as they are now: look again with `callgate trust show`"
        )
    put(_shown(root, state, found, room_on(stream)), stream)
    stream.flush()
    if not found.problem and found.files and options.yes is None:
        if not (sys.stdin.isatty() and sys.stdout.isatty()):
            say("there is no terminal here to ask on: say --yes with the fingerprint that `callgate trust show` prints")
            return USAGE
        if not _is_yes():
            say("not trusted")
            return 1
    trusted = store.trust(root, found)
    if isinstance(trusted, Untrusted):
        say(f"not trusted: {trusted.why}")
        return 1
    put(paragraph(f"{root} is trusted as it is now; any change asks again", room_on(stream), "green"), stream)
    return 0


def revoke(options: Namespace) -> int:
    root = _folder(options, missing=True)
    store = trust_store()
    if not store.revoke(root):
        close = get_close_matches(str(root), [each.root for each in store.list()], n=1)
        hint = f", did you mean {close[0]}?" if close else ""
        raise UsageError(f"{root} is not trusted{hint}")
    stream = out()
    put(paragraph(f"{root} is not trusted any more", room_on(stream)), stream)
    return 0


def _folder(options: Namespace, *, missing: bool = False) -> Path:
    root = Path(os.path.realpath(options.folder or os.getcwd()))
    if not missing and not root.is_dir():
        raise UsageError(f"{root} is not a folder")
    return root


def _is_yes() -> bool:
    try:
        return input("trust? type yes: ").strip() == "yes"
    except EOFError:
        return False


def _row(store: Trust, folder: TrustedFolder, room: int) -> Iterator[Line]:
    if folder.problem:
        yield from item("  !", folder.root, f"{folder.problem}; nothing is trusted by it", room)
        return
    now = store.state(Path(folder.root))
    if not Path(folder.root).is_dir():
        state = "gone"
    elif isinstance(now, Trusted):
        state = "as it was"
    elif isinstance(now, Untrusted):
        state = f"not trusted now: {now.why or 'nothing is left to trust'}"
    else:
        state = "CHANGED, so not trusted now"
    below = f"since {moment(folder.at)}, {counted(folder.files, 'file')}; {state}"
    yield from item("  +" if isinstance(now, Trusted) else "  -", folder.root, below, room)


def _shown(root: Path, state: TrustState, found: Fingerprint, room: int) -> Iterator[Line]:
    """Shows every hook and tool that trust would allow to run."""
    yield from paragraph(f"{root} is {_in_words(state)}", room, "bold", hang=2)
    if found.problem:
        yield from paragraph(f"It cannot be trusted: {found.problem}", room, "red", hang=2)
        return
    if not found.files:
        yield from paragraph("There is nothing in it to trust: no settings, hooks or other commands.", room)
        return
    yield (Span("once it is trusted, it", "bold"),)
    for effect in found.effects or ("does nothing by itself",):
        yield from paragraph(Safe(effect), room, indent=2, hang=2)
    for fault in (fault for each in found.settings for fault in each.faults):
        yield from paragraph(f"fault: {fault}", room, "red", indent=2, hang=2)
    if isinstance(state, ChangedFolder):
        yield (Span("changed since it was trusted", "bold yellow"),)
        for line in state.describe():
            yield from _difference(line, room)


def _difference(line: str, room: int) -> Iterator[Line]:
    """Blanks count in a diff, so it is not broken at words."""
    text = safe(f"  {line}")
    style = {"+": "green", "-": "red"}.get(line[2:3], "") if line.startswith("  ") else "bold"
    while text:
        yield (Span(Safe(text[:room]), style),)
        text = Safe(text[room:])


def _in_words(state: TrustState) -> str:
    if isinstance(state, Trusted):
        return f"trusted since {moment(state.at)}"
    if isinstance(state, ChangedFolder):
        return "not trusted now: it changed"
    return f"not trusted: {state.why}" if state.why else "not trusted"
