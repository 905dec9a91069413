"""The models of an agent, opened for a Config."""

import os
from pathlib import Path

import pytest

from callgate.assembly.models import open_model, open_models
from callgate.config import Config, load_config
from callgate.providers.keys import KeyStore
from callgate.transcript.masking import Masker
from callgate.words.errors import ModelError
from callgate.words.messages import Usage

KEY = "sk-test-0123456789abcdef"
STORED = "3f9a.plain-Words7.of-one.vendor"
PRINTED = "77aa.plain-Words7.of-another"


def config(tmp_path: Path, settings: str = "", **environ: str) -> Config:
    root, home = tmp_path / "work", tmp_path / "home"
    own = home / ".config" / "callgate" / "settings.toml"
    for folder in (root, own.parent):
        folder.mkdir(parents=True, exist_ok=True)
    own.write_text(settings, "utf-8")
    return load_config(root, home=home, environ=environ, managed=tmp_path / "none")


async def test_the_settings_name_the_models_and_the_command_line_comes_first(tmp_path: Path) -> None:
    found = config(tmp_path, '[models]\ndefault = "opus"\ncheap = "ollama/tiny"\nfallback = "gpt-6-luna"\n')
    environ = {"ANTHROPIC_API_KEY": KEY, "OPENAI_API_KEY": KEY}
    models = open_models(found, environ=environ)
    assert (models.model.name, models.cheap.name) == ("anthropic/claude-opus-5-5", "ollama/tiny")
    assert models.fallback is not None
    assert models.fallback.name == "openai/gpt-6-luna"
    assert models.price("anthropic/claude-opus-5-5", Usage(output=1_000_000)) == 20
    await models.aclose()
    asked = open_models(found, "haiku", fallback="sonnet", environ=environ)
    assert asked.model.name == "anthropic/claude-haiku-5-5"
    assert asked.fallback is not None
    assert asked.fallback.name == "anthropic/claude-sonnet-5-5"
    await asked.aclose()


async def test_the_environment_and_stored_keys_count_and_one_model_may_have_two_parts(tmp_path: Path) -> None:
    found = config(tmp_path, CALLGATE_MODEL="claude-haiku-5-5")
    KeyStore(found.data, lambda: None).store("anthropic", KEY)
    models = open_models(found, environ={})
    assert models.model.name == "anthropic/claude-haiku-5-5"
    assert models.cheap is models.model
    assert models.fallback is None
    await models.aclose()


@pytest.mark.parametrize("settings", ["", f'[providers.anthropic]\nkey_command = "echo {PRINTED}"\n'])
async def test_a_key_is_masked_wherever_it_came_from(tmp_path: Path, settings: str) -> None:
    """Also by a masker that was made before the key was read."""
    found = config(tmp_path, settings, CALLGATE_MODEL="claude-haiku-5-5")
    key = PRINTED if settings else STORED
    if not settings:
        KeyStore(found.data, lambda: None).store("anthropic", key)
    earlier = Masker({})
    assert key in earlier.text(f"the key {key} was printed")
    models = open_models(found, environ={"PATH": os.environ["PATH"], "HOME": str(tmp_path)})
    for masker in (earlier, Masker({})):
        assert masker.text(f"the key {key} was printed") == "the key [masked:anthropic_key] was printed"
        assert masker.finds(f'{{"text": "{key}"}}')
    await models.aclose()


def test_own_rows_are_read_from_the_folder_of_the_settings(tmp_path: Path) -> None:
    found = config(tmp_path)
    assert found.folder is not None
    (found.folder / "models.toml").write_text('[models."ollama/tiny"]\ncontext = 4096\noutput = 512\n', "utf-8")
    assert open_model("ollama/tiny", found, environ={}).abilities.context_tokens == 4096


def test_keys_do_not_count_from_a_data_folder_in_the_workspace(tmp_path: Path) -> None:
    found = config(tmp_path, CALLGATE_DATA_DIR=str(tmp_path / "work" / "data"))
    KeyStore(found.data, lambda: None).store("anthropic", KEY)
    with pytest.raises(ModelError, match="there is no key for anthropic"):
        open_model("opus", found, environ={})
