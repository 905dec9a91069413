"""Whatever the text is: what is masked is found, nothing is masked twice, and no secret is left."""

import json
import re
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from callgate.transcript.credential_formats import SecretRule, is_harmless
from callgate.transcript.masking import MASK, Masker
from callgate.transcript.secret_rules import RULES
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
PATTERNS = [rule for rule in RULES if type(rule) is SecretRule]


def fitting(rule: SecretRule) -> st.SearchStrategy[str]:
    return st.from_regex(re.compile(rule.pattern.pattern, re.ASCII), fullmatch=True)


secrets = st.sampled_from(PATTERNS).flatmap(fitting)


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
@given(st.sampled_from(PATTERNS), st.data())
def test_whatever_fits_a_pattern_is_suspected_and_masked(rule: SecretRule, data: st.DataObject) -> None:
    masker = Masker({})
    text = data.draw(fitting(rule))
    assert masker.finds(json.dumps(text))
    assert masker.text(text) != text


@pytest.mark.spec("TRS-13")
@given(values, texts, texts)
def test_no_value_of_a_secret_variable_is_left(value: str, before: str, after: str) -> None:
    masker = Masker({"SECRET_KEY": value})
    masked = masker.text(f"{before}\n{value}\n{after}")
    if "[masked:SECRET_KEY]" in masker.text(value) and "[mas" not in value:
        assert value.strip() not in masked


@st.composite
def overlapping(draw: st.DrawFn) -> tuple[str, list[str]]:
    """A text with a key, and values that are parts of the text: inside the key, across its ends, across each other."""
    text = draw(texts) + draw(secrets) + draw(texts)
    starts = st.integers(0, max(len(text) - 8, 0))
    pieces = draw(st.lists(st.tuples(starts, st.integers(8, 40)), min_size=1, max_size=4))
    return text, [text[start : start + length] for start, length in pieces]


@pytest.mark.spec("TRS-13")
@given(overlapping())
def test_no_character_of_a_value_or_of_a_key_is_left_where_they_overlap(case: tuple[str, list[str]]) -> None:
    text, values = case
    assume("[masked:" not in text)
    masker = Masker({f"A{number}_SECRET": value for number, value in enumerate(values)})
    secret = {at for rule in RULES for start, end in rule.spans(text) for at in range(start, end)}
    for value in map(str.strip, values):
        if len(value) >= 8 and "://" not in value and not is_harmless(value):
            found = (at for at in range(len(text)) if text.startswith(value, at))
            secret |= {at + number for at in found for number in range(len(value))}
    left = "".join(MASK.split(masker.text(text))[::2])
    open_text = iter(char for at, char in enumerate(text) if at not in secret)
    assert all(char in open_text for char in left)


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
