"""Programs that read files and print text, with the options of theirs that do more."""

from callgate.shell.programs.options import grammar, loose, program, scan, uses_in
from callgate.shell.programs.uses import WHY, Program, Use, Words, said

_GREP = """
    -abcEFGHhiIlLnoPqrRsTuUvVwxyzZ -e=text -f=read -m=text -A=text -B=text -C=text -d=text -D=text -#
    --extended-regexp --fixed-strings --basic-regexp --perl-regexp --regexp=text --file=read --ignore-case
    --no-ignore-case --word-regexp --line-regexp --null-data --no-messages --invert-match --max-count=text
    --byte-offset --line-number --line-buffered --with-filename --no-filename --label=text --only-matching --quiet
    --silent --binary-files=text --text --directories=text --devices=text --recursive --dereference-recursive
    --include=text --exclude=text --exclude-from=read --exclude-dir=text --files-without-match --files-with-matches
    --count --initial-tab --null --after-context=text --before-context=text --context=text --color?=text
    --colour?=text --binary"""
_RG = """
    -abcFhHiIlLnNopPqsSuUvVwx0. -e=text -f=read -g=text -t=text -T=text -A=text -B=text -C=text -m=text -M=text
    -d=text -E=text -j=text -r=text -z!run
    --after-context=text --before-context=text --context=text --auto-hybrid-regex --binary --block-buffered
    --byte-offset --case-sensitive --color=text --colors=text --column --context-separator=text --count
    --count-matches --crlf --debug --dfa-size-limit=text --encoding=text --engine=text --field-context-separator=text
    --field-match-separator=text --file=read --files --files-with-matches --files-without-match --fixed-strings
    --follow --glob=text --glob-case-insensitive --heading --no-heading --hidden --no-hidden --iglob=text
    --ignore-case --ignore-file=read --ignore-file-case-insensitive --include-zero --invert-match --json
    --line-buffered --line-number --no-line-number --line-regexp --max-columns=text --max-columns-preview
    --max-count=text --max-depth=text --maxdepth=text --max-filesize=text --mmap --no-mmap --multiline
    --multiline-dotall --no-config --no-ignore --no-ignore-dot --no-ignore-exclude --no-ignore-files
    --no-ignore-global --no-ignore-messages --no-ignore-parent --no-ignore-vcs --no-messages --no-pcre2-unicode
    --no-require-git --no-unicode --null --null-data --one-file-system --only-matching --path-separator=text
    --passthru --pcre2 --pcre2-version --pretty --quiet --regex-size-limit=text --regexp=text --replace=text
    --smart-case --sort=text --sortr=text --stats --stop-on-nonmatch --text --threads=text --trace --trim --type=text
    --type-add=text --type-clear=text --type-list --type-not=text --unrestricted --vimgrep --with-filename
    --no-filename --word-regexp --no-pre --no-search-zip
    --pre=run --pre-glob=text --search-zip!run --hostname-bin=run --hyperlink-format=text --generate=text"""
_LS = """
    -aAbBcCdDfFgGhHiklLmnNopqQrRsStuUvxXZ1 -I=text -T=text -w=text --all --almost-all --author --escape
    --block-size=text --ignore-backups --color?=text --directory --dired --classify?=text --file-type --format=text
    --full-time --group-directories-first --no-group --human-readable --si --dereference-command-line --hide=text
    --dereference-command-line-symlink-to-dir --hyperlink?=text --indicator-style=text --inode --ignore=text
    --kibibytes --dereference --numeric-uid-gid --literal --hide-control-chars --show-control-chars --quote-name
    --quoting-style=text --reverse --recursive --size --sort=text --time=text --time-style=text --tabsize=text
    --width=text --context --zero"""
_DIFF = """-abBcdeEilnNpqrstTuvwyZ -U=text -C=text -D=text -F=text -I=text -L=text -S=text -W=text -x=text -X=read
    -# --normal --brief --report-identical-files --context?=text --unified?=text --ed --rcs --side-by-side
    --width=text --left-column --suppress-common-lines --show-c-function --show-function-line=text --label=text
    --expand-tabs --initial-tab --tabsize=text --suppress-blank-empty --recursive --no-dereference --new-file
    --unidirectional-new-file --ignore-file-name-case --no-ignore-file-name-case --exclude=text --exclude-from=read
    --starting-file=text --from-file=read --to-file=read --ignore-case --ignore-tab-expansion
    --ignore-trailing-space --ignore-space-change --ignore-all-space --ignore-blank-lines
    --ignore-matching-lines=text --text --strip-trailing-cr --ifdef=text --line-format=text --minimal
    --horizon-lines=text --speed-large-files --color?=text --palette=text --paginate!run"""
