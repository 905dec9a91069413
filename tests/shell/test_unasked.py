"""What runs without any rule is a short list; here is what is in it, and what is near it and is not."""

import pytest

from callgate.shell.analysis import analyse
from callgate.shell.effects import effects_of
from tests.shell.shell_kit import granted

FREE = r"""
ls -laR src
cat -n a.txt
head -5 a.txt
tail -n 5 -f a.txt
wc -l a.txt
grep -rn x src
grep -rnE --include='*.py' -e x .
rg -n -g '*.py' x src
stat -c %s a.txt
file -b a.txt
diff -u a.txt b.txt
sort -u -k 2 a.txt
uniq -c a.txt
cut -d: -f1 a.txt
xxd -l 16 a.txt
sha256sum a.txt
date +%F
date -u -d yesterday
hostname -f
du -sh src
df -h
id -un
uname -a
type -a git
which -a git
realpath -e a.txt
pwd -P
cd src
find . -name '*.py' -type f -mtime -7 -size -5k -not -path './x/*'
find . -maxdepth 2 -newer a.txt -print
test -f a.txt
[ -d src ]
printf '%s\n' x
printf '%-10s|%5.2s|%d%%\n' a b 3
sed -n 5p a.txt
sed -n '1,5p;10q' a.txt
sed -n '/def f/,/^$/p' a.txt
sed -n -e '$=' a.txt
sed --quiet -E '/a\/b/!p' a.txt
jq . a.json
jq -r '.a[0].b_c | keys' a.json
jq '.[] | .a[] | length' a.json
timeout -s KILL 5 ls
command -v git
python3 --version
node --version
bash --version
git --version
git status
git log
npm --version
"""
ASKED = r"""
ls -LR .
ls --dereference
tail --pid=1 a.txt
wc --files0-from=list
grep -R x .
grep --dereference-recursive x .
grep -d recurse x .
rg -L x
rg --follow x
rg -z x
rg --pre=x y
stat -L a
file -f list
file -z a
diff -r a b
sort --files0-from=list
sort --compress-program=x a
sort -T x a
sort -o x a
uniq a b
xxd -r a
xxd a b
hexdump -f a b
sha256sum -c list
md5sum --check list
date -f a
date -s x
hostname x
du --files0-from=list
du -L x
find -L . -name x
find . -follow
find -files0-from list
find . -exec ls {} +
find . -exec
find . -delete
find . -perm -u+w
test -v x
[ -v x ]
[ -R x ]
printf
printf -- %s x
printf -v x y
printf %b x
printf %q x
printf %n x
printf abc%Ln PATH
printf '%(%F)T'
printf %*d 3 4
printf %d 'a[0]'
sed 5p a.txt
sed -n s/a/b/p a.txt
sed -n 'w x' a.txt
sed -n '1e ls' a.txt
sed -n -e p -e d a.txt
sed -n '/[/]p/' a.txt
sed -ni p a.txt
sed -n --debug p a.txt
sed -n
jq env a.json
jq ..env a.json
jq '.a | env' a.json
jq '.a + 1' a.json
jq -n '$ENV'
jq --arg a b . a.json
jq
timeout 5 awk 1 a
timeout --unknown 5 ls
command -p ls
python3 -V
python3 -v
python3 --version -c x
python3 --version x.py
node -v
lua --version
awk 1 a
yq . a
man ls
man -u ls
tree
nm a
strings a
readelf a
jobs
jobs -x pwn
less a
fd x
git -c a=b --version
ionice -c 3 -p 1
nice ls
time ls
tar tf a.tar
sleep 1
seq 3
base64 a
ps
pushd x
cd -P x
cd
"""


@pytest.mark.parametrize("command", FREE.strip().splitlines())
def test_a_reader_with_harmless_options_needs_no_rule(command: str) -> None:
    assert effects_of(analyse(command)) == "none"


@pytest.mark.parametrize("command", ASKED.strip().splitlines())
def test_whatever_is_not_in_the_list_is_asked_about(command: str) -> None:
    assert effects_of(analyse(command)) == "mutating"


@pytest.mark.parametrize(
    "command", ["grep -R x .", "sha256sum -c list", "ls -LR .", "sort --files0-from=list", "awk 1 a"]
)
def test_a_rule_for_the_program_still_covers_what_it_is_for(command: str) -> None:
    assert granted(f"{command.partition(' ')[0]}:*", command)
