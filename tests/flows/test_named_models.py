"""A session opens its model by name, and says what to install or to set if it cannot."""

import asyncio
from pathlib import Path

import pytest

from callgate import CallgateError, Session, load_config, run_sync
from callgate.words.inputs import SetModel
from tests.cli.headless.blackbox import KEY, says
from tests.providers.servers import serving


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY", "XDG_CONFIG_HOME", "CALLGATE_DATA_DIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    return tmp_path


UNKNOWN = [
    ("opus", "there is no key for anthropic: set ANTHROPIC_API_KEY, or store one with `callgate auth set anthropic`"),
    ("gpt-5", "there is no key for openai: set OPENAI_API_KEY, or store one with `callgate auth set openai`"),
    ("opuss", "there is no model 'opuss': did you mean opus?"),
    ("nosuch/model", "there is no provider 'nosuch'"),
    ("", "there is no model ''"),
    ("gpt", "there is no model 'gpt'"),
]


async def test_a_name_that_cannot_be_opened_says_what_to_do(home: Path) -> None:
    wrong: list[str] = []
    for name, message in UNKNOWN:
        with pytest.raises(CallgateError) as raised:
            Session(name)
        if message not in str(raised.value):
            wrong.append(f"{name}: {raised.value}")
    assert not wrong, "\n".join(wrong)


def _settings(home: Path, url: str) -> None:
    folder = home / ".config/callgate"
    folder.mkdir(parents=True)
    (folder / "settings.toml").write_text(
        f'[providers.fake]\nfamily = "openai-chat"\nbase_url = "{url}"\nkey_variable = "FAKE_KEY"\n'
    )


def test_a_session_with_the_name_of_a_model_answers_and_can_change_it(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_KEY", KEY)
    with serving(says("Hello."), says("Again."), says("Other.")) as server:
        _settings(home, server.url)
        assert run_sync("fake/fake-1", "hi").text == "Hello."
        with Session("fake/fake-1", config=load_config()) as session:
            assert (session.run_sync("hi").text, session.model) == ("Again.", "fake/fake-1")
            session.run_sync(SetModel("fake/other"))
            assert (session.run_sync("hi").text, session.model) == ("Other.", "fake/other")


def test_a_nested_session_opens_its_model_by_name(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def main() -> None:
        async with Session("fake/fake-1") as session, session.derive(model="fake/other") as nested:
            assert [(await each.run("hi")).text for each in (session, nested)] == ["Own.", "Nested."]
            assert (session.model, nested.model) == ("fake/fake-1", "fake/other")
            with pytest.raises(CallgateError, match="there is no provider 'nosuch'"):
                session.derive(model="nosuch/model")

    monkeypatch.setenv("FAKE_KEY", KEY)
    with serving(says("Own."), says("Nested.")) as server:
        _settings(home, server.url)
        asyncio.run(main())
