"""Splits texts and names into the terms that the index is made of."""

import re
import unicodedata
from functools import lru_cache

# Scripts that are written without spaces: a run of them gives each character and each pair of neighbours.
_UNSPACED = (
    r"\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005\u3040-\u30ff\u31f0-\u31ff"
    r"\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3\uf900-\ufaff\U00020000-\U0003ffff"
)
# In this order: a run of an unspaced script, capitals before a capitalised word (HTTP of HTTPServer), a word with or
# without its first capital, digits.
_PARTS = re.compile(rf"(?P<run>[{_UNSPACED}]+)|[A-Z]+(?![a-z])|[A-Z]?[^\W\d_A-Z{_UNSPACED}]+|[^\W\d_{_UNSPACED}]|\d+")
_MARKS = re.compile(r"[\u0300-\u036f]+")
_COMMON = """
a about after again all also am an and any are as at be because been before being but by can could did do does doing
for from had has have having he her here hers him his how i if in into is it its just let like may me might more most
my need no nor not of off on once only or other our out over own please provide same shall she should so some such
tell than that the their them then there these they this those through to too under until up us very want was we were
what when where which while who whom whose why will with would you your
"""
STOP_WORDS = frozenset(_COMMON.split())


def terms(text: str) -> list[str]:
    """The terms of a text in its order: small letters without accents, plurals and verb forms brought together."""
    found: list[str] = []
    for part in _PARTS.finditer(_plain(text)):
        if run := part["run"]:
            found.extend(run)
            found.extend(run[at : at + 2] for at in range(len(run) - 1))
        else:
            found.append(stem(part[0].lower()))
    return found


def _plain(text: str) -> str:
    if text.isascii():
        return text
    # Marks go from letters that are composed of a letter and accents; kana keep their voicing marks.
    return unicodedata.normalize("NFC", _MARKS.sub("", unicodedata.normalize("NFKD", text)))


@lru_cache(maxsize=20_000)
def stem(word: str) -> str:
    """A word without its ending: messages and message, creates, created and creating become the same."""
    if len(word) < 4 or not word.isascii():
        return word
    if word.endswith("ies"):
        word = word[:-3] + "y"
    elif word.endswith("s") and not word.endswith(("ss", "us", "is")):
        word = word[:-1]
    for ending in ("ing", "ed"):
        rest = word[: -len(ending)]
        if word.endswith(ending) and len(rest) > 2 and any(letter in "aeiouy" for letter in rest):
            word = rest[:-1] if rest[-1] == rest[-2] and rest[-1] not in "lsz" else rest
            break
    return word[:-1] if word.endswith("e") and len(word) > 3 else word
