"""Splits texts and names into the terms of the index, and computes the weighted terms of a query."""

import re
import tomllib
import unicodedata
from collections.abc import Mapping
from functools import cache, lru_cache
from importlib.resources import files
from itertools import pairwise

from callgate.words.noun import noun

# Scripts that are written without spaces: a run of them gives each character and each pair of neighbours.
_UNSPACED = (
    r"\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005\u3040-\u30ff\u31f0-\u31ff"
    r"\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3\uf900-\ufaff\U00020000-\U0003ffff"
)
_WORD = re.compile(rf"(?P<run>[{_UNSPACED}]+)|[^\W_{_UNSPACED}]+")
# In this order: capitals up to a capitalised word (HTTP of HTTPServer), a word with or without its capital, digits.
_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[^\W\d_A-Z]+|\d+")
_ACCENTS = re.compile(r"[\u0300-\u036f]+")
_VOWEL = re.compile(r"[aeiouy]")
# Endings of nouns that are made of verbs: translation and translator meet translate.
_NOUNS = ("ation", "ator", "ate", "ion", "er", "or")
# Endings of nouns and adjectives in Cyrillic letters, without accents: погода meets погоду.
_CYRILLIC = re.compile(r"(?<=[\u0400-\u04ff]{3})(?:ами|ями|[ое]го|[ое]му|[аеиоыя][вмх]|[аеиоуыэюяьі]+)$")
# Not the plural of new.
_WHOLE = frozenset({"news"})


def terms(text: str) -> list[str]:
    """Return the terms of a text in order, in lower case and without accents, with plurals and verb forms reduced to a
    stem.

    A compound word gives the terms of its parts and a term for the whole word, so YouTube matches both tube and
    youtube.
    """
    found: list[str] = []
    for word in _WORD.finditer(_without_accents(text)):
        if run := word["run"]:
            found.extend(run)
            found.extend(run[at : at + 2] for at in range(len(run) - 1))
            continue
        parts = _PART.findall(word[0])
        found.extend(stem(part.casefold()) for part in parts)
        if len(parts) != 1:
            found.append(stem(word[0].casefold()))
    return found


def spelled(name: str) -> str:
    """Return a name split into words: ``getWeather_v2`` becomes ``get weather v 2``."""
    return " ".join(part.lower() for word in _WORD.finditer(name) for part in _PART.findall(word[0]) or [word[0]])


def _without_accents(text: str) -> str:
    if text.isascii():
        return text
    # Composed again afterwards: hangul is one character a syllable, and kana keep their voicing marks.
    plain = _ACCENTS.sub("", unicodedata.normalize("NFKD", text))
    return unicodedata.normalize("NFC", plain).replace("ı", "i")  # the Turkish dotless i, which is not decomposed


@lru_cache(maxsize=20_000)
def stem(word: str) -> str:
    """Return a word without its ending, so that message and messages, or create, creates and creating become equal. The
    case ending of a Cyrillic word is removed."""
    if not word.isascii():
        return _CYRILLIC.sub("", word)
    if len(word) < 4 or not word.isalpha() or word in _WHOLE:
        return word
    if word.endswith("ies"):
        word = word[:-3] + "y"
    elif word.endswith("s") and not word.endswith(("ss", "us", "is")):
        word = word[:-1]
    for ending in ("ing", "ed"):
        rest = word.removesuffix(ending)
        if rest != word and len(rest) > 2 and _VOWEL.search(rest):
            doubled = rest[-1] == rest[-2] and rest[-1] not in "lsz"
            word = rest[:-1] if doubled else rest + "e" if rest.endswith("at") else rest
            break
    for ending in _NOUNS:
        if word.endswith(ending) and len(word) > len(ending) + 3:
            return word.removesuffix(ending)
    return word[:-1] if word.endswith("e") and len(word) > 3 else word


FAINT = 0.5
# Numbers, single letters and quoted texts are mostly arguments.
NUMBER = 0.3
QUOTED = 0.5
ALIKE = 0.3
# Sentences with so few characters are not ranked on their own.
_END, _SHORT = re.compile(r"(?<=[.?!;])\s+|(?<=[。？！；])|\n+"), 8
_QUOTED = re.compile(r"\"[^\"]{1,80}\"|“[^”]{1,80}”|(?<!\w)'[^']{1,80}'(?!\w)|`[^`]{1,80}`")


@noun
class _Words:
    stop: frozenset[str]
    faint: frozenset[str]
    alike: Mapping[str, frozenset[str]]


@noun
class Asked:
    """A parsed query.

    weights    the weight of each term, including synonyms
    sentences  the terms of each sentence, sorted
    pairs      pairs of consecutive terms, without stop words and without terms that are not ASCII
    """

    weights: Mapping[str, float]
    sentences: tuple[tuple[str, ...], ...]
    pairs: tuple[tuple[str, str], ...]


def read_words(query: str) -> Asked:
    parts = [(part, terms(part)) for part in _END.split(query)]
    alike = _words().alike
    return Asked(
        _weigh([term for _, found in parts for term in found], query),
        tuple(_with_alike(found, alike) for part, found in parts if len(part) > _SHORT),
        tuple({pair: None for _, found in parts for pair in pairwise(without_stops(found)) if pair[0].isascii()}),
    )


def without_stops(found: list[str]) -> list[str]:
    stop = _words().stop
    return [term for term in found if term not in stop]


def _with_alike(found: list[str], alike: Mapping[str, frozenset[str]]) -> tuple[str, ...]:
    return tuple(sorted({*found}.union(*(alike.get(term, ()) for term in found))))


def sentences(query: str) -> list[str]:
    return [each for each in _END.split(query) if len(each) > _SHORT] or [query]


def _weigh(said: list[str], query: str) -> dict[str, float]:
    words, found = _words(), dict.fromkeys(said, 1.0)
    unquoted = _QUOTED.sub(" ", query)
    outside = found if unquoted == query else set(terms(unquoted))
    for term in found:
        if term in words.stop:
            found[term] = 0.0
        elif term in words.faint:
            found[term] = FAINT
        elif term.isascii() and (len(term) == 1 or not term.isalpha()):
            found[term] = NUMBER
        if term not in outside:
            found[term] *= QUOTED
    if not any(found.values()):
        return dict.fromkeys(found, 1.0)
    weights = {term: weight for term, weight in found.items() if weight}
    for term, weight in [*weights.items()]:
        for other in words.alike.get(term, ()):
            if other not in found:
                weights[other] = max(weights.get(other, 0.0), ALIKE * weight)
    return weights


@cache
def _words() -> _Words:
    read = tomllib.loads(files("callgate.search").joinpath("words.toml").read_text(encoding="utf-8"))
    alike: dict[str, frozenset[str]] = {}
    for line in read["alike"].strip().splitlines():
        group = frozenset(map(stem, line.split()))
        for word in group:
            alike[word] = alike.get(word, frozenset()) | group
    return _Words(frozenset(map(stem, read["stop"].split())), frozenset(map(stem, read["faint"].split())), alike)
