"""Rows of programs that read files and print text.

The rows omit options that follow links, read file names from a file, or print the environment. A call with such an
option needs the user's approval, even if a rule covers the program.
"""

from itertools import pairwise
from posixpath import join

from callgate.shell.command import names
from callgate.shell.programs.program_arguments import Argument, Invocation, loose
from callgate.shell.programs.uses import Use, Words, text_of, unsure

READING = """
ls | read | -aAbBcCdfFgGhiklmnNopqQrRsStuUvxXZ1 -I= -T= -w= --all --almost-all --block-size= --color?= --directory
    --classify?= --file-type --format= --full-time --group-directories-first --human-readable --hide= --inode --ignore=
    --numeric-uid-gid --reverse --recursive --size --sort= --time= --time-style= --width= | read_only safe_options
cat | read | -AbeEnstTuv --show-all --number-nonblank --show-ends --number --squeeze-blank | read_only safe_options
head | read | -qvz -c= -n= -# --bytes= --lines= --quiet --silent --verbose | read_only safe_options
tail | read | -fFqvz -c= -n= -s= -# --bytes= --lines= --follow?= --quiet --silent --retry | read_only safe_options
wc | read | -cmlLw --bytes --chars --lines --max-line-length --words --total= | read_only safe_options
grep,egrep,fgrep | text read | -abcEFGHhiIlLnoPqrsTUvwxyzZ -e= -f=read -m= -A= -B= -C= -# --extended-regexp
    --fixed-strings --basic-regexp --perl-regexp --regexp= --file=read --ignore-case --word-regexp --line-regexp
    --null-data --no-messages --invert-match --max-count= --byte-offset --line-number --line-buffered --with-filename
    --no-filename --label= --only-matching --quiet --silent --binary-files= --text --recursive --include= --exclude=
    --exclude-from=read --exclude-dir= --files-without-match --files-with-matches --count --null --after-context=
    --before-context= --context= --color?= --colour?= | read_only safe_options replaces_first=-e,-f,--regexp,--file
    recursive=-r,-R,--recursive,--dereference-recursive
rg | text read | -abcFhHiIlnNopPqsSuUvwx0. -e= -f=read -g= -t= -T= -A= -B= -C= -m= -M= -d= -E= -j= -r= --after-context=
    --before-context= --context= --case-sensitive --color= --colors= --column --count --count-matches --encoding=
    --engine= --file=read --files --files-with-matches --files-without-match --fixed-strings --glob= --heading
    --no-heading --hidden --iglob= --ignore-case --invert-match --json --line-number --no-line-number --line-regexp
    --max-columns= --max-count= --max-depth= --max-filesize= --multiline --multiline-dotall --no-config --no-ignore
    --no-ignore-vcs --no-messages --null --only-matching --passthru --pcre2 --pretty --quiet --regexp= --replace=
    --smart-case --sort= --sortr= --stats --text --threads= --trim --type= --type-add= --type-list --type-not=
    --unrestricted --vimgrep --with-filename --no-filename --word-regexp | read_only
    replaces_first=-e,-f,--regexp,--file,--files,--type-list recursive=*
find | | | read_only no_prefix recursive=argv parser=find
stat | read | -ft -c= --file-system --format= --printf= --terse | read_only safe_options
file | read | -bhikNn0 -F= --brief --no-dereference --mime --mime-type --mime-encoding | read_only
diff | flat | -abBcdeEinNpqstTuwyZ -U= -C= -F= -I= -L= -W= -# --brief --report-identical-files --context?= --unified?=
    --side-by-side --width= --left-column --suppress-common-lines --show-c-function --label= --ignore-case
    --ignore-trailing-space --ignore-space-change --ignore-all-space --ignore-blank-lines --ignore-matching-lines=
    --text --strip-trailing-cr --minimal --color?= | read_only recursive=-r,--recursive
comm | read | -123z --check-order --nocheck-order --output-delimiter= --total | read_only
sort | read | -bcCdfghimMnrRsuVz -k= -t= --ignore-leading-blanks --dictionary-order --ignore-case --general-numeric-sort
    --month-sort --human-numeric-sort --numeric-sort --random-sort --reverse --sort= --version-sort --check?= --key=
    --merge --stable --field-separator= --unique --zero-terminated -o=file --output=file | read_only
uniq | read write | -cdDiuz -f= -s= -w= --count --repeated --skip-fields= --ignore-case --skip-chars= --unique |
    read_only
cut | read | -nsz -b= -c= -d= -f= --bytes= --characters= --delimiter= --fields= --complement --only-delimited |
    read_only safe_options
tr | text | -cCdst --complement --delete --squeeze-repeats --truncate-set1 | read_only
tac | read | -br -s= --before --regex --separator= | read_only
strings | word | -afow -n= -t= -e= -# --all --bytes= --radix= --encoding= | read_only argument_files
sha256sum,md5sum,sha1sum,sha512sum | read | -btz --binary --text --tag --zero | read_only safe_options
basename,dirname | text | -az -s= --multiple --suffix= --zero | read_only safe_options
realpath,readlink | read | -efLmnPqsvz --canonicalize --canonicalize-existing --canonicalize-missing --relative-to=
    --relative-base= | read_only safe_options
date | time-format | -uR -d= -r=read -I?= -s=alter --date= --iso-8601?= --rfc-email --rfc-3339= --utc --universal
    --set=alter | read_only
id,whoami,uname,hostname,uptime,nproc | | -aGgnruzsvmpiofI --group --groups --name --real --user --all --kernel-name
    --kernel-release --machine --operating-system --fqdn --short --ip-address --pretty --since | read_only
df | read | -ahHiklPT -B= -t= -x= --all --human-readable --si --inodes --local --output?= | read_only
du | read | -abchkmPsSx0 -B= -d= -t= --all --apparent-size --block-size= --bytes --total --max-depth= --human-readable
    --inodes --summarize --separate-dirs --threshold= --time?= --exclude= --one-file-system --null | read_only
    safe_options
which | text | -a | read_only
sleep,seq | text | -w -s= -# | read_only
tree | read | -adfixCnAqNQpsugDhFvtrcUSJ -L= -I= -P= --gitignore --dirsfirst --filesfirst --prune --noreport --inodes
    --device --du --si --ignore-case --matchdirs --charset= --filelimit= --timefmt= --sort?= | read_only separate_value
ps | processes | -AadefFlHjLmNTwyZ -o=process-format -p= -C= -u= -U= -t= -g= --sort= --pid= --ppid=
    --format=process-format --forest --user= --no-headers --cols= | read_only
jq | filter read | -nrjascCMSeR --tab --indent= --seq --stream --unbuffered --slurp --raw-input --null-input
    --compact-output --raw-output --join-output --ascii-output --sort-keys --color-output --monochrome-output
    --exit-status --arg== --argjson== | read_only parser=jq
sed | text read | -nErsuz -e= -l= --quiet --silent --expression= --regexp-extended --separate --unbuffered --null-data
    --line-length= --posix --debug --sandbox -i?=place --in-place?=place -f=load --file=load | read_only no_prefix
    parser=sed
awk,gawk,mawk,nawk | text read | -F= -v= -e= --source= --assign= --field-separator= --posix --traditional --sandbox
    --csv | read_only options_first no_prefix parser=awk
"""


