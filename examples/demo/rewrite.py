"""The third play: a structural rewrite is previewed, refused, applied, killed half-way, finished and undone."""

import re
from asyncio.subprocess import Process
from importlib.util import find_spec
from pathlib import Path

from callgate import Continue, Result, Session
from callgate.testing import ScriptedModel, call, say, turn
from callgate.tools.builtin.ast_edit import ast_edit
from callgate.words.events import ActionResolved, ActionStaged, Noted
from callgate.words.inputs import Undo

from .record import PlayRecord
from .shop import Files, add_line, rules, store
from .stage import KILLED, Play, PlayStage

NAME = "rewrite"
TOUCHED = ("cart.py", "checks.py", "prices.py")
"""The files that the rewrite changes."""
FOREIGN = "cart.py"
"""A colleague adds a line to this file between the preview and the apply."""

_OPS = [{"pattern": "total", "rewrite": "total_of"}, {"pattern": "PRICES", "rewrite": "PRICE_LIST"}]


def first_model(speed: float) -> ScriptedModel:
    def tell(text: str):
        return say(text, over=0.3 / speed)

    preview = call("AstEdit", ops=_OPS, paths=list(TOUCHED))
    return ScriptedModel(
        turn(tell("A rewrite by syntax, not by text. First I look at what it would change."), preview),
        turn(tell("That is right."), call("resolve", action="apply", reason="the names are right")),
        turn(
            tell("A file has changed meanwhile: I drop this one and look again."),
            call("resolve", action="discard", reason=f"{FOREIGN} has changed"),
            preview,
        ),
        turn(tell("Now it fits."), call("resolve", action="apply", reason="the names are right, the comment stays")),
    )


async def _perform(stage: PlayStage) -> None:
    if find_spec("ast_grep_py") is None:
        stage.record.left_out = "a package is not installed"
        stage.view.say(f"Left out: {stage.record.left_out}. This installs it:", "yellow")
        stage.view.say("pip install 'callgate[edit]'", indent=4)
        return

    async def meddle(process: Process) -> None:
        stage.view.say(f"Meanwhile a colleague adds a line to {FOREIGN}.", "yellow")
        add_line(Path(FOREIGN), "# a colleague was here")
        stage.keep_files("previewed")
        assert process.stdin is not None
        process.stdin.write(b"go\n")
        await process.stdin.drain()

    stage.keep_files("before")
    if not await stage.first_process(NAME, meddle):
        return
    journal = await store(NAME).open()
    model = ScriptedModel(turn(say("The rewrite is applied, all of it.", over=0.3 / stage.shop.speed)))
    async with Session(model, [ast_edit()], gate=rules(), journal=journal) as session:
        await stage.send(session, Continue())
        stage.keep_files("recovered")
        stage.view.say("Now the whole change is undone.")
        await stage.send(session, Undo("call"))
        stage.keep_files("reverted")


def _renamed(files: Files) -> Files:
    """The files as the rewrite must leave them. Every such word in them is code, so replacing text is enough."""
    new = {op["pattern"].encode(): op["rewrite"].encode() for op in _OPS}
    words = re.compile(rb"\b(" + b"|".join(new) + rb")\b")
    return {**files, **{name: words.sub(lambda found: new[found[0]], files[name]) for name in TOUCHED}}


def _results(record: PlayRecord, name: str) -> list[Result]:
    return [record.result(call) for call in record.calls() if call.name == name]


def _ends(record: PlayRecord) -> list[str]:
    """The end of each staged action."""
    ends = {resolved.id: resolved.ended for _, resolved in record.of(ActionResolved)}
    return [ends[staged.action.id] for _, staged in record.of(ActionStaged)]


def _previewed(record: PlayRecord) -> tuple[bool, str]:
    preview = _results(record, "AstEdit")[0]
    before, after = record.files["before"], record.files["previewed"]
    (diff,) = (each.body for each in preview.display if each.kind == "diff")
    holds = after == {**before, FOREIGN: after[FOREIGN]} and after[FOREIGN].startswith(before[FOREIGN])
    detail = f"{preview.details['replacements']} replacements in {preview.details['files_changed']} files, as a diff"
    return holds and "+" in diff and len(record.of(ActionStaged)) == 2, detail


def _refused(record: PlayRecord) -> tuple[bool, str]:
    refused, (first, again) = _results(record, "resolve")[0], _results(record, "AstEdit")
    named = refused.is_error and FOREIGN in refused.text and "colleague" in refused.text
    unwritten = again.details["replacements"] == first.details["replacements"]
    holds = named and unwritten and _ends(record)[0] == "discarded"
    return holds, f"nothing was written, and {FOREIGN} was named with what differs; discarded, previewed again"


def _killed(record: PlayRecord) -> tuple[bool, str]:
    old, found = record.files["previewed"], record.files["killed"]
    new = _renamed(old)
    changed = [name for name in TOUCHED if found[name] == new[name]]
    kept = [name for name in TOUCHED if found[name] == old[name]]
    holds = record.exit_codes == [KILLED] and len(changed) == 1 and len(kept) == len(TOUCHED) - 1
    shown = f"{', '.join(changed) or 'no file'} was new, {', '.join(kept)} old"
    return holds, f"{shown}, and the process ended with {record.exit_codes[0]}"


def _finished(record: PlayRecord) -> tuple[bool, str]:
    note, *_ = (noted.text for _, noted in record.of(Noted) if "was interrupted" in noted.text)
    whole = record.files["recovered"] == _renamed(record.files["previewed"])
    return whole and _ends(record)[1] == "applied", note


def _taken_back(record: PlayRecord) -> tuple[bool, str]:
    same = record.files["reverted"] == record.files["previewed"]
    return same, f"byte for byte, the line of the colleague in {FOREIGN} included"


CLAIMS = (
    ("A rewrite is shown before anything is written", _previewed),
    ("A file that changed meanwhile stops the apply", _refused),
    ("The process is killed between two renames", _killed),
    ("Opened again, all of the change is there", _finished),
    ("The change is undone", _taken_back),
)
TITLES = {
    1: "10. A rewrite is shown before anything is written",
    2: "11. A file that changed meanwhile stops it; it is discarded and shown again",
    4: "12. It is applied, killed between two renames, finished by another process, and undone",
}
PLAY = Play("Give the functions and tables of the shop better names.", TITLES, CLAIMS, _perform)
