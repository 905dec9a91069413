"""``callgate completion bash|zsh|fish``: a script that completes commands, options and their values.

grammar  the words of every command, from the parsers themselves
shells   the scripts of bash and zsh, which share a table, and of fish

The scripts are static: completing starts no program.
"""

import sys
from argparse import Namespace

from callgate.cli.completion.grammar import completion_table
from callgate.cli.completion.shells import SCRIPTS


def completion(options: Namespace) -> int:
    sys.stdout.write(SCRIPTS[options.shell](completion_table()))
    return 0
