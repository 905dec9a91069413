"""Names of models, what is known of them, and what a request costs."""

from datetime import date
from pathlib import Path

import pytest

from callgate.providers.catalogue import Catalogue, ModelName, ServerRow
from callgate.words.errors import UsageError
from callgate.words.messages import Usage
from callgate.words.model import EFFORTS, ToolChoice
from tests.rows import rows

TODAY = date(2026, 11, 16)


def catalogue(folder: Path | None = None, today: date = TODAY) -> Catalogue:
    return Catalogue(folder, today=today)


def own(folder: Path, text: str) -> Catalogue:
    (folder / "models.toml").write_text(text, "utf-8")
    return catalogue(folder)


@rows(
    ("text", "found"),
    [
        ("claude-opus-5-5", "anthropic/claude-opus-5-5"),
        ("anthropic/claude-opus-5-5", "anthropic/claude-opus-5-5"),
        ("opus", "anthropic/claude-opus-5-5"),
        (" anthropic/opus ", "anthropic/claude-opus-5-5"),
        ("gpt-6-luna", "openai/gpt-6-luna"),
        ("gpt-5.6", "openai/gpt-5.6-sol"),
        ("openai-chat/gpt-6-luna", "openai-chat/gpt-6-luna"),
        ("o3", "openai/o3"),
        ("gemini-3.8-flash", "gemini/gemini-3.8-flash"),
        ("ollama/qwen3:8b", "ollama/qwen3:8b"),
        ("openrouter/anthropic/claude-opus-5.5", "openrouter/anthropic/claude-opus-5.5"),
    ],
)
def test_a_name_leads_to_a_provider(text: str, found: str) -> None:
    assert str(catalogue().resolve(text)) == found


@rows(
    ("text", "told"),
    [
        ("claud-opus-5-5", "there is no model 'claud-opus-5-5': did you mean claude-opus-5-5?"),
        ("sonet", "there is no model 'sonet': did you mean sonnet?"),
        ("antropic/claude-opus-5-5", "there is no provider 'antropic': did you mean anthropic?"),
        ("zzz", "write provider/name, such as ollama/qwen3 or anthropic/claude-opus-5-5"),
        ("", "write provider/name"),
        ("zzz/llama", "there is no provider 'zzz': known are anthropic, deepseek,"),
        ("ollama/", "'ollama/' names no model: write ollama/NAME"),
    ],
)
def test_a_misspelled_name_is_answered_with_the_nearest(text: str, told: str) -> None:
    with pytest.raises(UsageError) as refused:
        catalogue().resolve(text)
    assert told in str(refused.value)


@pytest.mark.spec("PRV-5")
def test_every_row_is_whole() -> None:
    known = catalogue()
    for name in known.names:
        facts = known.facts(known.resolve(name))
        assert facts.known, name
        assert facts.family in ("anthropic", "openai", "gemini"), name
        assert facts.prices is not None, name
        assert 0 < facts.prices.cache_read <= facts.prices.input < facts.prices.output, name
        assert facts.context_tokens > facts.output_tokens > 8_192, name
        assert facts.abilities.context_tokens == facts.context_tokens, name
        assert facts.abilities.output_tokens == facts.output_tokens, name
        assert facts.effort is None or facts.effort in facts.abilities.efforts, name
        assert facts.abilities.efforts == tuple(facts.efforts or ()), name
        assert list(facts.abilities.efforts) == [level for level in EFFORTS if level in facts.abilities.efforts], name


def test_the_defaults_and_aliases_have_rows() -> None:
    known = catalogue()
    for provider, models in known.defaults.items():
        for name in models:
            assert known.resolve(name) == ModelName(provider, name)
            assert known.facts(ModelName(provider, name)).known
    for alias in ("fable", "opus", "sonnet", "haiku"):
        assert known.facts(known.resolve(alias)).known


def test_a_snapshot_with_a_date_is_its_model() -> None:
    known = catalogue()
    dated, plain = (known.facts(known.resolve(name)) for name in ("gpt-5.5-2026-04-23", "gpt-5.5"))
    assert (dated.name, dated.prices, dated.known) == ("gpt-5.5-2026-04-23", plain.prices, True)
    assert known.facts(known.resolve("claude-haiku-4-5-20251001")).output_tokens == 64_000


@pytest.mark.spec("PRV-5")
def test_an_unknown_model_works_with_assumptions_and_a_notice() -> None:
    known = catalogue()
    model = known.resolve("claude-opus-5.5")
    facts = known.facts(model)
    assert not facts.known
    assert facts.prices is None
    assert facts.thinking == "adaptive"
    notice = known.unknown_model_notice(model, facts)
    assert "Unknown model: anthropic/claude-opus-5.5" in notice
    assert "Did you mean claude-opus-5-5?" in notice
    assert "models.toml" in notice

    local = known.facts(ModelName("ollama", "qwen3:8b"))
    assert (local.known, local.context_tokens, local.family) == (False, 32_768, "openai-chat")
    assert local.abilities.nearest(ToolChoice("named", "x")) == ToolChoice("auto")
    assert not local.abilities.images
    other = known.facts(ModelName("deepseek", "deepseek-chat"))
    assert (other.known, other.context_tokens, other.output_tokens) == (False, 128_000, 8_192)


