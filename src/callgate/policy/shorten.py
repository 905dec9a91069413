"""Shortens texts. The caller must escape the content."""

from callgate.words.late_pattern import late_pattern

_LONGEST_WORD = 100
_LONGEST = 500
_WORD = late_pattern(rf"\S{{{_LONGEST_WORD + 1},}}")


def brief(text: str, most: int = 100) -> str:
    """Return the text. A long text is cut and followed by the number of omitted characters."""
    kept = most * 4 // 5
    return text if len(text) <= most else f"{text[:kept]}… ({len(text) - kept} more characters)"


def sentence(text: str) -> str:
    """Return a reason as one short paragraph. Long words are cut; blanks and newlines are collapsed."""
    if len(text) > _LONGEST_WORD or "\n" in text:
        text = _WORD.sub(lambda found: brief(found[0], _LONGEST_WORD), " ".join(text.split()))
    return brief(text, _LONGEST)
