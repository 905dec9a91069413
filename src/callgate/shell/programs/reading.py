"""Programs that read files and print text.

No entry here has an option that follows links on the way, takes names of files from a file, or packs the environment
into the output: such an option is not listed, so it asks, with a rule as without one.
"""

import re

from callgate.shell.programs.awk import awk
from callgate.shell.programs.entries import Entry, Found, grammar_for, loose, scan, unknown, uses_in
from callgate.shell.programs.find import fd, find
from callgate.shell.programs.sed import SED_OPTIONS, sed
from callgate.shell.programs.uses import Use, Words, text_of, unsure

_GREP = """-abcEFGHhiIlLnoPqrsTUvwxyzZ -e= -f=read -m= -A= -B= -C= -# --extended-regexp --fixed-strings --basic-regexp
    --perl-regexp --regexp= --file=read --ignore-case --no-ignore-case --word-regexp --line-regexp --null-data
    --no-messages --invert-match --max-count= --byte-offset --line-number --line-buffered --with-filename
    --no-filename --label= --only-matching --quiet --silent --binary-files= --text --recursive --include= --exclude=
    --exclude-from=read --exclude-dir= --files-without-match --files-with-matches --count --initial-tab --null
    --after-context= --before-context= --context= --color?= --colour?="""
_RG = """-abcFhHiIlnNopPqsSuUvwx0. -e= -f=read -g= -t= -T= -A= -B= -C= -m= -M= -d= -E= -j= -r= --after-context=
    --before-context= --context= --binary --byte-offset --case-sensitive --color= --colors= --column
    --context-separator= --count --count-matches --crlf --encoding= --engine= --file=read --files
    --files-with-matches --files-without-match --fixed-strings --glob= --glob-case-insensitive --heading --no-heading
    --hidden --no-hidden --iglob= --ignore-case --include-zero --invert-match --json --line-buffered --line-number
    --no-line-number --line-regexp --max-columns= --max-columns-preview --max-count= --max-depth= --maxdepth=
    --max-filesize= --multiline --multiline-dotall --no-config --no-ignore --no-ignore-dot --no-ignore-parent
    --no-ignore-vcs --no-messages --null --null-data --one-file-system --only-matching --passthru --pcre2 --pretty
    --quiet --regexp= --replace= --smart-case --sort= --sortr= --stats --text --threads= --trim --type= --type-add=
    --type-list --type-not= --unrestricted --vimgrep --with-filename --no-filename --word-regexp"""
_LS = """-aAbBcCdfFgGhiklmnNopqQrRsStuUvxXZ1 -I= -T= -w= --all --almost-all --author --escape --block-size=
    --ignore-backups --color?= --directory --classify?= --file-type --format= --full-time --group-directories-first
    --no-group --human-readable --si --hide= --indicator-style= --inode --ignore= --kibibytes --numeric-uid-gid
    --literal --quote-name --quoting-style= --reverse --recursive --size --sort= --time= --time-style= --tabsize=
    --width= --zero"""
_DIFF = """-abBcdeEinNpqstTuwyZ -U= -C= -F= -I= -L= -W= -# --normal --brief --report-identical-files --context?=
    --unified?= --ed --rcs --side-by-side --width= --left-column --suppress-common-lines --show-c-function
    --show-function-line= --label= --expand-tabs --initial-tab --tabsize= --ignore-case --ignore-tab-expansion
    --ignore-trailing-space --ignore-space-change --ignore-all-space --ignore-blank-lines --ignore-matching-lines=
    --text --strip-trailing-cr --minimal --color?="""
_SORT = """-bcCdfghimMnrRsuVz -k= -t= --ignore-leading-blanks --dictionary-order --ignore-case --general-numeric-sort
    --ignore-nonprinting --month-sort --human-numeric-sort --numeric-sort --random-sort --reverse --sort=
    --version-sort --check?= --key= --merge --stable --field-separator= --unique --zero-terminated -o=file
    --output=file"""
_OD = """-abcdfhilosxv -A= -j= -N= -t= -w?= -S= --address-radix= --skip-bytes= --read-bytes= --format= --width?=
    --endian= --output-duplicates"""
_DU = """-abchkmPsSx0 -B= -d= -t= --all --apparent-size --block-size= --bytes --total --max-depth= --human-readable
    --inodes --summarize --separate-dirs --threshold= --time?= --time-style= --exclude= --one-file-system --null"""
_TREE = """-adfixCnAqNQpsugDhFvtrcUSJ -L= -I= -P= --gitignore --dirsfirst --filesfirst --prune --noreport --inodes
    --device --du --si --ignore-case --matchdirs --charset= --filelimit= --timefmt= --sort?="""