@pytest.mark.spec("PRV-5")
def test_own_rows_add_models_and_win_field_by_field(tmp_path: Path) -> None:
    known = own(
        tmp_path,
        """
        [models."ollama/qwen3:8b"]
        context = 40960
        vision = true
        prices = { input = 0, output = 0 }
        [models.claude-opus-5-5]
        output = 1000
        [models.my-model]
        like = "gpt"
        efforts = { low = 1, high = 9 }
        """,
    )
    local = known.facts(ModelName("ollama", "qwen3:8b"))
    assert (local.known, local.context_tokens, local.output_tokens, local.abilities.images) == (
        True,
        40_960,
        8_192,
        True,
    )
    assert known.resolve("qwen3:8b") == ModelName("ollama", "qwen3:8b")
    assert known.price("ollama/qwen3:8b", Usage(input=5)) == 0
    opus = known.facts(known.resolve("opus"))
    assert (opus.output_tokens, opus.context_tokens, opus.effort) == (1_000, 1_000_000, "medium")
    mine = known.facts(ModelName("openai-chat", "my-model"))
    assert mine.efforts == {"low": 1, "high": 9}
    assert mine.context_tokens == 1_050_000


@rows(
    ("text", "told"),
    [
        ("[models.x]\ncontex = 1", "x has an unknown field 'contex': known are like, context"),
        ("[models.x]\ncontext = 'big'", "x: context must be a number of tokens, not 'big'"),
        ("[models.x]\ncontext = true", "context must be a number"),
        ("[models.x]\nprices = { input = 1 }", "prices must be a table with input and output"),
        ("[models.x]\nprices = { input = 1, output = -2 }", "prices must be"),
        ("[models.x]\nprices = { input = 1, output = 2, over = 5 }", "prices must be"),
        ("[models.x]\nprices = []", "prices must be"),
        ("[models.x]\nefforts = ['huge']", "efforts must be a list of levels (low, medium, high, xhigh, max)"),
        ("[models.x]\nforce = ['any']", "force must be"),
        ("[models.x]\nimages = { width = 5 }", "images must be"),
        ("models = 5", "write each model as a table"),
        ("[models]\nx = 5", "must be a table"),
        ("[providers.x]\nbase_url = 'http://x'", 'must contain only models, each as [models."name"];'),
        ("[models", "cannot be read"),
    ],
)
def test_a_wrong_own_row_names_the_file_and_the_field(tmp_path: Path, text: str, told: str) -> None:
    with pytest.raises(UsageError) as refused:
        own(tmp_path, text).facts(ModelName("ollama", "x"))
    assert told in str(refused.value)
    assert str(tmp_path / "models.toml") in str(refused.value)


def test_an_own_row_of_no_group_says_which_there_are(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="like = 'clade' is no group: did you mean claude"):
        own(tmp_path, "[models.x]\nlike = 'clade'").facts(ModelName("ollama", "x"))


@rows(
    ("model", "usage", "dollars"),
    [
        ("claude-opus-5-5", Usage(input=1_000_000), 4.0),
        ("anthropic/claude-opus-5-5", Usage(output=1_000_000, reasoning=900_000), 20.0),
        ("anthropic/claude-opus-5-5-20260901", Usage(cache_read=1_000_000), 0.2),
        ("claude-opus-5-5", Usage(cache_write=1_000_000), 5.0),
        ("claude-haiku-5-5", Usage(input=100_000), 0.01),
        ("claude-haiku-5-5", Usage(input=1, cache_read=100_000), (0.5 + 100_000 * 0.05) / 1e6),
        ("openai/gpt-5.5", Usage(cache_write=100_000), 0.5),
        ("ollama/qwen3", Usage(input=5), None),
        ("no-such-model", Usage(input=5), None),
        ("no-such/model", Usage(input=5), None),
    ],
)
def test_a_request_costs_what_its_row_says(model: str, usage: Usage, dollars: float | None) -> None:
    found = catalogue().price(model, usage)
    assert found == dollars if dollars is None else found == pytest.approx(dollars)


def test_a_price_counts_from_its_day() -> None:
    usage = Usage(input=1_000_000)
    assert catalogue(today=date(2026, 11, 30)).price("gemini-4-argon", usage) == 2
    assert catalogue(today=date(2026, 12, 1)).price("gemini-4-argon", usage) == 4


def test_servers_of_the_settings_are_known_too() -> None:
    mine = ServerRow("anthropic", "https://gateway.example")
    known = Catalogue(servers=lambda shipped: {**shipped, "work": mine}, today=TODAY)
    assert known.resolve("work/claude-opus-5-5") == ModelName("work", "claude-opus-5-5")
    assert known.facts(ModelName("work", "claude-opus-5-5")).family == "anthropic"
    assert known.servers["work"] is mine


def test_nothing_is_read_before_a_question(tmp_path: Path) -> None:
    (tmp_path / "models.toml").write_text("[models", "utf-8")
    broken = catalogue(tmp_path)
    with pytest.raises(UsageError):
        broken.resolve("x")