_SORT = """
    -bcCdfghimMnrRsuVz -k=text -t=text -S=text --ignore-leading-blanks --dictionary-order --ignore-case
    --general-numeric-sort --ignore-nonprinting --month-sort --human-numeric-sort --numeric-sort --random-sort
    --random-source=read --reverse --sort=text --version-sort --batch-size=text --check?=text --debug
    --files0-from=read --key=text --merge --stable --buffer-size=text --field-separator=text --parallel=text --unique
    --zero-terminated
    -o=file --output=file -T=write --temporary-directory=write --compress-program=run"""
_SUM = """-bctwz --binary --check --text --tag --zero --ignore-missing --quiet --status --strict --warn
    -a=text -l=text --algorithm=text --length=text --untagged --base64 --raw --debug"""
_TREE = """-adflxCnAiqNQpsugDhFvtrcUSJXs -R!write -L=text -I=text -P=text -T=text --gitignore --gitfile=read --dirsfirst
    --filesfirst --prune --noreport --nolinks --inodes --device --du --si --ignore-case --matchdirs --charset=text
    --filelimit=text --timefmt=text --sort?=text --fromfile --info --infofile=read --metafirst --hintro=read
    --houtro=read -H=text -o=file"""
_LESS = """-aABcCdEfFgGiIJLmMnNqQrRsSuUwWX~ -b=text -h=text -j=text -p=run -x=text -y=text -z=text -# -D=text -P=text
    -o=file -O=file -k=load -t=read -T=read --log-file=file --LOG-FILE=file --lesskey-file=load
    --lesskey-src=load --lesskey-content=run --LINE-NUMBERS --RAW-CONTROL-CHARS --chop-long-lines
    --quit-if-one-screen --no-init --quiet"""


