"""Whatever the text is: what is masked is found, nothing is masked twice, and no secret is left."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callgate.transcript.masking import RULES, Masker, SecretRule
from callgate.words.messages import CallPart, Image, Message, Text
from tests.profiles import fewer

WORDS = (
    *("sk-", "sk-ant-", "AKIA", "ghp_", "eyJ", ".eyJ", "://", ":", "@", "u:p@h", "Bearer ", "Authorization: ", ":AA"),
    *("-----BEGIN PRIVATE KEY-----", "-----END PRIVATE KEY-----", "-----", "[masked:", "[masked:openai]", "]", "\\n"),
    *("a" * 20, "A1" * 20, "0" * 40, "é", "\n", " ", '"', "\\", "/", "=", "_", "-", ".", "x", "AccountKey=", "\ud800"),
)
texts = st.lists(st.one_of(st.sampled_from(WORDS), st.text(max_size=8)), max_size=12).map("".join)
values = st.one_of(st.text(min_size=8, max_size=30), texts.filter(lambda text: 8 <= len(text) <= 60))
maskers = st.dictionaries(st.sampled_from(["A_KEY", "B_TOKEN", "C_URL", "D"]), values).map(Masker)
secrets = st.sampled_from(RULES).flatmap(lambda rule: st.from_regex(rule.pattern, fullmatch=True))


@st.composite
def suspicious(draw: st.DrawFn) -> str:
    return draw(texts) + draw(st.one_of(texts, secrets)) + draw(texts)


@pytest.mark.spec("TRS-13")
@given(maskers, suspicious())
def test_masking_again_changes_nothing(masker: Masker, text: str) -> None:
    once = masker.text(text)
    assert masker.text(once) == once


@pytest.mark.spec("TRS-13")
@given(maskers, suspicious(), st.booleans(), st.integers(1, 3))
def test_what_is_masked_in_a_text_is_found_in_its_json(masker: Masker, text: str, escaped: bool, depth: int) -> None:
    for _ in range(depth):
        written = json.dumps(text, ensure_ascii=escaped)
        if masker.text(text) != text:
            assert masker.finds(written)
        text = written


@pytest.mark.spec("TRS-13")
@given(st.sampled_from(RULES), st.data())
def test_whatever_fits_a_pattern_is_suspected_and_masked(rule: SecretRule, data: st.DataObject) -> None:
    masker = Masker({})
    text = data.draw(st.from_regex(rule.pattern, fullmatch=True))
    assert masker.finds(json.dumps(text))
    assert masker.text(text) != text


@pytest.mark.spec("TRS-13")
@given(values, texts, texts)
def test_no_value_of_a_secret_variable_is_left(value: str, before: str, after: str) -> None:
    masker = Masker({"SECRET_KEY": value})
    masked = masker.text(f"{before}\n{value}\n{after}")
    if "[masked:SECRET_KEY]" in masker.text(value) and "[mas" not in value:
        assert value.strip() not in masked


@pytest.mark.spec("TRS-13")
@given(maskers, suspicious(), suspicious())
@fewer(25)
def test_a_noun_is_masked_in_all_its_parts_and_only_once(masker: Masker, one: str, other: str) -> None:
    data: Any = other.encode("utf-8", "surrogatepass")
    message = Message("m", "user", (Text(one), CallPart("c", "T", {"k": [one, {"x": other}]}), Image("i", data)))
    masked = masker.noun(message)
    assert masker.noun(masked) is masked
    if masked is not message:
        assert masked != message
    assert masked.text == masker.text(one)


@pytest.mark.spec("TRS-13")
@pytest.mark.parametrize("piece", [*WORDS, "sk-ant-", "eyJ-", "eyJaaaaaaaa.", "1meyJ", "://a:", "-----BEGIN A ", "u:@"])
def test_long_texts_of_one_piece_do_not_take_forever(piece: str) -> None:
    """Backtracking that is worse than linear would run into the time limit of a test."""
    text = piece * (200_000 // len(piece))
    masker = Masker({"A_KEY": "abc-123-def"})
    assert masker.text(text) is not None
    masker.finds(json.dumps(text))
