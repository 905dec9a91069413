"""Limits of the context window of a model, in tokens: the distances as data, and the limits made of them."""

from callgate.words.noun import noun

ANSWER = 20_000
"""Room that is kept free for the answer, or the output limit of the model if that is less."""
AUTOMATIC = ((800_000, 50_000), (400_000, 30_000), (0, 13_000))
"""Windows from this size on, and how far below the usable part the history is compacted by itself."""
WARNING = 20_000
REFUSAL = 3_000
SMALL = 64_000
"""In smaller windows every distance shrinks in proportion: with 16,000 tokens it is a quarter."""


@noun
class ContextLimits:
    """``usable`` is the window without the room for the answer. From ``warning`` on people are told, from
    ``automatic`` on the history is compacted, from ``refusal`` on no request is sent."""

    window: int
    usable: int
    warning: int
    automatic: int
    refusal: int


def context_limits(window: int, output: int | None = None) -> ContextLimits:
    """The limits for a model with this window and this output limit."""

    def scaled(distance: int) -> int:
        return distance * min(window, SMALL) // SMALL

    usable = window - min(output or ANSWER, scaled(ANSWER))
    below = next(distance for size, distance in AUTOMATIC if window >= size)
    return ContextLimits(
        window=window,
        usable=usable,
        warning=usable - scaled(WARNING),
        automatic=usable - scaled(below),
        refusal=usable - scaled(REFUSAL),
    )