def jq(call: Invocation) -> list[Use]:
    """Return the effects of ``jq``. A filter that the shell would expand is not covered."""
    filters = [each for each in call.operands[:1] if unsure(call.words[each.on])]
    return call.uses() + [each.beyond("unknown", "the shell expands a part of the filter") for each in filters]


_ALONE = names(
    """-a -and -o -or -not -daystart -depth -mount -xdev -noleaf -empty -executable -readable -writable -nogroup
    -nouser -true -false -print -print0 -prune -quit -ls -P"""
)
_WITH_TEXT = names(
    """-amin -atime -cmin -ctime -mmin -mtime -used -fstype -gid -group -uid -user -ilname -iname -inum -ipath -iregex
    -iwholename -links -lname -name -path -perm -regex -regextype -size -type -xtype -wholename -maxdepth -mindepth
    -printf -newermt"""
)
_WITH_PATH = frozenset(("-newer", "-anewer", "-cnewer", "-samefile"))
_RUNS = frozenset(("-exec", "-execdir", "-ok", "-okdir"))
_WRITES = {"-fprint": 1, "-fprint0": 1, "-fls": 1, "-fprintf": 2}
_REMOVERS = frozenset(("rm", "unlink", "shred", "rmdir", "trash", "trash-put", "sudo", "doas"))
_BY_NAME = ("-name", "-iname", "-path", "-ipath", "-wholename", "-iwholename")
_WIDER = frozenset(("!", "-not", "-o", "-or", ","))
_LINKS = frozenset(("-H", "-L", "-P"))


def find(call: Invocation) -> list[Use]:
    words = call.words
    uses, at, starts = loose(words, call.start), call.start, True
    while at < len(words):
        text = text_of(words[at])
        after = text_of(words[at + 1]) if at + 1 < len(words) else ""
        alone, valued = Argument(text, text, at, at), Argument(text, after, at, at + 1)
        starts = starts and (text in _LINKS or text == "-D" or text[:2] == "-O" or text[:1] not in ("-", "(", "!"))
        if text in _RUNS:
            uses.append(valued.beyond("argv", f"{text} runs another command", ""))
            if after.rpartition("/")[2] in _REMOVERS:
                uses += [valued.beyond("remove", f"{text} removes files", path) for path in _removed(words[:at])]
            while at < len(words) and text_of(words[at]) not in (";", "+"):
                at += 1
        elif text in _WRITES:
            uses.append(valued.beyond("write", f"{text} writes a file", target=True))
            at += _WRITES[text]
        elif text == "-delete":
            uses += [alone.beyond("remove", "-delete removes files", path) for path in _removed(words[:at])]
        elif text in _WITH_PATH:
            uses.append(valued.included("read"))
            at += 1
        elif text in _WITH_TEXT:
            at += 1
        elif starts and text[:1] != "-":
            uses.append(alone.included("read"))
        elif text not in _ALONE and text not in ("(", ")", "!", ",", "--"):
            uses.append(alone.beyond("unknown", f"{text} is not known to be harmless"))
        at += 1
    return uses


def _removed(words: Words) -> list[str]:
    """Return the paths that ``find`` removes: everything below the start folders, or only the file that a test such
    as ``-name`` names."""
    texts = [text_of(word) for word in words[1:]]
    first = next((at for at, text in enumerate(texts) if text[:1] in tuple("-(!") and text not in _LINKS), len(texts))
    starts = [text for text in texts[:first] if text[:1] != "-"] or ["."]
    asked = dict(pairwise(texts))
    if set(texts) & _WIDER:
        return starts
    if "-empty" in texts:
        return [""]
    patterns = [asked[test].lstrip("*/") for test in _BY_NAME if test in asked]
    narrow = [pattern for pattern in patterns if set(pattern) - set("*?./[]")]
    return [join(start, name) for start in starts for name in narrow[:1]] or starts
