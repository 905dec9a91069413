"""What may run without any rule, also in plan mode: a short list of readers, with the options that are harmless.

The tables say what a program does with its words, as far as they know; that is enough where a person wrote a rule for
it. Here nobody was asked, so an option counts only if it is in this list, and a program only if it is. Left out are
options that run or write something, that follow links on the way, and that take names of files from a file.
"""

import re
from collections.abc import Callable
from dataclasses import replace

from callgate.shell.programs.options import grammar, names, scan
from callgate.shell.programs.uses import Program, Use, Words, said, unsure

_LS = """-aAbBcCdfFgGhiklmnNopqQrRsStuUvxXZ1 -I=text -T=text -w=text --all --almost-all --author --escape
    --block-size=text --ignore-backups --color?=text --directory --classify?=text --file-type --format=text
    --full-time --group-directories-first --no-group --human-readable --si --hide=text --indicator-style=text --inode
    --ignore=text --kibibytes --numeric-uid-gid --literal --quote-name --quoting-style=text --reverse --recursive
    --size --sort=text --time=text --time-style=text --tabsize=text --width=text --zero"""
_GREP = """-abcEFGHhiIlLnoPqrsTUvVwxyzZ -e=text -f=text -m=text -A=text -B=text -C=text -# --extended-regexp
    --fixed-strings --basic-regexp --perl-regexp --regexp=text --file=text --ignore-case --no-ignore-case
    --word-regexp --line-regexp --null-data --no-messages --invert-match --max-count=text --byte-offset --line-number
    --line-buffered --with-filename --no-filename --label=text --only-matching --quiet --silent --binary-files=text
    --text --recursive --include=text --exclude=text --exclude-from=text --exclude-dir=text --files-without-match
    --files-with-matches --count --initial-tab --null --after-context=text --before-context=text --context=text
    --color?=text --colour?=text"""
_RG = """-abcFhHiIlnNopPqsSuUvVwx0. -e=text -f=text -g=text -t=text -T=text -A=text -B=text -C=text -m=text -M=text
    -d=text -E=text -j=text -r=text --after-context=text --before-context=text --context=text --binary --byte-offset
    --case-sensitive --color=text --colors=text --column --context-separator=text --count --count-matches --crlf
    --encoding=text --engine=text --file=text --files --files-with-matches --files-without-match --fixed-strings
    --glob=text --glob-case-insensitive --heading --no-heading --hidden --no-hidden --iglob=text --ignore-case
    --include-zero --invert-match --json --line-buffered --line-number --no-line-number --line-regexp
    --max-columns=text --max-columns-preview --max-count=text --max-depth=text --maxdepth=text --max-filesize=text
    --multiline --multiline-dotall --no-config --no-ignore --no-ignore-dot --no-ignore-parent --no-ignore-vcs
    --no-messages --null --null-data --one-file-system --only-matching --passthru --pcre2 --pretty --quiet
    --regexp=text --replace=text --smart-case --sort=text --sortr=text --stats --text --threads=text --trim
    --type=text --type-list --type-not=text --unrestricted --vimgrep --with-filename --no-filename --word-regexp"""
_DIFF = """-abBcdeEilnNpqstTuwyZ -U=text -C=text -F=text -I=text -L=text -W=text -# --normal --brief
    --report-identical-files --context?=text --unified?=text --ed --rcs --side-by-side --width=text --left-column
    --suppress-common-lines --show-c-function --show-function-line=text --label=text --expand-tabs --initial-tab
    --tabsize=text --ignore-case --ignore-tab-expansion --ignore-trailing-space --ignore-space-change
    --ignore-all-space --ignore-blank-lines --ignore-matching-lines=text --text --strip-trailing-cr --minimal
    --color?=text"""
_SORT = """-bcCdfghimMnrRsuVz -k=text -t=text -S=text --ignore-leading-blanks --dictionary-order --ignore-case
    --general-numeric-sort --ignore-nonprinting --month-sort --human-numeric-sort --numeric-sort --random-sort
    --reverse --sort=text --version-sort --check?=text --key=text --merge --stable --field-separator=text --unique
    --zero-terminated"""
