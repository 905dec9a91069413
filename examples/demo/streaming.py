"""The first play: one session of eight messages, from reads that overlap to a message that is cut off."""

from callgate import Allow, Prompt, QuestionAsked, Session
from callgate.testing import ScriptedModel, call, limit, open_call, pause, say, turn
from callgate.testing.script import Step
from callgate.words.events import (
    CallArrived,
    CallDecided,
    CallReleased,
    CallSettled,
    CallStarted,
    QuestionAnswered,
    TextStreamed,
    TurnEnded,
)

from .record import PlayRecord, title_of
from .shop import FIRST_READS, GUARDED, rules
from .stage import Play, PlayStage


def _model(speed: float) -> ScriptedModel:
    def tell(text: str, seconds: float, *steps: Step) -> tuple[Step, ...]:
        return say(text, over=seconds / speed), *steps

    def read(path: str) -> Step:
        return call("read", path=path)

    def edit(path: str, old: str, new: str) -> Step:
        return call("edit", path=path, old=old, new=new)

    build, checks = call("run", command="python build.py"), call("run", command="python checks.py")
    promise, comment = edit("README.md", "USD", "EUR"), edit("cart.py", "dollars", "euros")
    cut_off = pause(0.3 / speed), open_call("edit", '{"path": "README.md", "old": "All pri'), limit()
    return ScriptedModel(
        turn(
            *tell("I start with the prices,", 0.25, read("prices.py")),
            *tell("then how a total is made,", 0.25, read("cart.py")),
            *tell("and what the README promises.", 0.25, read("README.md")),
            *tell("All three are being read while I am still writing this sentence.", 0.9),
        ),
        turn(
            *tell("Two files name the currency.", 0.15, edit("prices.py", "USD", "EUR"), promise),
            *tell("An edit has effects, so it starts once I have finished.", 0.5),
        ),
        turn(*tell("A comment is wrong too.", 0.15, read("cart.py"), comment, read("checks.py"))),
        turn(*tell("The settings are guarded: this needs you.", 0.2, edit(GUARDED, "USD", "EUR"), read("build.py"))),
        turn(*tell("Now the build and the checks.", 0.15, build, checks, edit("README.md", "EUR", "euros"))),
        turn(*tell("The checks expect dollars.", 0.15, call("raed", path="checks.py"), read("checks.py"))),
        turn(*tell("I mend the checks and the README", 0.25, edit("checks.py", "USD", "EUR"), *cut_off)),
        turn(*tell("My last message was cut off, so nothing of it was done. I would send it again now.", 0.3)),
    )


async def _perform(stage: PlayStage) -> None:
    async with Session(_model(stage.shop.speed), stage.shop.tools(), gate=rules()) as session:
        await stage.send(session, Prompt(PLAY.prompt))
    stage.record.exit_codes += [process.returncode for process in stage.shop.processes]


def _overlapped(record: PlayRecord) -> tuple[bool, str]:
    reads, message = record.calls(1), record.message(1)
    starts = [record.first(CallStarted, each) for each in reads]
    end, ready = min((record.first(CallSettled, each), title_of(each)) for each in reads)
    streamed = any(max(starts) < n < message for n, _ in record.of(TextStreamed))
    early = record.time(record.first(CallArrived, reads[0]), starts[0])
    left = record.time(starts[0], message)
    holds = len(reads) == len(FIRST_READS) and max(starts) < end and streamed
    detail = f"the first started {early} after its arguments closed, {left} before the message ended"
    return holds, f"{detail}; {ready} was ready first"


def _parallel(record: PlayRecord) -> tuple[bool, str]:
    starts = [record.first(CallStarted, each) for each in record.calls(2)]
    end = min(record.first(CallSettled, each) for each in record.calls(2))
    changed = all(b"EUR" in record.files["turn 2"][name] for name in ("prices.py", "README.md"))
    holds = len(starts) == 2 and record.message(2) < min(starts) and max(starts) < end and changed
    return holds, f"both started after the end of the message and ran together for {record.time(max(starts), end)}"


def _waited(record: PlayRecord) -> tuple[bool, str]:
    read, edit, other = record.calls(3)
    ended, started = record.first(CallSettled, read), record.first(CallStarted, edit)
    detail = f"it started {record.time(ended, started)} after that read ended; {title_of(other)} did not wait"
    return record.first(CallStarted, other) < ended < started, detail


