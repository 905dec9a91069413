"""Records the tenth act and computes the claims it proves."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from callgate import Event
from callgate.cli.demo.changed.script import BEHIND, TOUCHED, renamed
from callgate.cli.demo.facts import MISSED, Fact
from callgate.cli.demo.killed.facts import KILLED_CODE
from callgate.words.events import ActionResolved, ActionStaged, CallSettled, MessageAdded, Noted

Files = Mapping[str, bytes]


@dataclass(slots=True)
class Story:
    """``files`` at the moments that have a name: ``before``, ``staged`` (and edited by somebody else), ``killed``,
    ``recovered``, ``reverted``."""

    events: list[Event] = field(default_factory=list[Event])
    files: dict[str, Files] = field(default_factory=dict[str, Files])
    code: int | None = None
    missing: str = ""
    """Why the act could not be played."""

    def results(self, name: str) -> list[CallSettled]:
        calls = {part.id for message in self._messages() for part in message.calls if part.name == name}
        return [event for event in self.events if isinstance(event, CallSettled) and event.call_id in calls]

    def notes(self) -> list[str]:
        return [event.text for event in self.events if isinstance(event, Noted)]

    def staged(self) -> list[str]:
        return [event.action.id for event in self.events if isinstance(event, ActionStaged)]

    def ended(self) -> list[tuple[str, str]]:
        return [(event.id, event.ended) for event in self.events if isinstance(event, ActionResolved)]

    def _messages(self):
        return (event.message for event in self.events if isinstance(event, MessageAdded))


def facts_of_changes(story: Story) -> Iterator[Fact]:
    for claim, judge in () if story.missing else _CLAIMS:
        try:
            holds, detail = judge(story)
        except MISSED:
            holds, detail = False, "it did not happen"
        yield Fact(claim, holds, detail)


def _nothing_before(story: Story) -> tuple[bool, str]:
    first = story.results("AstEdit")[0].result
    foreign = {**story.files["before"], BEHIND: story.files["staged"][BEHIND]}
    diff = next(each for each in first.display if each.kind == "diff")
    holds = story.files["staged"] == foreign and "+" in diff.body and len(story.staged()) == 2
    return holds, f"{first.details['replacements']} replacements in {first.details['files_changed']} files, as a diff"


def _noticed(story: Story) -> tuple[bool, str]:
    refused = story.results("resolve")[0].result
    second = [name for name, ended in story.ended() if ended == "discarded"]
    holds = refused.is_error and BEHIND in refused.text and "colleague" in refused.text
    return holds and second == story.staged()[:1], f"nothing was written, and {BEHIND} was named with what differs"


def _half_way(story: Story) -> tuple[bool, str]:
    after = renamed(story.files["staged"])
    new = [name for name in TOUCHED if story.files["killed"][name] == after[name]]
    old = [name for name in TOUCHED if story.files["killed"][name] == story.files["staged"][name]]
    holds = story.code == KILLED_CODE and len(new) == 1 and len(new) + len(old) == len(TOUCHED)
    return (
        holds,
        f"{', '.join(new) or 'no file'} was new, {', '.join(old)} old, and the process ended with {story.code}",
    )


def _finished(story: Story) -> tuple[bool, str]:
    whole = story.files["recovered"] == renamed(story.files["staged"])
    told = next(note for note in story.notes() if "cut short" in note)
    return whole and story.ended()[-1] == (story.staged()[1], "applied"), told


def _taken_back(story: Story) -> tuple[bool, str]:
    same = story.files["reverted"] == story.files["staged"]
    return same, f"byte for byte, the line of somebody else in {BEHIND} included"


_CLAIMS: tuple[tuple[str, Callable[[Story], tuple[bool, str]]], ...] = (
    ("A rewrite was shown before anything was written", _nothing_before),
    ("A file that changed behind its back stopped the apply", _noticed),
    ("The process was killed between two renames", _half_way),
    ("Opened again, all of the change was there", _finished),
    ("It was taken back", _taken_back),
)
