"""The words of ``callgate sandbox …``."""

from argparse import REMAINDER

from callgate.cli.parsing import Group
from callgate.cli.policy.arguments import command


def add_sandbox(commands: Group) -> None:
    sandbox = commands.group(
        "sandbox",
        "the wall around commands: prove, run",
        "A command in the sandbox writes only in the workspace, reaches no network and cannot read keys and passwords. "
        "It is in force where it was proven on this machine.",
    )
    prove = command(
        sandbox,
        "prove",
        "try to get out of the sandbox, and say what held",
        "Tries each attack without a sandbox and then inside it, in a folder of its own that is removed afterwards. "
        "The outcome is what counts as in force, until this machine is started again or bubblewrap, Python or Callgate "
        "change.",
        "callgate sandbox prove",
        "callgate sandbox prove --all --json",
        codes="exit codes: 0 a sandbox is in force, 1 none is",
    )
    prove.add_argument("--all", action="store_true", help="try every kind of sandbox, not only the best that holds")
    prove.add_argument("--json", action="store_true", help="print every attack and its outcome as JSON")
    run = command(
        sandbox,
        "run",
        "run a command in the sandbox",
        "Runs the command as an agent's commands are run, with the current folder as the workspace. Variables that "
        "sound like secrets are left out. Proves the sandbox first if that was not done yet; without one nothing runs.",
        "callgate sandbox run -- make test",
        codes="exit codes: those of the command, 127 if it is not found, 126 if it cannot be run; 1 no sandbox holds",
    )
    run.add_argument("words", metavar="COMMAND", nargs=REMAINDER, help="the program and its arguments, after --")