def _approved(record: PlayRecord) -> tuple[bool, str]:
    edit = record.calls(4)[0]
    ((asked, event),), answered = record.of(QuestionAsked, edit), record.first(QuestionAnswered, edit)
    assert event.question.preview is not None
    (shown,) = event.question.preview.files
    exact = (record.files["turn 3"][GUARDED], record.files["turn 4"][GUARDED]) == (shown.before, shown.after)
    order = asked < answered < record.first(CallStarted, edit) and record.result(edit).code == "ok"
    same = "byte for byte" if exact else "not"
    return (
        exact and order,
        f"answered after {record.time(asked, answered)}; {GUARDED} is {same} what the preview showed",
    )


def _cascaded(record: PlayRecord) -> tuple[bool, str]:
    build, checks, edit = record.calls(5)
    gone = len(record.exit_codes) == 2 and None not in record.exit_codes
    stopped = bool(record.of(CallStarted, build)) and not record.of(CallStarted, edit)
    holds = gone and stopped and record.codes(5) == ["cancelled_by_sibling", "tool_error", "cancelled_by_sibling"]
    left = "its process is gone" if gone else "a process is left"
    detail = f"{title_of(checks)} failed, {title_of(build)} was stopped ({left}), {title_of(edit)} never started"
    return holds, detail


def _unknown(record: PlayRecord) -> tuple[bool, str]:
    wrong = record.calls(6)[0]
    close = ", ".join(record.result(wrong).details.get("close", ()))
    taken = record.time(record.first(CallArrived, wrong), record.first(CallSettled, wrong))
    holds = record.codes(6) == ["unknown_tool", "ok"] and bool(close)
    return holds, f"answered in {taken}, with a hint at {close or 'nothing'}"


def _truncated(record: PlayRecord) -> tuple[bool, str]:
    calls, same = record.calls(7), record.files["turn 7"] == record.files["turn 6"]
    ran = any(record.of(CallStarted, each) for each in calls)
    holds = same and not ran and record.codes(7) == ["not_run_truncated"] * 2
    return holds, f"{len(calls)} calls not run, {'all files unchanged' if same else 'but files changed'}"


def _ended(record: PlayRecord) -> tuple[bool, str]:
    *_, (_, last) = record.of(TurnEnded)
    return last.turn == 8 and last.reason == "answered", f"{last.turn} messages of the model"


def _decided(record: PlayRecord) -> tuple[bool, str]:
    started = [each for each in record.calls() if record.of(CallStarted, each)]
    allowed = [
        each
        for each in started
        for n, decided in record.of(CallDecided, each)
        if isinstance(decided.decision, Allow) and n < record.first(CallStarted, each)
    ]
    return bool(started) and allowed == started, f"{len(started)} calls started, {len(allowed)} of them allowed before"


def _one_result(record: PlayRecord) -> tuple[bool, str]:
    calls, results = [call.call_id for call in record.calls()], record.of(CallSettled)
    left = [(n, each.call_id) for n, each in (*results, *record.of(CallReleased)) if not getattr(each, "held", False)]
    in_order = [call_id for _, call_id in sorted(left)] == calls
    detail = f"{len(calls)} calls, {len(results)} results, {'in order' if in_order else 'not in order'}"
    return len(calls) == len(results) > 0 and in_order, detail


CLAIMS = (
    ("Three reads overlap while the text streams", _overlapped),
    ("Two edits of different files wait for the whole message, then run in parallel", _parallel),
    ("An edit waits for the read of the same file, and for nothing else", _waited),
    ("A person is asked and sees a change, and exactly that is applied", _approved),
    ("A failing command cancels its siblings", _cascaded),
    ("A tool that does not exist gets an answer and holds nothing up", _unknown),
    ("A message that is cut off changes nothing", _truncated),
    ("The session comes to its end", _ended),
    ("Nothing runs without a decision on record", _decided),
    ("One call, one result, in the order of the calls", _one_result),
)
TITLES = {number: f"{number}. {claim}" for number, (claim, _) in enumerate(CLAIMS[:8], start=1)}
PLAY = Play("Switch the shop from dollars to euros, and see that the checks still pass.", TITLES, CLAIMS, _perform)
