"""The words of ``callgate statusline …``."""

from callgate.cli.parsing import Group
from callgate.cli.policy.arguments import command


def add_statusline(commands: Group) -> None:
    statusline = commands.group(
        "statusline",
        "the status line of the terminal: test",
        "The status line is printed by a command of yours, statusline.command in the settings. "
        "It gets JSON on its standard input.",
    )
    test = command(
        statusline,
        "test",
        "run the command of the status line once with a sample",
        "Feeds a sample to the command and prints the lines that would be shown, its error output, how long it took "
        "and its exit code.",
        "callgate statusline test",
        "callgate statusline test --command 'jq -r .model.name'",
        "callgate statusline test --sample > sample.json",
        codes="exit codes: 0 the lines would be shown, 1 they would not",
    )
    test.add_argument("--command", dest="line", metavar="LINE", help="run this command line, not that of the settings")
    test.add_argument("--sample", action="store_true", help="print the sample, and run nothing")
    test.add_argument("--json", action="store_true", help="print the outcome as JSON")
