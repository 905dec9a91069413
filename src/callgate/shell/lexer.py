"""The strict parser: accepts a subset of the shell's language and refuses everything else.

Forms that bash and zsh interpret differently are refused, so that the result is valid for both shells.
"""

from typing import Literal

from callgate.shell.command import CommandDraft, Script, Unread, Within, names
from callgate.shell.scanner import NotUnderstood, Scanner
from callgate.shell.spelling import Doubtful

DEEPEST = 16
# Larger commands are too long for a user to read, and slow for the other parser.
MOST_COMMANDS = 200
MOST_WORDS = 1_000
MOST_REDIRECTS = 200

# Words that begin, join or end a compound command in bash or in zsh.
RESERVED = names(
    """if then elif else fi for while until do done case esac select function time coproc in [[ ]] { } ! repeat foreach
    end always nocorrect noglob -"""
)
DECLARING = names("export declare typeset local readonly alias")

Closer = Literal["", ")", "}"]


def parse_strictly(text: str) -> Script | Unread:
    """Parse a whole text in linear time. Return Unread if the text contains a form that is not accepted."""
    reader = StrictParser(text)
    if text[:1] in ("-", "+"):
        return Unread("a command that begins like a shell option")
    try:
        reader.sequence("", 0)
    except (NotUnderstood, Doubtful) as refused:
        return Unread(str(refused), reader.scan.at)
    if reader.scan.announced:
        return Unread("a here-document without a body", len(text))
    return Script(tuple(draft.finished() for draft in reader.drafts), tuple(reader.operators))


class StrictParser:
    """Parses lists, pipelines and commands and appends them to ``drafts`` and ``operators``."""

    def __init__(self, text: str) -> None:
        self.scan = Scanner(text)
        self.drafts: list[CommandDraft] = []
        self.operators: list[str] = []
        self.operator = ";"
        self.words = 0
        self.redirects = 0

    def sequence(self, closer: Closer, depth: int) -> None:
        """Parse at least one command, up to and including the closing character."""
        if depth > DEEPEST:
            raise NotUnderstood("commands nested too deeply")
        started = len(self.drafts)
        while True:
            self.scan.skip_lines()
            if self.closes(closer):
                break
            begun = len(self.drafts)
            self.chain(depth)
            if not self.separated(begun):
                if self.closes(closer) and closer != "}":
                    break
                raise NotUnderstood("unexpected text after a command")
        if len(self.drafts) == started:
            raise NotUnderstood("no command")

    def closes(self, closer: Closer) -> bool:
        scan = self.scan
        if closer == "":
            return scan.at == len(scan.text)
        if scan.peek() != closer:
            return False
        if closer == "}" and scan.peek(1) not in " \t\n;&|)<>":
            return False
        scan.at += 1
        return True

    def separated(self, begun: int) -> bool:
        """Parse the separator after a list and return True if there is one. After ``&`` the drafts from index
        ``begun`` on are marked as background commands."""
        scan = self.scan
        scan.skip_blanks()
        if scan.peek() == "\n":
            self.operator = ";"
            scan.skip_lines()
            return True
        if scan.peek() == ";":
            if scan.peek(1) in (";", "&", "|"):
                raise NotUnderstood("an operator that is valid only in case")
            self.operator = ";"
            scan.at += 1
            return True
        if scan.peek() == "&":
            if scan.peek(1) in ("|", "!", "&"):
                raise NotUnderstood("an operator of zsh")
            self.operator = "&"
            scan.at += 1
            for draft in self.drafts[begun:]:
                draft.within += ("background",)
            return True
        return False

    def chain(self, depth: int) -> None:
        """Parse pipelines joined by ``&&`` and ``||``."""
        while True:
            self.pipeline(depth)
            self.scan.skip_blanks()
            operator = self.scan.text[self.scan.at : self.scan.at + 2]
            if operator not in ("&&", "||"):
                return
            self.operator = operator
            self.scan.at += 2
            self.scan.skip_lines()

    def pipeline(self, depth: int) -> None:
        scan = self.scan
        if scan.peek() == "!" and scan.peek(1) in (" ", "\t"):
            scan.at += 1
            scan.skip_blanks()
        begun = len(self.drafts)
        pipes = 0
        while True:
            self.command(depth)
            scan.skip_blanks()
            if scan.peek() != "|" or scan.peek(1) == "|":
                break
            pipes += 1
            self.operator = "|&" if scan.peek(1) == "&" else "|"
            scan.at += len(self.operator)
            scan.skip_lines()
        if pipes:
            for draft in self.drafts[begun:]:
                draft.within += ("pipe",)

    def command(self, depth: int) -> None:
        scan = self.scan
        first = scan.peek()
        if first == "(":
            if scan.peek(1) == "(":
                raise NotUnderstood("arithmetic")
            self.compound(")", "subshell", depth)
        elif first == "{" and scan.peek(1) in (" ", "\t", "\n"):
            self.compound("}", "group", depth)
        else:
            draft = self.started()
            self.fill(draft)
            if not (draft.words or draft.assignments or draft.redirects):
                raise NotUnderstood("a command is missing")

    def compound(self, closer: Closer, kind: Within, depth: int) -> None:
        """Parse a subshell or a group. Its redirections become a command without words, which follows its commands."""
        begun = len(self.drafts)
        self.scan.at += 1
        self.sequence(closer, depth + 1)
        for draft in self.drafts[begun:]:
            draft.within += (kind,)
        outer = CommandDraft()
        self.fill(outer)
        if outer.words or outer.assignments:
            raise NotUnderstood("a word after a compound command")
        if outer.redirects:
            self.drafts.append(outer)

    def started(self) -> CommandDraft:
        if len(self.drafts) == MOST_COMMANDS:
            raise NotUnderstood(f"more than {MOST_COMMANDS} commands")
        if self.drafts:
            self.operators.append(self.operator)
        self.drafts.append(draft := CommandDraft())
        return draft

    def fill(self, draft: CommandDraft) -> None:
        """Parse assignments, words and redirections up to the end of the simple command."""
        scan = self.scan
        while True:
            scan.skip_blanks()
            if scan.redirect(draft.redirects):
                self.redirects += 1
                if self.redirects > MOST_REDIRECTS:
                    raise NotUnderstood(f"more than {MOST_REDIRECTS} redirections")
                continue
            timed = [word.value for word in draft.words[:3]] in (["time"], ["time", "-p"])
            if scan.ends():
                if timed:
                    raise NotUnderstood("the word time without a command")
                return
            if not draft.words and (assigned := scan.assignment()):
                draft.assignments.append(assigned)
                self.count(1)
                continue
            name = scan.reserved(RESERVED) if timed or not draft.words else None
            if name and (timed or name != "time" or draft.assignments or draft.redirects):
                raise NotUnderstood(f"the word {name} at the start of a command")
            declares = bool(draft.words) and draft.words[0].value in DECLARING
            made = scan.word()
            if declares and any(word.braces for word in made):
                raise NotUnderstood("a brace expansion in a declaration")
            first = (made[0].value or "") if made and (timed or not draft.words) else ""
            if first.startswith("%"):
                raise NotUnderstood("a job specification")
            if timed and (first[:1] == "-" or "=" in first) and (first, len(draft.words)) != ("-p", 1):
                raise NotUnderstood("something other than a command after the word time")
            draft.words.extend(made)
            self.count(len(made))

    def count(self, words: int) -> None:
        self.words += words
        if self.words > MOST_WORDS:
            raise NotUnderstood(f"more than {MOST_WORDS} words")
