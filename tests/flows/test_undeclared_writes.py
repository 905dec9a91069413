"""Hard safety and the files that a preview really writes, where its tool does not say which they are."""

from pathlib import Path

from callgate import Answer, ChangeSet, FileChange, Prompt, Session, exclusive, tool, writes
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


async def test_a_protected_file_is_asked_about_in_bypass_and_never_written_unseen(tmp_path: Path) -> None:
    calls = turn(
        *(call("pick", n=0), call("pick", n=1), call("put", name="a.txt")),
        *(call("put", name=".git/config"), call("declared", name=".git/config")),
    )
    model = ScriptedModel(calls, turn(say("done")))
    async with Session(model, [put, pick, declared], root=tmp_path, mode="bypass") as session:
        await session.send(Prompt("go"))
        while session.questions:
            question = session.questions[0]
            assert question.by == "hard safety"
            assert not (tmp_path / ".git").exists()
            await session.send(Answer(question.no()))
        unseen, picked, put_there, *asked = results(session)
    assert "'.git/config'" in unseen
    assert "must declare which files it writes" in unseen
    assert (picked, put_there) == ("Applied: write it (1 file)",) * 2
    assert all("denied" in each for each in asked)
    assert len(asked) == 2
    assert names_in(tmp_path) == ["a.txt", "notes.txt"]