# Names → the options that are harmless.
_OPTIONS: dict[str, str] = {
    "ls": _LS,
    "cat": """-AbeEnstTuv --show-all --number-nonblank --show-ends --number --squeeze-blank --show-tabs
        --show-nonprinting""",
    "head": "-qvz -c=text -n=text -# --bytes=text --lines=text --quiet --silent --verbose --zero-terminated",
    "tail": """-fFqvz -c=text -n=text -s=text -# --bytes=text --lines=text --follow?=text --quiet --silent --retry
        --sleep-interval=text --verbose --zero-terminated""",
    "wc": "-cmlLw --bytes --chars --lines --max-line-length --words --total=text",
    "grep egrep fgrep": _GREP,
    "rg": _RG,
    "stat": "-ft -c=text --file-system --format=text --printf=text --terse",
    "file": """-bhikNn0 -F=text --brief --no-dereference --mime --mime-type --mime-encoding --extension --keep-going
        --separator=text --no-pad --print0""",
    "diff": _DIFF,
    "cmp": "-bls -i=text -n=text --print-bytes --ignore-initial=text --verbose --bytes=text --quiet --silent",
    "comm": "-123z --check-order --nocheck-order --output-delimiter=text --total --zero-terminated",
    "sort": _SORT,
    "uniq": """-cdDiuz -f=text -s=text -w=text --count --repeated --all-repeated?=text --skip-fields=text --group?=text
        --ignore-case --skip-chars=text --unique --zero-terminated --check-chars=text""",
    "cut": """-nsz -b=text -c=text -d=text -f=text --bytes=text --characters=text --delimiter=text --fields=text
        --complement --only-delimited --output-delimiter=text --zero-terminated""",
    "tr": "-cCdst --complement --delete --squeeze-repeats --truncate-set1",
    "nl": """-p -b=text -d=text -f=text -h=text -i=text -l=text -n=text -s=text -v=text -w=text --body-numbering=text
        --number-format=text --number-width=text --line-increment=text --number-separator=text""",
    "column": "-teJLnx -c=text -s=text -o=text -N=text -R=text -T=text -H=text -l=text -W=text -E=text --table --json",
    "tac": "-br -s=text --before --regex --separator=text",
    "rev": "",
    "fold": "-bs -w=text --bytes --spaces --width=text",
    "expand": "-i -t=text --initial --tabs=text",
    "od": """-abcdfhilosxv -A=text -j=text -N=text -t=text -w?=text -S=text --address-radix=text --skip-bytes=text
        --read-bytes=text --format=text --width?=text --endian=text --output-duplicates""",
    "hexdump": "-bcCdovx -n=text -s=text",
    "xxd": "-abeEipPu -c=text -g=text -l=text -n=text -o=text -s=text",
    "md5sum sha1sum sha224sum sha256sum sha384sum sha512sum b2sum cksum": """-btz --binary --text --tag --zero -a=text
        -l=text --algorithm=text --length=text --untagged""",
    "basename dirname": "-az -s=text --multiple --suffix=text --zero",
    "realpath readlink": """-efLmnPqsvz --canonicalize --canonicalize-existing --canonicalize-missing --logical
        --physical --quiet --strip --no-symlinks --zero --relative-to=text --relative-base=text --no-newline --silent
        --verbose""",
    "date": """-uR -d=text -r=text -I?=text --date=text --iso-8601?=text --rfc-email --rfc-3339=text --reference=text
        --utc --universal""",
    "whoami": "",
    "nproc": "--all --ignore=text",
    "id": "-aGgnruzZ --group --groups --name --real --user --zero",
    "uname": "-asnrvmpio --all --kernel-name --kernel-release --machine --operating-system",
    "hostname": "-fsiIdAy --fqdn --short --ip-address --all-ip-addresses",
    "df": """-ahHiklPT -B=text -t=text -x=text --all --block-size=text --human-readable --si --inodes --local
        --output?=text --portability --total --type=text --print-type --exclude-type=text""",
    "du": """-abchkmPsSx0 -B=text -d=text -t=text --all --apparent-size --block-size=text --bytes --total
        --max-depth=text --human-readable --inodes --summarize --separate-dirs --threshold=text --time?=text
        --time-style=text --exclude=text --one-file-system --null""",
    "which": "-a",
    "type": "-aftpP",
    "pwd": "-LP",
    "cd": "",
}
# What they run has to be in the list, too; after their first operand there are no options of theirs.
_WRAPPERS: dict[str, str] = {
    "timeout": "-v -k=text -s=text --foreground --preserve-status --kill-after=text --signal=text --verbose",
    "command": "-v -V",
}
_ALWAYS = names("echo true false")
_FIND = names(
    """-a -and -o -or -not -daystart -depth -mount -xdev -noleaf -empty -executable -readable -writable -nogroup -nouser
    -true -false -print -print0 -prune -quit -ls -P -amin -atime -cmin -ctime -mmin -mtime -used -fstype -gid -group
    -uid -user -ilname -iname -inum -ipath -iregex -iwholename -links -lname -name -path -perm -regex -regextype -size
    -type -xtype -wholename -maxdepth -mindepth -printf -newermt -newer -anewer -cnewer -samefile"""
)
_LESS_THAN = re.compile(r"-[0-9]+[A-Za-z]?")
# Asked for their version they do nothing else. Not cargo and go, which run the toolchain that a project names, nor
# yarn and pnpm, which run the release of themselves that it names.
_TELL = names(
    """bash python python2 python3 pypy pypy3 python3.10 python3.11 python3.12 python3.13 python3.14 node nodejs perl
    ruby php git npm npx pip pip3 make gmake cmake ninja docker podman gh gcc g++ cc c++ clang clang++"""
)
_SED = grammar(
    "-nErsuz -e=text --quiet --silent --expression=text --regexp-extended", "text", instead="-e --expression"
)
_WHERE = r"(?:[0-9]+|\$|/(?:[^/\\\[\n]|\\[^\n])+/)"
_PRINTING = re.compile(
    rf"\s*(?:{_WHERE}(?:,{_WHERE})?!?)?[p=q](?:[;\n]\s*(?:{_WHERE}(?:,{_WHERE})?!?)?[p=q])*\s*", re.A
)
# No conversion but those of words and numbers; others compute, set variables or read their word as a format.
_PLAIN_FORMAT = re.compile(r"(?:[^%]|%%|%-?[0-9]*(?:\.[0-9]+)?[sd])*")
_JQ = grammar(
    """-rjascCMSe --tab --indent=text --slurp --compact-output --raw-output --join-output --ascii-output --sort-keys
    --color-output --monochrome-output --exit-status"""
)
_PART = r"(?:(?:\.(?:[A-Za-z_][A-Za-z0-9_]*|\[[0-9]*\])(?:\[[0-9]*\])*)+|\.|keys|length)"
_LOOKING = re.compile(rf" *{_PART}(?: *\| *{_PART})* *")
_COMPUTED = re.compile(r"[\[$`]")