# Names → kinds of the operands, then the options.
_TABLE: dict[str, tuple[str, str]] = {
    "cat": (
        "read",
        """-AbeEnstTuv --show-all --number-nonblank --show-ends --number --squeeze-blank --show-tabs
        --show-nonprinting""",
    ),
    "ls dir vdir": ("read", _LS),
    "head": ("read", "-qvz -c=text -n=text -# --bytes=text --lines=text --quiet --silent --verbose --zero-terminated"),
    "tail": (
        "read",
        """-fFqvz -c=text -n=text -s=text -# --bytes=text --lines=text --follow?=text --pid=text --quiet --silent
        --retry --sleep-interval=text --verbose --zero-terminated --max-unchanged-stats=text""",
    ),
    "wc": ("read", "-cmlLw --bytes --chars --lines --max-line-length --words --files0-from=read --total=text"),
    "grep egrep fgrep": ("text read", _GREP),
    "rg": ("text read", _RG),
    "stat": ("read", "-Lft -c=text --dereference --file-system --format=text --printf=text --terse --cached=text"),
    "file": (
        "read",
        """-bchiIklLnNprsSv0d -e=text -f=read -F=text -m=read -P=text -z!run -Z!run -C!write --brief
        --checking-printout --exclude=text --exclude-quiet=text --extension --files-from=read --separator=text
        --dereference --no-dereference --mime --mime-type --mime-encoding --keep-going --list --magic-file=read
        --no-buffer --no-pad --preserve-date --parameter=text --raw --special-files --print0 --apple
        --no-sandbox!load --uncompress!run --uncompress-noreport!run --compile!write""",
    ),
    "diff": ("read", _DIFF),
    "cmp": (
        "read read text",
        "-bls -i=text -n=text --print-bytes --ignore-initial=text --verbose --bytes=text --quiet --silent",
    ),
    "comm": ("read", "-123z --check-order --nocheck-order --output-delimiter=text --total --zero-terminated"),
    "diff3": ("read", "-AeExX3imTa -L=text --diff-program=run --text --merge --label=text --strip-trailing-cr"),
    "sdiff": ("read", "-abBdEilstWZ -w=text -o=file --output=file --diff-program=run"),
    "sort": ("read", _SORT),
    "uniq": (
        "read write",
        """-cdDiuz -f=text -s=text -w=text --count --repeated --all-repeated?=text --skip-fields=text --group?=text
        --ignore-case --skip-chars=text --unique --zero-terminated --check-chars=text""",
    ),
    "cut": (
        "read",
        """-nsz -b=text -c=text -d=text -f=text --bytes=text --characters=text --delimiter=text --fields=text
        --complement --only-delimited --output-delimiter=text --zero-terminated""",
    ),
    "tr": ("text", "-cCdst --complement --delete --squeeze-repeats --truncate-set1"),
    "nl": (
        "read",
        """-p -b=text -d=text -f=text -h=text -i=text -l=text -n=text -s=text -v=text -w=text --body-numbering=text
        --number-format=text --number-width=text --line-increment=text --number-separator=text""",
    ),
    "paste": ("read", "-sz -d=text --delimiters=text --serial --zero-terminated"),
    "join": (
        "read",
        """-iz -a=text -e=text -j=text -o=text -t=text -v=text -1=text -2=text --ignore-case --header --check-order
        --nocheck-order --zero-terminated""",
    ),
    "fold": ("read", "-bcs -w=text --bytes --spaces --width=text --characters"),
    "fmt": ("read", "-cstu -p=text -w=text -g=text -# --width=text --prefix=text --split-only --uniform-spacing"),
    "expand unexpand": ("read", "-ai -t=text --initial --tabs=text --all --first-only"),
    "tac": ("read", "-br -s=text --before --regex --separator=text"),
    "rev zcat bzcat xzcat zstdcat": ("read", "-fklqv"),
    "od": (
        "read",
        """-abcdfhilosxv -A=text -j=text -N=text -t=text -w?=text -S=text --address-radix=text --skip-bytes=text
        --read-bytes=text --format=text --width?=text --strings?=text --traditional --endian=text
        --output-duplicates""",
    ),
    "hexdump hd": ("read", "-bcCdovx -e=text -n=text -s=text -f=read"),
    "xxd": ("read write", "-abeEipPu -c=text -g=text -l=text -n=text -o=text -s=text -R=text -r!write"),
    "strings": ("read", "-afowd -n=text -t=text -e=text -T=text -# --all --bytes=text --radix=text --encoding=text"),
    "base64 base32 basenc": (
        "read",
        "-di -w=text --decode --ignore-garbage --wrap=text --base64 --base32 --base64url --base16",
    ),
    "md5sum sha1sum sha224sum sha256sum sha384sum sha512sum b2sum cksum sum": (
        "read",
        """-bctwz --binary --check --text --tag --zero --ignore-missing --quiet --status --strict --warn -a=text
        -l=text --algorithm=text --length=text --untagged --base64 --raw --debug""",
    ),
    "column": (
        "read",
        """-teJLnx -c=text -s=text -o=text -N=text -R=text -T=text -H=text -l=text -W=text -E=text --table
        --separator=text --output-separator=text --table-columns=text --json --table-right=text --output-width=text
        --table-name=text --table-hide=text""",
    ),
    "iconv": (
        "read",
        """-clsf -f=text -t=text -o=file --from-code=text --to-code=text --list --silent --verbose --output=file""",
    ),
    "shuf": (
        "read",
        """-erz -i=text -n=text -o=file --echo --input-range=text --head-count=text --repeat --zero-terminated
        --random-source=read --output=file""",
    ),
    "seq factor": ("text", "-w -f=text -s=text --equal-width --format=text --separator=text -#"),
    "basename dirname": ("text", "-az -s=text --multiple --suffix=text --zero"),
    "realpath readlink": (
        "read",
        """-efLmnPqsvz --canonicalize --canonicalize-existing --canonicalize-missing --logical --physical --quiet
        --strip --no-symlinks --zero --relative-to=text --relative-base=text --no-newline --silent --verbose""",
    ),
    "whoami groups tty arch nproc logname users": ("text", "-s --all --ignore=text"),
    "id": ("text", "-aGgnruzZ --group --groups --name --real --user --zero --context"),
    "uname": ("odd", "-asnrvmpio --all --kernel-name --kernel-release --machine --operating-system"),
    "df": (
        "read",
        """-ahHiklmPTv -B=text -t=text -x=text --all --block-size=text --human-readable --si --inodes --local
        --output?=text --portability --total --type=text --print-type --exclude-type=text""",
    ),
    "du": (
        "read",
        """-abcDhHklLmPsSx0 -B=text -d=text -t=text -X=read --all --apparent-size --block-size=text --bytes --total
        --max-depth=text --human-readable --inodes --dereference --summarize --separate-dirs --threshold=text
        --time?=text --time-style=text --exclude-from=read --exclude=text --one-file-system --files0-from=read
        --null""",
    ),
    "free": ("text", "-bkmghlwtLv -s=text -c=text --human --mega --giga --si --total --wide"),
    "uptime who w last cal": ("text", "-abdHlmpqrstTuwn13yjhif -#"),
    "pgrep": ("text", "-aflnovwxciu -d=text -g=text -G=text -P=text -s=text -t=text -U=text -F=read"),
    "which whereis": ("text", "-abms"),
    "locale getconf": ("text", "-ackm --all-locales --charmaps"),
    "tree": ("read", _TREE),
    "pwd": ("text", "-LP --logical --physical"),
    "nm size readelf": ("read", "-aAgnprSsuDCWhldeV"),
    "man": (
        "text",
        """-afkwiI -u!alter -s=text -S=text -e=text -m=text -K -P=run -H?=run -X?=run -T?=run -t!run -l=load -L=text
        -M=load -C=load -r=text -R=text -p=run -E=text -d -D --all --whatis --apropos --where --path --sections=text
        --extension=text --pager=run --html?=run --gxditview?=run --troff-device?=run --troff!run
        --preprocessor=run --config-file=load --manpath=load --local-file=load --prompt=text --no-hyphenation
        --ditroff!run""",
    ),
}
_INSTEAD = {"grep egrep fgrep": "-e -f --regexp --file", "rg": "-e -f --regexp --file --files --type-list"}

