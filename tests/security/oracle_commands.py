"""Commands for the jail: made by a grammar of what the shell and the programs of the rules can say, by changing attacks
that are known, and from random characters. The same seed gives the same commands on the same machine."""

import re
import subprocess
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from random import Random
from string import ascii_letters

RULES: Sequence[str] = ("echo", "git status", "git log", "find", "sed -n", "rg", "sort", "wc", "cat")
"""What stands before ``:*`` in the rules under which commands are allowed."""

_NAMES = (
    *("a.txt", "b.txt", "src", "src/main.py", ".", ".."),
    *("./a.txt", "notes.md", "list0", "link", "packed.gz", "script.sed"),
    *("/box/outside/kept.txt", "/box/ws/a.txt", "pwn", "./pwn.sh", "/box/outside/pwn", "new", "./new", "/tmp/new"),
    *("/box/outside/new", "-", "--", "", "x y", "-new", "/dev/null"),
    *("/dev/stdin", "HEAD", "v1", "main", "1", "-1", "+1"),
)
# These go into the command as they are: each means more to the shell than its letters.
_LIVE = (
    *("*", "*.txt", "?*", "[a-z]*", "[-]*", "-*", "./*", "**", "{a,b}.txt", "{a.txt,-onew}", "{-o,new}", "a{,.txt}"),
    *("--{pre,x}=pwn", "-{exec,name}", "{1..3}", "~", "~/new", "~root"),
    *("~+", "~-", "$HOME", "$SECRET", "${X}", "$(pwn)"),
    *("`pwn`", "<(pwn)", ">(pwn)", "$((1+1))", "$((a[$(pwn)]))", "${x:-$(pwn)}"),
    *("$'\\x70wn'", '$"pwn"', "$1", "$@", "$$"),
    *("!!", "@(a|b)", "!(x)", "\\\n", "#x", "$'a\\'", "${!X}"),
    *("${X@P}", "$[1]", "${x:=pwn}", "*(a)", "%1", "&", "=(pwn)"),
)
_SED = (
    *("p", "1p", "$p", "/a/p", "1,3p", "s/a/b/", "s/a/b/gp", "s/a/b/w new", "s/a/b/e", "s/.*/pwn/e", "w new", "W new"),
    *("1w new", "e", "e pwn", "1e pwn", "r a.txt", "R a.txt"),
    *("y/ab/cd/", "{p;p}", "p;w new", "p\nw new", "{p}w new", "="),
    *("l", "l 5", "q", "Q3", "a\\x", "a x\nw new", "i x"),
    *("i\\\nw new", "c x", "n;p", "/a/{p;e pwn\n}", "s,a,b,we", "D"),
    *("s/a/b/;w new", "1!G;h;$!d", "0~2p", "s/a/b/ewnew", "s/./pwn/me"),
    *("#n", "#n\nw new", ":a;w new", ":a\nw new", "ba"),
    *("sxaxbxe", "sxaxbxw new", "s/a\\/e/b/", "s/[/]e/b/", "s/a/b\\\n/e"),
    *("\\,a,e pwn", "/a/w new", "1~2w new", "$!w new"),
    *("/[/]/w new", "y/;/w/", "}w new", "{w new", "F", "z"),
    *("v", "1,/e pwn/p", "s/a/w new/", "s/w/e/g", "p # w new", "t;w new"),
)
_SED_ADDRESSES = (
    *("", "", "1", "$", "/a/", "1,2", "/a/,/b/", "\\xax", "0~2", "1!", "1,+1", "/[/]/", "/\\//", "\\eae", "/a/I", "{"),
)
_SED_COMMANDS = (
    *("p", "d", "w new", "e pwn", "e", "r a.txt", "R a.txt", "W new", "=", "l"),
    *("n", "N", "h", "G", "x", "q", "Q", "b", "t"),
    *("ba", ":a", "a x", "a\\x", "a\\\nx", "i w new", "c\\\nw new", "y/a/e/", "y/\\//w/"),
    *("z", "F", "}", "#", "v", "D", "P", "T"),
)
_SED_ENDS = (";", "\n", "", " ", "}", ";;", " ; ", "\\\n", "\t", "#w new\n", "}w new\n")
_PIECES = (
    *("'", '"', "\\", "$(", ")", "`", "{", "}", "<(", ";", "&"),
    *("|", "\n", "#", " ", " ", " ", "pwn", "pwn", "echo", "a", "$'"),
    *('$"', "<<X\n", "X\n", "<<'X'\n", "<<-X\n", "\\\n", "[[", "((", "))", "!"),
    *("=", "$", "${", "a=", ">", ">&", "2>&1", "*", "?"),
    *("[", "]", "~", ",", "..", "'pwn'", '"$(pwn)"', "$'\\''", "'\\''", "\\'"),
    *('\\"', "\\`", "\\$", "\t", "&&", "||", "|&", "(", "<"),
    *("$'\\x27'", "$'\\047'", "&>", "/dev/null", "{a,b}", "{a,'b c'}", "{1..2}", "-n"),
    *("-e", "\x0b", "$[", "\r", "@(", "!(", "\u00a0"),
)
_FIND = (
    *("-exec pwn ;", "-exec pwn {} +", "-execdir pwn ;", "-ok pwn ;", "-okdir pwn ;", "-delete", "-fprint new"),
    *("-fprint0 new", "-fls new", "-fprintf new %p", "-printf %p", "-print0", "-ls", "-name *.txt", "-iname a*"),
    *("-newer a.txt", "-files0-from list0", "-regextype help", "-D exec"),
    *("-O3", "( -name a )", "! -name x", "-o -delete"),
    *(", -delete", "-maxdepth 1", "-type f", "-size +1k", "-perm /111"),
    *("-mtime -1", "-prune -o -print", "-quit", "-L", "-P"),
)
_RG = (
    *("pwn", "-e pwn", "--pre pwn", "--pre=pwn", "--pre-glob *"),
    *("-z", "--search-zip", "--hostname-bin pwn", "-f a.txt"),
    *("--hostname-bin=pwn", "-r x", "-g *.txt", "--ignore-file a.txt", "--type-add x:*.x"),
    *("-uuu", "--files", "-l", "-nz"),
    *("--debug", "--no-config", "-P a", "--engine auto", "--sort path"),
    *("--type-list", "-tpy", "--pcre2-version", "--json"),
    *("--hyperlink-format x", "--generate man", "--stop-on-nonmatch", "-A1", "--color=always", "--colors path:none"),
)
_GIT = (
    *("-p", "--stat", "--oneline", "-n1", "-1", "--graph", "--all", "--format=%H", "--pretty=oneline", "--output=new"),
    *("--output new", "--outpu=new", "--ext-diff", "--no-ext-diff", "--textconv", "-S a", "-G a", "--follow a.txt"),
    *("--show-signature", "--format=%G?", "--pretty=format:%s%GK", "--pretty=tformat:%x25G?", "--format=%(trailers)"),
    *("-c", "--cc", "-m", "--diff-filter=M", "--word-diff"),
    *("--submodule=log", "-L1,2:a.txt", "--since=yesterday", "--author=T"),
    *("--grep=One", "--not", "--stdin", "--no-pager"),
    *("--paginate", "--exec=pwn", "--upload-pack=pwn", "--git-dir=.git", "-C src", "-O a.txt", "--decorate=full", "-z"),
    *("--raw", "--check", "--color=always", "--ignore-submodules", "--porcelain=v2"),
    *("-s", "-uall", "--ignored", "HEAD~1"),
    *("HEAD..", "v1^{tree}", ":/One", "HEAD:a.txt", "--end-of-options", "--reflog", "-g", "--no-index", "--abbrev=4"),
)
_GIT_LOG = """
    since until after before since-as-filter author committer grep grep-reflog max-count skip min-age max-age
    min-parents max-parents no-min-parents no-max-parents branches tags remotes glob exclude exclude-hidden all reflog
    stdin not cherry-mark cherry-pick cherry left-only right-only merge boundary simplify-by-decoration show-pulls
    full-history dense sparse simplify-merges ancestry-path date-order author-date-order topo-order reverse no-walk
    do-walk pretty format encoding expand-tabs notes show-notes show-signature relative-date date parents children
    left-right graph show-linear-break walk-reflogs diff-merges unified output output-indicator-new
    output-indicator-old output-indicator-context raw patch-with-raw indent-heuristic minimal patience histogram
    anchored diff-algorithm stat stat-width stat-name-width stat-count compact-summary numstat shortstat dirstat
    cumulative dirstat-by-file summary patch-with-stat name-only name-status submodule color color-moved
    color-moved-ws word-diff word-diff-regex color-words no-renames rename-empty check ws-error-highlight full-index
    binary abbrev break-rewrites find-renames find-copies find-copies-harder irreversible-delete diff-filter
    find-object pickaxe-all pickaxe-regex skip-to rotate-to relative text ignore-cr-at-eol ignore-space-at-eol
    ignore-space-change ignore-all-space ignore-blank-lines ignore-matching-lines inter-hunk-context function-context
    exit-code ext-diff textconv ignore-submodules src-prefix dst-prefix no-prefix line-prefix ita-invisible-in-index
    follow decorate decorate-refs decorate-refs-exclude source mailmap full-diff log-size oneline abbrev-commit
    no-abbrev-commit remove-empty merges no-merges first-parent exclude-first-parent-only extended-regexp
    fixed-strings perl-regexp basic-regexp regexp-ignore-case invert-grep all-match objects filter disk-usage
    end-of-options combined-all-paths remerge-diff orderfile
"""
"""Options that the short help of ``git log`` does not name."""
_SORT = (
    *("-o new", "-onew", "--output=new", "--output new"),
    *("--outp=new", "-ronew", "-T /box/outside", "--compress-program=pwn"),
    *("--compress-prog=pwn -S1k", "--files0-from=list0", "-k1", "-t,"),
    *("--parallel=2", "--random-source=a.txt", "-R", "-S 1k"),
    *("+0 -1", "+0 -onew", "-c", "-C", "-m", "-u", "-z", "--debug"),
    *("-n", "-h", "--batch-size=2", "-s", "-V", "-b", "-f"),
)
_OWN: Mapping[str, Sequence[str]] = {
    "find": _FIND,
    "rg": _RG,
    "git status": _GIT,
    "git log": _GIT,
    "sort": _SORT,
    "wc": ("-l", "-c", "--files0-from=list0", "--files0-from list0", "--files0-from=-", "--total=always", "-L"),
    "cat": ("-A", "-n", "-b", "-s", "-v", "-u"),
    "echo": ("-n", "-e", "-E", "-en", "\\x1b"),
    "sed -n": (
        "-n",
        "-E",
        "-e p",
        "-f script.sed",
        "-i",
        "-i.bak",
        "-s",
        "-z",
        "-u",
        "--posix",
        "--sandbox",
        "-n -i",
        "-ni",
    ),
}
_PREFIXES = (
    *("LC_ALL=C", "LANG=C", "FOO=bar", "GIT_PAGER=pwn"),
    *("PAGER=pwn", "GIT_EXTERNAL_DIFF=pwn", "GIT_TRACE=/box/outside/new"),
    *("RIPGREP_CONFIG_PATH=list0", "LD_PRELOAD=./x", "PATH=.", "PATH=/box/outside", "BASH_ENV=pwn.sh", "GIT_DIR=.git"),
    *("TMPDIR=/box/outside", "IFS=x", "PS4='$(pwn)'", "SHELLOPTS=xtrace"),
    *("POSIXLY_CORRECT=1", "GIT_CONFIG_COUNT=1", "x=$(pwn)"),
    *("TZ=UTC", "NO_COLOR=1", "a[$(pwn)]=1", "FOO=", "COLUMNS=80"),
    *("TERM=dumb", "GIT_SSH=pwn", "HOME=/box/outside", "X+=a"),
)
_JOINS = (" ; ", " && ", " || ", " | ", " & ", "\n", " |& ", ";", "&&", "|", "\r\n", " ;; ", "\n\n", " &\n")
_AROUND = (
    *("( {} )", "{{ {}; }}", "! {}", "time {}"),
    *("if {}; then {}; fi", "for i in 1 2; do {}; done", "while {}; do break; done"),
    *("f() {{ {}; }}; f", "coproc {}", "case x in x) {} ;; esac", "eval {}"),
    *("command {}", "builtin {}", "exec {}", "env {}"),
    *("{} # x", "# x\n{}", "[[ a ]] && {}", "(( 1 )) && {}"),
    *("until {}; do :; done", "nohup {}", "timeout 1 {}", "nice {}"),
    *("xargs {}", "sudo {}", "{}; trap pwn EXIT", "cd src && {}"),
    *("cd evil && {}", "cd evil; {}", "(cd evil; {})", "cd src; {}"),
    *("pushd src; {}", "set -x; {}", "alias echo=pwn; {}"),
)
_REDIRECTS = (
    *(">/dev/null", "2>/dev/null", "2>&1", ">&2", "1>&2", "&>/dev/null"),
    *("</dev/null", "<a.txt", ">new", ">>a.txt", "2>new"),
    *(">|new", "&>new", "<>new", ">&new", "<<<pwn"),
    *("<<X\n$(pwn)\nX\n", "<<'X'\n$(pwn)\nX\n", "3>new", "{v}>new", "> /dev/null"),
    *(">/dev/null/../x", ">/dev/tcp/localhost/1", ">/dev//null", ">'/dev/null'", "2>&1 >new"),
    *(">&-", "<&0", ">a.txt", "2>&-"),
)
_ALPHABET = " \t\n'\"\\$`;&|<>(){}[]*?!#~=-+,.:/@%^0123456789aeopwnx\x00\x1b\x7f\xa0\u200b\u202eé"


