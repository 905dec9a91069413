"""The limits of a context window."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callgate.words.window import ContextLimits, context_limits


@pytest.mark.spec("CMP-5")
@pytest.mark.parametrize(
    ("window", "output", "usable", "automatic"),
    [
        (200_000, 64_000, 180_000, 167_000),
        (200_000, None, 180_000, 167_000),
        (200_000, 8_192, 191_808, 178_808),
        (128_000, 16_384, 111_616, 98_616),
        (399_999, 32_000, 379_999, 366_999),
        (400_000, 32_000, 380_000, 350_000),
        (799_999, 64_000, 779_999, 749_999),
        (800_000, 64_000, 780_000, 730_000),
        (1_000_000, 64_000, 980_000, 930_000),
    ],
)
def test_the_limits_of_a_window(window: int, output: int | None, usable: int, automatic: int) -> None:
    found = context_limits(window, output)
    assert found == ContextLimits(
        window=window, usable=usable, warning=usable - 20_000, automatic=automatic, refusal=usable - 3_000
    )


@pytest.mark.spec("CMP-5")
@pytest.mark.parametrize(
    ("window", "usable", "warning", "automatic", "refusal"),
    [
        (64_000, 44_000, 24_000, 31_000, 41_000),
        (16_000, 11_000, 6_000, 7_750, 10_250),
        (8_192, 5_632, 3_072, 3_968, 5_248),
    ],
)
def test_in_a_small_window_the_distances_shrink(
    window: int, usable: int, warning: int, automatic: int, refusal: int
) -> None:
    found = context_limits(window, window)
    assert (found.usable, found.warning, found.automatic, found.refusal) == (usable, warning, automatic, refusal)


@pytest.mark.spec("CMP-5")
@given(st.integers(1_000, 2_000_000), st.none() | st.integers(1, 2_000_000))
def test_in_every_window_there_is_room_in_order(window: int, output: int | None) -> None:
    found = context_limits(window, output)
    assert window // 3 < found.automatic < found.refusal < found.usable < window
    assert window // 4 < found.warning < found.refusal
