"""What is known of programs: which of their words run, write, load or send something."""

from callgate.shell.programs.table import UNKNOWN, program_named
from callgate.shell.programs.uses import Program, Role, Use

__all__ = ["UNKNOWN", "Program", "Role", "Use", "program_named"]