_DANGEROUS: Mapping[str, Sequence[str]] = {
    "find": ("-delete", "x -delete", "-fprint new", "-exec pwn \\;"),
    "git status": ("--output=new", "--show-signature"),
    "git log": ("--output=new", "--output new", "--show-signature"),
    "rg": ("--pre pwn a", "--pre=pwn a", "-z a"),
    "sed -n": ("-i p a.txt", "'w new' a.txt", "-e 'w new' a.txt", "-f script.sed a.txt", "-e '1e pwn' a.txt"),
    "sort": ("-onew a.txt", "-o new a.txt", "--output=new a.txt", "--compress-program=pwn -S1k a.txt"),
}


def after_each_option() -> list[str]:
    """Something dangerous right after every option there is: whether the option takes it for its value is the question
    on which a program and whoever reads its command line may differ."""
    return [
        f"{rule} {place}{option} {rest}"
        for rule, dangers in _DANGEROUS.items()
        for place in ((". ", "") if rule == "find" else ("",))
        for option in dict.fromkeys((*options_of(rule), *(f"-{letter}" for letter in ascii_letters)))
        for rest in dangers
    ]


def sed_scripts() -> list[str]:
    """Something dangerous after every command of sed, with and without arguments, however the command may end."""
    made = [
        f"sed -n '{address}{command}{argument}{end}{bad}' a.txt"
        for address in ("", "1", "/a/", "1!", "{")
        for command in f"{ascii_letters}=:}}#{{"
        for argument in ("", " a", "\\", "\\\n", " a\\\n")
        for end in (";", "\n", "}", " ")
        for bad in ("w new", "1e pwn")
    ]
    classes = ("", "[", "]", "[^", "[]", "[^]", "[a", "[[:alpha:]", "[[.", "[\\", "\\[", "[a]", "[[]", "[]]")
    for text in (f"{one}{rest}" for one in classes for rest in ("/", "\\/", "]/", "/]/")):
        for flags in ("w new", "e", "pw new"):
            made += [f"sed -n '{before}/{text}/{flags}' a.txt" for before in ("", "y", "s/a", "s")]
            made.append(f"sed -n 's/{text}/b/{flags}' a.txt")
    return made


