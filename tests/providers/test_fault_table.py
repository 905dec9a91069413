"""The table of failures, and what the headers of an answer say about them."""

from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callgate.providers.fault_table import (
    DETAIL_CHARS,
    FAULTS,
    Fault,
    fault_by_status,
    fault_of,
    http_fault,
    request_id_of,
    retry_after,
    shortened,
)
from callgate.words.errors import ModelError


def test_every_fault_has_a_row_whose_kind_is_a_word_of_model_errors_and_whose_sentence_says_what_to_do() -> None:
    assert set(FAULTS) == {fault for kind in get_args(Fault) for fault in get_args(kind)}
    for fault, row in FAULTS.items():
        assert f"``{row.kind or fault}``" in (ModelError.__doc__ or ""), fault
        message = str(fault_of(fault, "acme"))
        assert "{" not in message
        assert ":" in message or fault == "other", f"{fault} does not say what to do"


@pytest.mark.parametrize(
    ("status", "kind", "retryable"),
    [
        (301, "protocol", False),
        (400, "bad_request", False),
        (401, "wrong_key", False),
        (402, "no_credit", False),
        (403, "wrong_key", False),
        (404, "unknown_model", False),
        (407, "connection", False),
        (408, "timeout", True),
        (409, "server", True),
        (413, "too_long", False),
        (418, "other", False),
        (429, "rate_limited", True),
        (500, "server", True),
        (502, "server", True),
        (503, "overloaded", True),
        (529, "overloaded", True),
        (599, "server", True),
    ],
)
def test_a_status_says_whether_to_try_again(status: int, kind: str, retryable: bool) -> None:
    error = http_fault(status, {}, "acme")
    assert (error.kind, error.retryable) == (kind, retryable)
    assert f"HTTP {status}" in str(error)


def test_the_body_and_the_server_may_know_better_than_the_status() -> None:
    error = http_fault(429, {"retry-after": "7"}, "acme", "no quota", fault="no_credit")
    assert (error.kind, error.retryable, error.retry_after) == ("no_credit", False, None)
    assert not http_fault(500, {"x-should-retry": "false"}, "acme").retryable
    assert http_fault(400, {"x-should-retry": "true", "retry-after": "2"}, "acme").retry_after == 2.0
    assert http_fault(500, {"x-should-retry": "perhaps"}, "acme").retryable


def test_an_error_names_provider_status_words_and_request() -> None:
    error = http_fault(429, {"request-id": "req_1", "cf-ray": "ray", "retry-after": "3"}, "acme", "slow\ndown.")
    assert str(error) == (
        "acme limits the rate of requests for this key: wait, or use a key with a higher limit "
        "(HTTP 429: slow down) [request req_1]"
    )
    assert error.retry_after == 3.0


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "30"}, 30.0),
        ({"retry-after": " 1.5 "}, 1.5),
        ({"retry-after": "-4"}, 0.0),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after-ms": "250", "retry-after": "30"}, 0.25),
        ({"retry-after-ms": "x", "retry-after": "30"}, 30.0),
        ({"retry-after": "Wed, 21 Oct 2026 07:28:10 GMT", "date": "Wed, 21 Oct 2026 07:28:00 GMT"}, 10.0),
        ({"retry-after": "Wed, 21 Oct 2026 07:28:00 GMT", "date": "Wed, 21 Oct 2026 07:28:10 GMT"}, 0.0),
        ({"retry-after": "Wed, 21 Oct 2026 07:28:00 GMT"}, None),
        ({"retry-after": "Wed, 21 Oct 2026 07:28:00", "date": "Wed, 21 Oct 2026 07:28:10 GMT"}, None),
    ],
)
def test_the_time_to_wait_is_read_from_seconds_milliseconds_and_dates(
    headers: dict[str, str], seconds: float | None
) -> None:
    assert retry_after(headers) == seconds


def test_the_providers_own_id_comes_before_the_networks() -> None:
    assert request_id_of({"cf-ray": "a", "x-request-id": "b"}) == "b"
    assert request_id_of({"cf-ray": "a", "x-request-id": ""}) == "a"
    assert request_id_of({}) is None


@given(st.text(), st.text(), st.integers(min_value=0, max_value=999))
def test_whatever_a_server_says_makes_one_printable_line_of_bounded_length(name: str, value: str, status: int) -> None:
    error = http_fault(status, {"request-id": name, "retry-after": value, "date": name}, "acme", value * 50)
    assert str(error).splitlines() == [str(error)]
    assert len(str(error)) < 3 * DETAIL_CHARS
    assert fault_by_status(status) in FAULTS
    assert len(shortened(value * 100)) <= DETAIL_CHARS
