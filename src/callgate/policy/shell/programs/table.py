"""Every program that is known, by its name."""

from callgate.policy.shell.programs.awk import AWK
from callgate.policy.shell.programs.builders import BUILDERS
from callgate.policy.shell.programs.builtins import BUILTINS
from callgate.policy.shell.programs.changing import CHANGING
from callgate.policy.shell.programs.git import GIT
from callgate.policy.shell.programs.interpreters import INTERPRETERS
from callgate.policy.shell.programs.network import NETWORK
from callgate.policy.shell.programs.queries import QUERIES
from callgate.policy.shell.programs.reading import READING
from callgate.policy.shell.programs.search import SEARCH
from callgate.policy.shell.programs.sed import SED
from callgate.policy.shell.programs.services import SERVICES
from callgate.policy.shell.programs.unasked import unasked
from callgate.policy.shell.programs.uses import Program
from callgate.policy.shell.programs.wrappers import WRAPPERS, anything

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
