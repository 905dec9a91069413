"""Features of installed packages: entry points of the group callgate.features."""

import asyncio
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from callgate import Session
from callgate.admin.tool_list import list_tools
from callgate.assembly.agent import agent_session
from callgate.assembly.installed_features import BUILTIN_FEATURES, LoadedFeatures, installed_features
from callgate.config import Config, load_config
from callgate.features import search_feature, servers_feature
from callgate.testing import ScriptedModel, say, turn

NAME = "fake_features"
CODE = """
from callgate.features import Feature, FeaturePart, Reminder

class Nag(FeaturePart):
    def before_request(self, abilities):
        return [Reminder("Be brief.", "nag")]

def nag():
    return Feature("nag", lambda opened: Nag())

same = Feature("staging", lambda opened: Nag())
twice = nag()
nothing = None
"""


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Config]:
    """A folder, and a package on sys.path in ``site`` that offers features."""
    package = tmp_path / "site" / NAME
    package.mkdir(parents=True)
    (package / "__init__.py").write_text(CODE)
    info = tmp_path / "site" / f"{NAME}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: fake-features\nVersion: 1.0\n")
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    (tmp_path / "work").mkdir()
    points(tmp_path, a="nag")
    found = load_config(tmp_path / "work", environ={"HOME": str(tmp_path)}, managed=tmp_path / "none")
    yield replace(found, data=tmp_path / "data")
    sys.modules.pop(NAME, None)


def points(folder: Path, **named: str) -> None:
    lines = "".join(f"{name} = {NAME}:{value}\n" for name, value in named.items())
    (folder / "site" / f"{NAME}-1.0.dist-info" / "entry_points.txt").write_text(f"[callgate.features]\n{lines}")


def loaded(config: Config) -> LoadedFeatures:
    return asyncio.run(installed_features(config))


def test_the_agent_has_the_features_of_installed_packages(config: Config) -> None:
    model = ScriptedModel(turn(say("ok")))

    async def main() -> None:
        async with await agent_session(config, model) as session:
            await session.run("go")

    asyncio.run(main())
    assert any("Be brief." in message.text for message in model.requests[0].messages)


def test_without_project_files_it_has_none(config: Config) -> None:
    async def main() -> None:
        async with await agent_session(config, ScriptedModel(turn(say("ok"))), bare=True) as session:
            assert session.part("nag") is None

    asyncio.run(main())


def test_they_are_listed_with_their_package(config: Config) -> None:
    (row,) = [row for row in list_tools(config).rows if row.kind == "feature"]
    assert (row.name, row.origin) == ("nag", "entry point a of fake-features")


def test_one_that_cannot_be_used_is_reported_and_the_others_count(config: Config, tmp_path: Path) -> None:
    points(tmp_path, a="same", b="nothing", c="missing", d="nag", e="twice")
    found = loaded(config)
    assert [each.feature.name for each in found.features] == ["nag"]
    assert [(each.file.split()[2], each.text) for each in found.problems] == [
        ("a", "the feature is ignored: a feature 'staging' already exists"),
        ("b", "the feature is ignored: the entry point returns NoneType instead of a Feature"),
        ("c", f"the feature is ignored: AttributeError: module '{NAME}' has no attribute 'missing'"),
        ("e", "the feature is ignored: a feature 'nag' already exists"),
    ]


def test_a_report_is_a_note_of_the_session(config: Config, tmp_path: Path) -> None:
    points(tmp_path, b="nothing")

    async def main() -> None:
        async with await agent_session(config, ScriptedModel(turn(say("ok")))) as session:
            (note,) = [note for note in session.controls.notes if "feature" in note]
        assert "the entry point returns NoneType instead of a Feature" in note

    asyncio.run(main())


def test_a_package_in_a_workspace_without_trust_does_not_count(config: Config, tmp_path: Path) -> None:
    found = loaded(replace(config, root=tmp_path))
    assert found.features == ()
    assert [each.text for each in found.problems] == ["it is in the workspace, which is not trusted"]


def test_no_package_may_replace_a_built_in_feature(config: Config) -> None:
    session = Session(ScriptedModel(), config=config)
    names = {*session._features.parts}  # pyright: ignore[reportPrivateUsage]
    names |= {search_feature([]).name, servers_feature(None).name, "context", "titles"}  # type: ignore[arg-type]
    assert names == BUILTIN_FEATURES