_date_grammar = grammar(
    """-uR -d=text -r=read -f=read -I?=text -s=alter --date=text --debug --file=read --iso-8601?=text --rfc-email
    --resolution --rfc-3339=text --reference=read --set=alter --utc --universal""",
    "alter",
)
_less_grammar = grammar(_LESS, "read")


def _date(words: Words) -> list[Use]:
    """A word with ``+`` is a format; any other operand sets the clock."""
    found = [each for each in scan(_date_grammar, words) if each.name or not each.text.startswith("+")]
    return uses_in(_date_grammar, found) + loose(words)


def _pager(words: Words) -> list[Use]:
    """A word with ``+`` is a command for the pager, and pagers can run programs."""
    found = scan(_less_grammar, words)
    commands = [
        Use("run", each.text, each.at, each.on, "+ gives the pager a command") for each in found if _plus(each.text)
    ]
    return uses_in(_less_grammar, found) + commands + loose(words)


def _plus(text: str) -> bool:
    return text.startswith("+")


def _hostname(words: Words) -> list[Use]:
    shows = ("-f", "-s", "-i", "-I", "-d", "-A", "-y", "--fqdn", "--short", "--ip-address", "--all-ip-addresses")
    return [
        Use("alter", said(word), at, at, "sets the name of the machine")
        for at, word in enumerate(words[1:], 1)
        if said(word) not in shows
    ]


_PS_VALUED = ("-o", "-p", "-C", "-u", "-U", "-t", "--sort", "--pid", "--ppid", "--format")


def _ps(words: Words) -> list[Use]:
    """In BSD style an ``e`` among the letters shows the environment, and the secrets in it."""
    uses: list[Use] = []
    for at, word in enumerate(words[1:], 1):
        text = said(word)
        if text == "\0" or (text[:1] != "-" and "e" in text and said(words[at - 1]) not in _PS_VALUED):
            uses.append(Use("odd", text, at, at, "e shows the environment of processes"))
    return uses


_DD_TEXT = ("bs", "ibs", "obs", "cbs", "count", "skip", "seek", "status", "conv", "iflag", "oflag")


def _dd(words: Words) -> list[Use]:
    uses: list[Use] = []
    for at, word in enumerate(words[1:], 1):
        name, given, value = said(word).partition("=")
        if name == "if" and given:
            uses.append(Use("read", value, at, at, meant=True))
        elif name == "of" and given:
            uses.append(Use("write", value, at, at, "of= writes a file", target=True))
            uses.append(Use("remove", value, at, at, meant=True))
        elif name not in _DD_TEXT:
            uses.append(Use("odd", said(word), at, at, f"{said(word)} is not known to be harmless"))
    return uses


def _with_lists(program: Program) -> Program:
    """``@file`` stands for the options and files that are named in it."""

    def read(words: Words) -> list[Use]:
        lists = [(at, said(word)) for at, word in enumerate(words[1:], 1) if said(word)[:1] == "@"]
        return [
            *program.read(words),
            *(Use("load", text[1:], at, at, "@ takes options from a file") for at, text in lists),
        ]

    return Program(read)


def _with_pages(program: Program) -> Program:
    """A name with a slash is a page of the workspace, and a page takes in other files."""

    def read(words: Words) -> list[Use]:
        pages = [(at, said(word)) for at, word in enumerate(words[1:], 1) if "/" in said(word)]
        return [*program.read(words), *(Use("load", text, at, at, f"{text} {WHY['load']}") for at, text in pages)]

    return Program(read)


def nothing(words: Words) -> list[Use]:
    """Whatever the words are, they are text."""
    return []


READING: dict[str, Program] = {
    name: program(spec, *operands.split(), instead=_INSTEAD.get(called, ""))
    for called, (operands, spec) in _TABLE.items()
    for name in called.split()
} | {
    "date": Program(_date),
    "less": Program(_pager),
    "more": Program(_pager),
    "hostname": Program(_hostname),
    "ps": Program(_ps),
    "dd": Program(_dd),
    "echo": Program(nothing, tame=True),
    "true": Program(nothing, tame=True),
    "false": Program(nothing, tame=True),
    ":": Program(nothing, tame=True),
    "sleep": Program(nothing, tame=True),
    "expr": Program(nothing, tame=True),
}
READING.update({name: _with_lists(READING[name]) for name in ("nm", "size", "readelf", "strings")})
READING["man"] = _with_pages(READING["man"])
