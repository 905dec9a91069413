"""The words of ``callgate doctor``."""

from callgate.cli.parsing import Group
from callgate.cli.policy.arguments import command


def add_doctor(commands: Group) -> None:
    parser = command(
        commands,
        "doctor",
        "what works here, what does not, and the command that repairs it",
        "Looks at Python and its packages, keys and models, settings, trust, MCP servers, hooks, the sandbox, kept "
        "sessions, programs, disk, clock and the terminal. Nothing is changed, and without --online no "
        "program is asked but a model server of your own.",
        "callgate doctor",
        "callgate doctor --online",
        "callgate doctor --json",
        codes="exit codes: 0 nothing is wrong (there may be warnings), 1 something is",
    )
    parser.add_argument(
        "--online",
        action="store_true",
        help="ask the model for an answer too, for a few tokens, and connect MCP servers",
    )
    parser.add_argument("--json", action="store_true", help="print all outcomes as JSON")
