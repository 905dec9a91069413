"""The program that tries to get out of a sandbox.

    __main__.py ARENA        (JSON: see Arena)

It prints a line for each attack: ``name<TAB>did`` where the attack saw itself succeed, ``name<TAB>tried`` where only
the outside can tell, ``name<TAB>failed<TAB>why`` where it did not, ``name<TAB>absent<TAB>why`` where there is nothing
to attack.
"""

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[4]))  # it runs isolated, so nothing else says where Callgate is

from callgate.host.sandbox.attacks import Arena, NothingToAttack, Spot, load


def tried(arena: Arena) -> Iterator[tuple[str, str, str]]:
    for name, function in load().items():
        try:
            outcome = function(arena, Spot(arena, name))
        except NothingToAttack as error:
            yield name, "absent", str(error)
        except Exception as error:
            yield name, "failed", f"{type(error).__name__}: {error}"
        else:
            yield name, "tried" if outcome is None else "did" if outcome else "failed", ""


if __name__ == "__main__":
    for row in tried(json.loads(sys.argv[1])):
        os.write(1, ("\t".join(row).replace("\n", " ") + "\n").encode(errors="replace"))
