"""Word vectors, an optional extra: ``callgate[embeddings]``.

The wheel of wordllama contains a table of 32,000 word pieces, each with a vector of 256 numbers, and their tokenizer.
The vector of a text is the mean of the vectors of its pieces, so a tool is encoded in a fraction of a millisecond and
no vector is stored. Both files are read directly, because the package's own loader searches the network. See
docs/decisions/0044.
"""

import json
from collections.abc import Container, Mapping, Sequence
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, cast

from callgate.search.fields import ToolText, own_name
from callgate.search.query import sentences, spelled

EXTRA = "callgate[embeddings]"
_TABLE = Path("weights", "l2_supercat_256.safetensors")
_TOKENIZER = Path("tokenizers", "l2_supercat_tokenizer_config.json")
_LATIN = "\u036f"
WIDTH = 256
# The part of the vectors in a score, and the number of tools that only they find.
SHARE = 0.4
NEAR = 50
# The least similarity of a tool that only the vectors find. In the sets for development, unrelated tools are rarely as
# similar, and a floor up to 0.35 changes no figure.
FLOOR = 0.25
# A longer word whose pieces are all shorter than this is no word.
_SHORT = 3


class ToolVectors:
    """The vectors of tools, by the numbers of the tools. The table is loaded and the tools are encoded at the first
    query."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._waiting: dict[int, str] = {}
        self._table: Any = None
        self._size = 0

    def put(self, number: int, text: ToolText) -> None:
        self._waiting[number] = _said(text)

    def drop(self, number: int) -> None:
        self._waiting[number] = ""

    def mix(self, query: str, scores: dict[int, float], allowed: Container[int]) -> None:
        """Add the vector similarity to the scores, and add the most similar allowed tools to the result if they are
        similar enough."""
        if any(letter > _LATIN and letter.isalpha() for letter in query):
            return  # The table has hardly any words in other scripts.
        query = _encoder_in(self._folder).known_words(query)
        import numpy

        # A request of several sentences often asks for several tools: each sentence is compared with the tool that is
        # most like it, and of a tool its best sentence counts.
        # einsum, because a product of matrices starts threads, which takes longer than it saves on a busy machine.
        table, asked = self._encoded(), _encoder_in(self._folder).encode(sentences(query))
        products = [numpy.einsum("ij,j->i", table, each) for each in asked]
        alike = numpy.max([each / max(float(each.max(initial=0)), 0.01) for each in products], axis=0, initial=0)
        most = max(scores.values(), default=0.0) or 1.0
        enough = numpy.max(products, axis=0, initial=0) >= FLOOR
        near = [number for number in numpy.argsort(-alike)[:NEAR].tolist() if number in allowed and enough[number]]
        for number in {*scores, *near}:
            scores[number] = (1 - SHARE) * scores.get(number, 0.0) / most + SHARE * float(alike[number])

    def _encoded(self) -> Any:
        """Encode the tools added since the last call, and return the vectors of all tools."""
        import numpy

        if self._table is None:
            self._table = numpy.zeros((0, WIDTH), dtype=numpy.float32)
        if self._waiting:
            self._size = max(self._size, max(self._waiting) + 1)
            if self._size > len(self._table):
                more = numpy.zeros((2 * self._size - len(self._table), WIDTH), dtype=numpy.float32)
                self._table = numpy.concatenate([self._table, more])
            self._table[list(self._waiting)] = _encoder_in(self._folder).encode(list(self._waiting.values()))
            self._waiting.clear()
        return self._table[: self._size]


def tool_vectors() -> ToolVectors | None:
    """Return an empty ToolVectors, or None if the extra is not installed. Nothing is imported."""
    found = find_spec("wordllama") if find_spec("tokenizers") and find_spec("numpy") else None
    for folder in found.submodule_search_locations or () if found else ():
        if Path(folder, _TABLE).is_file() and Path(folder, _TOKENIZER).is_file():
            return ToolVectors(Path(folder))
    return None


@cache
def _encoder_in(folder: Path) -> "_Encoder":
    return _Encoder(folder)


def _said(text: ToolText) -> str:
    server, name = own_name(text)
    parameters = text.parameters.get("properties")
    named = " ".join(map(str, cast("Mapping[Any, Any]", parameters))) if isinstance(parameters, Mapping) else ""
    return f"{spelled(server)} {spelled(name)}. {text.description[:400]} {text.hint[:400]} {spelled(named)}"


class _Encoder:
    """Encodes texts as vectors of length one; a text without known word pieces becomes the zero vector."""

    def __init__(self, folder: Path) -> None:
        import numpy
        from tokenizers import Tokenizer

        raw = (folder / _TABLE).read_bytes()
        start = 8 + int.from_bytes(raw[:8], "little")
        begin, end = json.loads(raw[8:start])["embedding.weight"]["data_offsets"]
        self._pieces = numpy.frombuffer(raw, "<f2", (end - begin) // 2, start + begin).reshape(-1, WIDTH)
        self._tokenizer: Any = Tokenizer.from_file(str(folder / _TOKENIZER))
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()

    def known_words(self, query: str) -> str:
        """Return the query without long words that consist of short pieces, such as ``zzzqqq``."""
        return " ".join(word for word in query.split(" ") if len(word) <= _SHORT or self._is_known(word))

    def _is_known(self, word: str) -> bool:
        pieces = self._tokenizer.encode(word.encode("utf-8", "replace").decode(), add_special_tokens=False).tokens
        return any(len(piece.strip("▁")) >= _SHORT for piece in pieces)

    def encode(self, texts: Sequence[str]) -> Any:
        import numpy

        made = numpy.zeros((len(texts), WIDTH), dtype=numpy.float32)
        for at, text in enumerate(texts):
            whole = text.encode(
                "utf-8", "replace"
            ).decode()  # JSON may contain a lone surrogate, which the tokenizer rejects
            # One by one: a batch starts threads, and then warns on stderr when the process forks.
            if pieces := self._tokenizer.encode(whole, add_special_tokens=False).ids:
                made[at] = self._pieces[pieces].sum(axis=0, dtype=numpy.float32)
        lengths = numpy.linalg.norm(made, axis=1, keepdims=True)
        return made / numpy.where(lengths > 0, lengths, 1)