class Commands:
    """An endless row of commands."""

    def __init__(self, seed: int, attacks: Sequence[str]) -> None:
        self._random = Random(seed)
        self._attacks = attacks

    def next(self) -> str:
        ways: Sequence[Callable[[], str]] = (self._script, self._changed, self._soup, self._noise)
        (way,) = self._random.choices(ways, (60, 20, 15, 5))
        return way()

    def _maybe(self, chance: float) -> bool:
        return self._random.random() < chance

    def _script(self) -> str:
        made = self._simple()
        while self._maybe(0.2):
            made += self._random.choice(_JOINS) + self._simple()
        if self._maybe(0.06):
            made = self._random.choice(_AROUND).replace("{}", made).replace("{{", "{").replace("}}", "}")
        return made

    def _simple(self) -> str:
        rule: str = self._random.choice(RULES)
        words = rule.split()
        if rule == "sed -n":
            words.append(self._sed())
        if rule == "rg" and self._maybe(0.7):
            words.append("a")
        words = [self._spelled(word) for word in words]
        for _ in range(self._random.choice((0, 1, 1, 2, 2, 3, 5))):
            words += self._argument(rule)
        if self._maybe(0.06):
            words.insert(0, self._random.choice(_PREFIXES))
        if self._maybe(0.1):
            words.insert(self._random.randint(0, len(words)), self._random.choice(_REDIRECTS))
        return " ".join(words)

    def _argument(self, rule: str) -> list[str]:
        kind = self._random.random()
        if kind < 0.35:
            return [self._spelled(word) for word in self._random.choice(_OWN[rule]).split(" ")]
        if kind < 0.55:
            return [self._spelled(self._option(rule))]
        if kind < 0.65:
            return [self._random.choice(_LIVE)]
        if kind < 0.7 and rule == "sed -n":
            return [self._spelled(word) for word in ("-e", self._sed())]
        return [self._spelled(self._random.choice(_NAMES))]

    def _option(self, rule: str) -> str:
        """Any of its options: whole, abbreviated, with a value, or several letters at once."""
        every = options_of(rule)
        option = self._random.choice(every)
        if option.startswith("--"):
            if self._maybe(0.25):
                option = option[: self._random.randint(3, len(option))]
            return f"{option}={self._random.choice(_NAMES)}" if self._maybe(0.4) else option
        letters = [each[1] for each in every if len(each) == 2]
        if len(option) == 2 and letters and self._maybe(0.4):
            option += "".join(self._random.choices(letters, k=self._random.randint(1, 3)))
        return option + self._random.choice(_NAMES) if self._maybe(0.2) else option

    def _spelled(self, word: str) -> str:
        """The word as somebody might write it; mostly as everybody does."""
        plain = re.fullmatch(r"[\w./:=@%+,^-]+", word, re.ASCII) is not None
        if plain and self._maybe(0.8):
            return word
        ways = [f"'{word}'", f'"{word}"'] if "'" not in word else [f'"{word}"']
        if self._maybe(0.3):
            ways += ["".join(f"\\{sign}" for sign in word), f"$'{word}'", word, f"{word[:1]}''{word[1:]}"]
            ways += [f"'{word[:2]}'{word[2:]}", f'{word[:1]}"{word[1:]}"', f"\\{word}"]
        return self._random.choice(ways)

    def _changed(self) -> str:
        """An attack, or something of our own, with a few changes."""
        made = self._random.choice(self._attacks) if self._attacks and self._maybe(0.7) else self._script()
        for _ in range(self._random.randint(0, 3)):
            words = made.split(" ")
            at, spot = self._random.randrange(len(words)), self._random.randint(0, len(made))
            match self._random.randrange(8):
                case 0:
                    made = made[:spot] + made[spot + 1 :]
                case 1:
                    made = made[:spot] + self._random.choice(_ALPHABET) + made[spot:]
                case 2:
                    words[at] = self._spelled(words[at])
                    made = " ".join(words)
                case 3:
                    words[at] = self._random.choice((*_NAMES, *_LIVE))
                    made = " ".join(words)
                case 4:
                    made = self._simple() + self._random.choice(_JOINS) + made
                case 5:
                    made = " ".join((*self._random.choice(RULES).split(), *words[1:]))
                case 6:
                    made += " " + self._random.choice(_REDIRECTS)
                case _:
                    words.insert(at, words.pop(self._random.randrange(len(words))))
                    made = " ".join(words)
        return made

    def _sed(self) -> str:
        """A script for sed: one of the list, or addresses and commands as they come."""
        if self._maybe(0.4):
            return self._random.choice(_SED)
        parts = (_SED_ADDRESSES, _SED_COMMANDS, _SED_ENDS)
        made = "".join(self._random.choice(part) for _ in range(self._random.randint(1, 4)) for part in parts)
        if self._maybe(0.5):
            mark = self._random.choice("/,|xe;w")
            before, after = (self._random.choice(("a", ".*", f"\\{mark}", f"[{mark}]", "\n", "", "e")) for _ in "12")
            flags = "".join(self._random.choices(("g", "p", "e", "I", "m", "2", "w new", " ", ";"), k=2))
            made += f"s{mark}{before}{mark}{after}{mark}{flags}"
        return made

    def _soup(self) -> str:
        """Pieces of the shell's syntax in any order: where two readers may disagree."""
        pieces = self._random.choices(_PIECES, k=self._random.randint(2, 9))
        return f"{self._random.choice(('echo', 'echo', 'cat', 'git log'))} {''.join(pieces)}"

    def _noise(self) -> str:
        noise = "".join(self._random.choices(_ALPHABET, k=self._random.randint(1, 20)))
        return f"{self._random.choice(RULES)} {noise}" if self._maybe(0.8) else noise


@cache
def options_of(rule: str) -> tuple[str, ...]:
    """All that its own help names, in the order of the letters; of ``git log`` also those it takes for its diffs."""
    if rule == "echo":
        return ("-n", "-e", "-E")
    ways = {"git status": ["status"], "git log": ["log", "diff", "rev-list", "show"]}.get(rule, [])
    asked = [["git", way, "-h"] for way in ways] or [[rule.split()[0], "--help"]]
    told = " ".join(f"--{name}" for name in _GIT_LOG.split()) if rule == "git log" else ""
    for words in asked:
        said = subprocess.run(words, capture_output=True, text=True)
        told += said.stdout + said.stderr
    return tuple(sorted(set(re.findall(r"(?<![\w-])--?[A-Za-z0-9][\w-]*", told))))