Beyond = Callable[[Words], list[int]]
"""The places of the words that are not known to be harmless."""


def _options(spec: str, *, stops: bool) -> Beyond:
    rules = grammar(spec, stops=stops)
    return lambda words: [each.at for each in scan(rules, words) if each.name and each.option is None]


def _find(words: Words) -> list[int]:
    return [
        at
        for at, word in enumerate(words[1:], 1)
        if said(word)[:1] == "-" and said(word) not in _FIND and not _LESS_THAN.fullmatch(said(word))
    ]


def _test(words: Words) -> list[int]:
    """``-v`` and ``-R`` look at a variable, and compute the subscript of its name."""
    return [at for at, word in enumerate(words) if said(word) in ("-v", "-R")]


def _printf(words: Words) -> list[int]:
    texts = [said(word) for word in words[1:]]
    plain = bool(texts) and texts[0][:1] != "-" and not any(map(unsure, words)) and _PLAIN_FORMAT.fullmatch(texts[0])
    return [] if plain and not any(_COMPUTED.search(text) for text in texts[1:]) else [0]


def _sed(words: Words) -> list[int]:
    """It prints lines, and does nothing else with them."""
    found = scan(_SED, words)
    given = {each.name for each in found}
    scripts = [each for each in found if each.name in _SED.instead] or [each for each in found if not each.name][:1]
    prints = scripts and all(_PRINTING.fullmatch(each.text) for each in scripts)
    if prints and given & {"-n", "--quiet", "--silent"} and all(each.option for each in found if each.name):
        return []
    return [0]


def _jq(words: Words) -> list[int]:
    """It goes down to a part of its input, and does not look elsewhere."""
    found = scan(_JQ, words)
    first = next((each.text for each in found if not each.name), "")
    return [] if _LOOKING.fullmatch(first) and all(each.option for each in found if each.name) else [0]


def _tells(words: Words) -> bool:
    return [said(word) for word in words[1:]] == ["--version"]


def _version(words: Words) -> list[int]:
    return [] if _tells(words) else [0]


_BEYOND: dict[str, Beyond] = {
    **{name: _options(spec, stops=False) for called, spec in _OPTIONS.items() for name in called.split()},
    **{name: _options(spec, stops=True) for name, spec in _WRAPPERS.items()},
    **dict.fromkeys(_TELL, _version),
    **dict.fromkeys(_ALWAYS, lambda words: []),
    **dict.fromkeys(("test", "["), _test),
    "find": _find,
    # Its table says which of its commands only look. What a repository's own settings make it run is asked about
    # where there is no rule (subjects.hidden); plan mode lets it look.
    "git": lambda words: [],
    "printf": _printf,
    "sed": _sed,
    "jq": _jq,
}


def unasked(name: str, program: Program) -> Program:
    """The program as it may run without a rule: ``quiet`` only if it is in the list, and every word that is not known
    to be harmless is a use. Whoever grants the program grants these."""
    beyond = _BEYOND.get(name)
    if beyond is None:
        return replace(program, quiet=False)

    def read(words: Words) -> list[Use]:
        if name in _TELL and _tells(words):
            return []
        why = "it is not known to be harmless without a rule"
        return [*(Use("alter", "", at, at, why, meant=True) for at in beyond(words)), *program.read(words)]

    return replace(program, read=read, quiet=True)