def _date(entry: Entry, words: Words, start: int) -> list[Use]:
    """A word with ``+`` is a format; any other operand sets the clock."""
    grammar = grammar_for(entry)
    found = [each for each in scan(grammar, words, start) if each.name or not each.text.startswith("+")]
    return uses_in(grammar, found) + loose(words, start)


_PS_VALUED = ("-o", "-p", "-C", "-u", "-U", "-t", "--sort", "--pid", "--ppid", "--format")


def _ps(entry: Entry, words: Words, start: int) -> list[Use]:
    """In BSD style an ``e`` among the letters shows the environment, and the secrets in it."""
    uses = loose(words, start)
    for at, word in enumerate(words[start:], start):
        text = text_of(word)
        letters = text[:1] != "-" and text_of(words[at - 1]) not in _PS_VALUED
        if (letters and "e" in text) or re.fullmatch(r"-\w*E\w*", text):
            uses.append(Use(role="unknown", text=text, at=at, on=at, why="e shows the environment of processes"))
    return uses


def _lsof(entry: Entry, words: Words, start: int) -> list[Use]:
    """``-i`` with an address, and flags; other options name programs, caches and files."""
    plain = re.compile(r"-[nPtlaibw]+(?::?[\w@:.,-]*)?|(?!-)[\w:.-]*")
    return loose(words, start) + [
        unknown(Found("", text_of(word), at, at), f"{text_of(word)} is not known to be harmless")
        for at, word in enumerate(words[start:], start)
        if not plain.fullmatch(text_of(word))
    ]


# Names of jq and yq that show the environment, load modules, or end with an error of their own.
_JQ_REACHES = re.compile(
    r"\$(?:\s|#[^\n]*\n)*(?:ENV\b|__prog)|(?<![A-Za-z_])(?<!(?<!\.)\.)"
    r"(?:env|input_filename|import|include|modulemeta|get_search_list|halt_error)(?!\w)"
)
_JQ_PAIRS = ("--arg", "--argjson")


def _jq(entry: Entry, words: Words, start: int) -> list[Use]:
    """``--arg name value`` takes two words. The filter may only look at its input."""
    kept = [0]
    at, ended = start, False
    while at < len(words):
        ended = ended or text_of(words[at]) == "--"
        if text_of(words[at]) in _JQ_PAIRS and not ended:
            at += 3
        else:
            kept.append(at)
            at += 1
    grammar = grammar_for(entry)
    found = [
        Found(each.name, each.text, kept[each.at], kept[min(each.on, len(kept) - 1)], each.option)
        for each in scan(grammar, [words[at] for at in kept])
    ]
    uses = uses_in(grammar, found) + loose(words, start)
    first = next((each for each in found if not each.name), None)
    if first is not None and unsure(words[first.on]):
        uses.append(unknown(first, "the shell fills in the filter"))
    elif first is not None and (reached := _JQ_REACHES.search(first.text)):
        uses.append(Use(role="load", text="", at=first.at, on=first.on, why=f"{reached.group()} in the filter"))
    return uses


