"""Programs that read files and print text.

No entry here has an option that follows links on the way, takes names of files from a file, or packs the environment
into the output: such an option is not listed, so it asks, with a rule as without one.
"""

from callgate.shell.programs.program_arguments import Invocation
from callgate.shell.programs.uses import Use, unsure

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
find | | | read_only no_prefix recursive=argv
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
strings | word | -afow -n= -t= -e= -# --all --bytes= --radix= --encoding= | read_only
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
ps | processes | -AadefFlHjLmNTwyZ -o= -p= -C= -u= -U= -t= -g= --sort= --pid= --ppid= --format= --forest --user=
    --no-headers --cols= | read_only
jq | filter read | -nrjascCMSeR --tab --indent= --seq --stream --unbuffered --slurp --raw-input --null-input
    --compact-output --raw-output --join-output --ascii-output --sort-keys --color-output --monochrome-output
    --exit-status --arg== --argjson== | read_only
sed | text read | -nErsuz -e= -l= --quiet --silent --expression= --regexp-extended --separate --unbuffered --null-data
    --line-length= --posix --debug --sandbox -i?=place --in-place?=place -f=load --file=load | read_only no_prefix
awk,gawk,mawk,nawk | text read | -F= -v= -e= --source= --assign= --field-separator= --posix --traditional --sandbox
    --csv | read_only options_first no_prefix
"""


def jq(call: Invocation) -> list[Use]:
    """The shell must not fill in the filter."""
    filters = [each for each in call.operands[:1] if unsure(call.words[each.on])]
    return call.uses() + [each.beyond("unknown", "the shell fills in the filter") for each in filters]
