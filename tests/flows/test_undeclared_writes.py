"""Hard safety and the files that a preview really writes, where its tool does not say which they are."""

from pathlib import Path

from callgate import Answer, ChangeSet, FileChange, Prompt, Session, exclusive, tool, writes
from callgate.config import load_config
from callgate.testing import ScriptedModel, call, say, turn
from tests.flows.kit import results


def change(path: str) -> ChangeSet:
    return ChangeSet("write it", (FileChange(path, None, b"x"),))


@tool(locks=exclusive, preview=lambda name: change(name))
def put(name: str) -> None:
    """Write a file that its argument names."""


@tool(locks=exclusive, preview=lambda n: change((".git/config", "notes.txt")[n]))
def pick(n: int) -> None:
    """Write a file that no argument names."""


@tool(locks=lambda a: writes(a.name), preview=lambda name: change(name))
def declared(name: str) -> None:
    """Write a file and say which."""


def names_in(folder: Path) -> list[str]:
    return sorted(file.name for file in folder.iterdir())


async def test_a_protected_file_that_only_the_preview_shows_is_asked_about_in_bypass(tmp_path: Path) -> None:
    calls = turn(
        *(call("pick", n=0), call("pick", n=1), call("put", name="a.txt")),
        *(call("put", name=".git/config"), call("declared", name=".git/config")),
    )
    model = ScriptedModel(calls, turn(say("done")))
    async with Session(model, [put, pick, declared], host=tmp_path, mode="bypass") as session:
        await session.send(Prompt("go"))
        asked: list[str] = []
        while session.questions:
            question = session.questions[0]
            asked.append(question.tool)
            assert question.by == "hard safety"
            assert question.preview is not None
            assert question.preview.files == change(".git/config").files
            assert not (tmp_path / ".git").exists()
            await session.send(Answer(question.no()))
        unseen, picked, put_there, *others = results(session)
    assert asked == ["pick", "put", "declared"]
    assert (picked, put_there) == ("Applied: write it (1 file)",) * 2
    assert all("denied" in each for each in (unseen, *others))
    assert names_in(tmp_path) == ["a.txt", "notes.txt"]


async def test_yes_to_a_change_that_only_the_preview_shows_makes_just_that_change(tmp_path: Path) -> None:
    model = ScriptedModel(turn(call("pick", n=0)), turn(say("done")))
    async with Session(model, [pick], host=tmp_path, mode="bypass") as session:
        await session.send(Prompt("go"))
        await session.send(Answer(session.questions[0].yes()))
        assert results(session) == ["Applied: write it (1 file)"]
    assert (tmp_path / ".git" / "config").read_bytes() == b"x"


async def test_a_file_under_a_deny_rule_is_not_written_by_a_preview_that_a_person_would_be_asked_about(
    tmp_path: Path,
) -> None:
    config = load_config(tmp_path, environ={}, home=tmp_path / "home", deny=["Edit(notes.txt)"])
    model = ScriptedModel(turn(call("pick", n=1)), turn(say("done")))
    async with Session(model, [pick], config=config) as session:
        await session.send(Prompt("go"))
        assert not session.questions
        (denied,) = results(session)
    assert "denied by Edit(notes.txt)" in denied
    assert not (tmp_path / "notes.txt").exists()
