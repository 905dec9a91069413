"""Every program that is known, by its name."""

from callgate.shell.programs.awk import AWK
from callgate.shell.programs.builders import BUILDERS
from callgate.shell.programs.builtins import BUILTINS
from callgate.shell.programs.changing import CHANGING
from callgate.shell.programs.git import GIT
from callgate.shell.programs.interpreters import INTERPRETERS
from callgate.shell.programs.network import NETWORK
from callgate.shell.programs.queries import QUERIES
from callgate.shell.programs.reading import READING
from callgate.shell.programs.search import SEARCH
from callgate.shell.programs.sed import SED
from callgate.shell.programs.services import SERVICES
from callgate.shell.programs.unasked import unasked
from callgate.shell.programs.uses import Program
from callgate.shell.programs.wrappers import WRAPPERS, anything

UNKNOWN = Program(anything)

_TABLES: dict[str, Program] = {
    **SERVICES,
    **WRAPPERS,
    **BUILDERS,
    **NETWORK,
    **CHANGING,
    **READING,
    **QUERIES,
    **SEARCH,
    **SED,
    **AWK,
    **INTERPRETERS,
    **GIT,
    **BUILTINS,
}
PROGRAMS: dict[str, Program] = {name: unasked(name, program) for name, program in _TABLES.items()}


def program_named(name: str) -> Program:
    """What is known of the program with this name; nothing is known of those that are not in the table."""
    return PROGRAMS.get(name, UNKNOWN)
