"""Splits Markdown that is still arriving: the part that cannot change any more, and the rest."""

import re

_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")


def finished_length(text: str) -> int:
    """The length of the front of the text whose Markdown blocks are complete: it ends with an empty line outside of a
    code fence, and the next line that is there does not belong to the block before it (an indented line does, as in a
    list)."""
    fence = ""
    finished = at = 0
    blank_before = False
    for line in text.splitlines(keepends=True):
        if not line.endswith("\n"):
            break
        bare = line.strip()
        if not fence and blank_before and bare and not line.startswith((" ", "\t")):
            finished = at
        opening = _FENCE.match(line)
        if fence:
            if opening is not None and bare.startswith(fence) and not bare.strip(fence[0]):
                fence = ""
        elif opening is not None:
            fence = opening[1]
        blank_before = not bare
        at += len(line)
    return finished