READING = (
    Entry("tokei", "read", "-fs -t= -e= -s= --files --sort= --types= --exclude= --hidden --no-ignore", free=True),
    Entry(
        "cat",
        "read",
        "-AbeEnstTuv --show-all --number-nonblank --show-ends --number --squeeze-blank",
        free=True,
        tame=True,
    ),
    Entry("ls", "read", _LS, free=True, tame=True),
    Entry("head", "read", "-qvz -c= -n= -# --bytes= --lines= --quiet --silent --verbose", free=True, tame=True),
    Entry(
        "tail",
        "read",
        "-fFqvz -c= -n= -s= -# --bytes= --lines= --follow?= --quiet --silent --retry",
        free=True,
        tame=True,
    ),
    Entry("wc", "read", "-cmlLw --bytes --chars --lines --max-line-length --words --total=", free=True, tame=True),
    Entry(
        "grep,egrep,fgrep",
        "text read",
        _GREP,
        instead="-e -f --regexp --file",
        free=True,
        tame=True,
        sweeps="-r -R --recursive --dereference-recursive",
        hidden="*",
    ),
    Entry(
        "rg",
        "text read",
        _RG,
        instead="-e -f --regexp --file --files --type-list",
        free=True,
        sweeps="*",
        hidden="-u -. --hidden --unrestricted",
    ),
    Entry("find,gfind", free=True, exactly=True, sweeps="argv", hidden="*", code=find),
    Entry("fd,fdfind", exactly=True, sweeps="argv", hidden="*", code=fd),
    Entry("stat", "read", "-ft -c= --file-system --format= --printf= --terse", free=True, tame=True),
    Entry("file", "read", "-bhikNn0 -F= --brief --no-dereference --mime --mime-type --mime-encoding", free=True),
    Entry("diff", "flat", _DIFF, free=True, sweeps="-r --recursive", hidden="*"),
    Entry("cmp", "read read text", "-bls -i= -n= --print-bytes --verbose --bytes= --quiet --silent", free=True),
    Entry("comm", "read", "-123z --check-order --nocheck-order --output-delimiter= --total", free=True),
    Entry("sort", "read", _SORT, free=True),
    Entry(
        "uniq",
        "read write",
        "-cdDiuz -f= -s= -w= --count --repeated --skip-fields= --group?= --ignore-case --skip-chars= --unique",
        free=True,
    ),
    Entry(
        "cut",
        "read",
        "-nsz -b= -c= -d= -f= --bytes= --characters= --delimiter= --fields= --complement --only-delimited",
        free=True,
        tame=True,
    ),
    Entry("tr", "text", "-cCdst --complement --delete --squeeze-repeats --truncate-set1", free=True),
    Entry("nl", "read", "-p -b= -d= -f= -h= -i= -l= -n= -s= -v= -w= --body-numbering= --number-format=", free=True),
    Entry("column", "read", "-tnx -c= -s= -o= -N= -R= --table --separator=", free=True),
    Entry("paste", "read", "-sz -d= --delimiters= --serial", free=True),
    Entry("tac", "read", "-br -s= --before --regex --separator=", free=True),
    Entry("rev", "read", free=True),
    Entry("fold", "read", "-bs -w= --bytes --spaces --width=", free=True),
    Entry("od", "read", _OD, free=True),
    Entry("hexdump,hd", "read", "-bcCdovx -n= -s=", free=True),
    Entry("xxd", "read write", "-abeEipPu -c= -g= -l= -n= -o= -s=", stops=True, free=True),
    Entry("strings", "word", "-afow -n= -t= -e= -# --all --bytes= --radix= --encoding=", free=True),
    Entry(
        "md5sum,sha1sum,sha224sum,sha256sum,sha384sum,sha512sum,b2sum,cksum",
        "read",
        "-btz --binary --text --tag --zero -a= -l= --algorithm= --length= --untagged",
        free=True,
        tame=True,
    ),
    Entry("basename,dirname", "text", "-az -s= --multiple --suffix= --zero", free=True, tame=True),
    Entry(
        "realpath,readlink",
        "read",
        "-efLmnPqsvz --canonicalize --canonicalize-existing --canonicalize-missing --relative-to= --relative-base=",
        free=True,
        tame=True,
    ),
    Entry(
        "date",
        "alter",
        "-uR -d= -r=read -I?= -s=alter --date= --iso-8601?= --rfc-email --rfc-3339= --utc --universal --set=alter",
        free=True,
        code=_date,
    ),
    Entry("whoami,groups,tty,arch,uptime", free=True),
    Entry("nproc", options="--all --ignore=", free=True),
    Entry("id", "text", "-aGgnruz --group --groups --name --real --user --zero", free=True),
    Entry("uname", options="-asnrvmpio --all --kernel-name --kernel-release --machine --operating-system", free=True),
    Entry("hostname", options="-fsiIdAy --fqdn --short --ip-address --all-ip-addresses", free=True),
    Entry("free", options="-bkmghlwt --human --mega --giga --si --total --wide", free=True),
    Entry("df", "read", "-ahHiklPT -B= -t= -x= --all --human-readable --si --inodes --local --output?=", free=True),
    Entry("du", "read", _DU, free=True, tame=True),
    Entry("which", "text", "-a", free=True),
    Entry("pwd", options="-LP", free=True),
    Entry("sleep,seq", "text", "-w -s= -#", free=True),
    Entry("echo,true,false,:", free=True, tame=True, code=lambda entry, words, start: []),
    Entry("tree", "read", _TREE, free=True),
    Entry("ps", free=True, code=_ps),
    Entry("lsof", free=True, code=_lsof),
    Entry(
        "jq",
        "text read",
        """-nrjascCMSeR --tab --indent= --seq --stream --unbuffered --slurp --raw-input --null-input --compact-output
        --raw-output --join-output --ascii-output --sort-keys --color-output --monochrome-output --exit-status""",
        free=True,
        code=_jq,
    ),
    Entry("sed,gsed", "text read", SED_OPTIONS, free=True, exactly=True, code=sed),
    Entry(
        "awk,gawk,mawk,nawk",
        "text read",
        "-F= -v= -e= --source= --assign= --field-separator= --posix --traditional --sandbox --csv",
        stops=True,
        exactly=True,
        code=awk,
    ),
)
