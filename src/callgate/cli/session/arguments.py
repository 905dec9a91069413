"""The words of ``callgate session …`` and ``callgate audit``."""

from callgate.cli.parsing import DATA_FOLDER, CommandParser, Group, age, checksum, count, one_of

_WHICH = (
    "its id or a beginning of it, its title, words of its prompts, or the file of a log (default: the latest of this "
    "folder)"
)


def add_session(commands: Group) -> None:
    session = commands.group(
        "session",
        "sessions: list, show, export, import, verify, gc, remove, lock",
        f"About the sessions that are kept. {DATA_FOLDER}",
    )
    _add_list(session)
    _add_show(session)
    _add_export(session)
    _add_import(session)
    _add_verify(session)
    _add_gc(session)
    _add_remove(session)
    lock = session.command(
        "lock",
        "who has a session open",
        f"Who has a session open for writing, if anybody. {DATA_FOLDER}",
    )
    _add_which(lock)


def add_log(commands: Group) -> None:
    log = commands.command(
        "log",
        "a session as text, in the order in which things happened",
        "Every message, call, decision, answer and result as lines with their time, also what was rewound. Reads the "
        f"log alone, so that a session that is running can be watched. {DATA_FOLDER}",
        more="Ctrl-C ends following; the exit code is 0",
    )
    _add_which(log)
    log.add_argument("-f", "--follow", action="store_true", help="wait for more, and print it as it happens")


def add_audit(commands: Group) -> None:
    audit = commands.command(
        "audit",
        "every decision of a session: by whom, on what, with what outcome",
        "Every decision on record: call, hash of the arguments, rule or person, door, time, outcome. All that ever "
        f"happened is in it, also what was rewound. {DATA_FOLDER}",
        more="exit codes: 0 done; 1 failed, or the log is not what was written, so that rows may be missing",
    )
    _add_which(audit)
    form = one_of("table", "json", "csv")
    audit.add_argument("--format", type=form, default="table", metavar="F", help="table (default), json or csv")
    _add_output(audit)


def _add_list(session: Group) -> None:
    parser = session.command(
        "list",
        "the sessions there are, last used first",
        f"The sessions of this folder, last used first. {DATA_FOLDER}",
        more="marks: ? a question waits for an answer, * the last turn is unfinished, ! the log cannot be read",
    )
    parser.add_argument("--all", action="store_true", help="those of all folders")
    parser.add_argument("--limit", type=count, metavar="N", help="at most so many (default: all)")
    parser.add_argument("--json", action="store_true", help="a line of JSON for each, and nothing else")


def _add_show(session: Group) -> None:
    parser = session.command(
        "show",
        "what was said and done",
        "The live messages of a session, each call with its decision and its outcome. Long results are cut: export and "
        f"--json have all of them. {DATA_FOLDER}",
    )
    _add_which(parser)
    parser.add_argument("--tail", type=count, metavar="N", help="only the last N messages")
    parser.add_argument("--json", action="store_true", help="a line of JSON for each event, and nothing else")


def _add_export(session: Group) -> None:
    parser = session.command(
        "export",
        "a session as Markdown, HTML or messages of the AI SDK",
        f"The live part of a session, to be shared. {DATA_FOLDER}",
    )
    _add_which(parser)
    form = one_of("markdown", "html", "ai-sdk")
    parser.add_argument("--format", type=form, required=True, metavar="F", help="markdown, html or ai-sdk (JSON)")
    _add_output(parser)


def _add_import(session: Group) -> None:
    parser = session.command(
        "import",
        "a transcript of another program as a new session",
        "Makes a new session of this folder out of a transcript, without its agents, and prints the new id first. The "
        f"file is only read. {DATA_FOLDER}",
        more="Claude Code keeps its transcripts in ~/.claude/projects/*/*.jsonl",
    )
    parser.add_argument("file", metavar="FILE", help="the transcript; - is standard input")
    form = one_of("claude-code")
    parser.add_argument("--format", type=form, default="claude-code", metavar="F", help="claude-code, the default")


def _add_verify(session: Group) -> None:
    parser = session.command(
        "verify",
        "whether a log is what was written",
        "Checks every line's checksum, the chain from line to line, the numbers, the session and the line ends, and "
        f"says where something was changed, removed, moved, repeated or torn. {DATA_FOLDER}",
        more="The end of a log can be cut off without a trace in it: note the head that is printed, and give it later "
        "with --head. exit codes: 0 sound, 1 not",
    )
    _add_which(parser)
    parser.add_argument("--all", action="store_true", help="every session of every folder")
    parser.add_argument(
        "--head", type=checksum, metavar="SUM", help="a head noted earlier: it must be in the log still"
    )


def _add_gc(session: Group) -> None:
    parser = session.command(
        "gc",
        "remove what is left over, and with --older-than old sessions",
        "Removes what programs that died left behind among the sessions of this folder: files and folders of sessions "
        "that are gone, names of dead writers, empty logs. With --older-than whole sessions too. Never one that is "
        f"open; leftovers younger than an hour stay if a program may still be writing them. {DATA_FOLDER}",
    )
    parser.add_argument("--all", action="store_true", help="among the sessions of all folders")
    parser.add_argument("--older-than", type=age, metavar="AGE", help="sessions last used so long ago: 12h, 30d, 6w")
    parser.add_argument("--dry-run", action="store_true", help="only say what would be removed")
    parser.add_argument("--json", action="store_true", help="say it as one line of JSON")


def _add_remove(session: Group) -> None:
    parser = session.command(
        "remove",
        "remove one session",
        "Removes one session with all that belongs to it, and says what that was. Nothing is asked, and nothing can be "
        f"brought back. Not while somebody has it open. {DATA_FOLDER}",
    )
    parser.add_argument("which", metavar="ID", help="its id, a beginning of it that no other has, or its whole title")


def _add_which(parser: CommandParser) -> None:
    parser.add_argument("which", metavar="ID", nargs="?", help=_WHICH)


def _add_output(parser: CommandParser) -> None:
    parser.add_argument("-o", "--output", metavar="FILE", help="where to write (default: standard output)")
    parser.add_argument("--force", action="store_true", help="replace the file if it exists")
