"""What a grant for a wrapper, the shell or the system leaves out, and what no grant covers: one line for every way in.

The lists are written by hand, not taken from the table.
"""

import pytest

from tests.shell.shell_kit import cases, granted, judged

LEFT_OUT = r"""
xargs:*            ⇒ xargs -a a.txt pwn
jobs:*             ⇒ jobs -x pwn
                   ⇒ jobs -lx pwn
date:*             ⇒ date -s tomorrow
                   ⇒ date --set=x
                   ⇒ date 01010101
                   ⇒ date -f a --set x
env:*              ⇒ env
                   ⇒ env pwn
                   ⇒ env -S pwn
                   ⇒ env X=1 git status
sudo:*             ⇒ sudo ls
timeout:*          ⇒ timeout 5 pwn
nohup:*            ⇒ nohup pwn
nice:*             ⇒ nice pwn
watch:*            ⇒ watch ls
watch ls:*         ⇒ watch ls ';' pwn
time:*             ⇒ time pwn
command:*          ⇒ command pwn
exec:*             ⇒ exec pwn
eval:*             ⇒ eval ls
source:*           ⇒ source x
.:*                ⇒ . x
trap:*             ⇒ trap pwn EXIT
alias:*            ⇒ alias ls=pwn
export:*           ⇒ export PATH=x
declare:*          ⇒ declare -x A=b
unset:*            ⇒ unset PATH
printf:*           ⇒ printf -v PATH x
                   ⇒ printf abc%Ln PATH
                   ⇒ printf abc%-5hhn PATH
                   ⇒ printf %%%n PATH
                   ⇒ printf -v 'a[$(pwn)]' x
read:*             ⇒ read x
mapfile:*          ⇒ mapfile -C pwn x
hash:*             ⇒ hash -p /x git
enable:*           ⇒ enable -f x y
bind:*             ⇒ bind x
set:*              ⇒ set -x
test:*             ⇒ test -f /etc/passwd
[:*                ⇒ [ -v 'a[$(pwn)]' ]
bash:*             ⇒ bash -c pwn
                   ⇒ bash
                   ⇒ bash -s
                   ⇒ bash /etc/x.sh
                   ⇒ bash --rcfile x -c ls
sh:*               ⇒ sh -ic pwn
hostname:*         ⇒ hostname evil
ps:*               ⇒ ps auxe
                   ⇒ ps e
sysctl:*           ⇒ sysctl -w a=b
* --version        ⇒ node --version
*                  ⇒ ls
npm run *          ⇒ npm run a; pwn
git * main         ⇒ git -C x log main
ls:*               ⇒ LD_PRELOAD=x ls
                   ⇒ PATH=x ls
                   ⇒ LANG=$(x) ls
                   ⇒ LC_ALL=/x ls
                   ⇒ x=1; ls
echo:*             ⇒ echo x > out
                   ⇒ echo x > ~/y
                   ⇒ echo x >& out
                   ⇒ echo x <> out
cat:*              ⇒ cat < /etc/passwd
                   ⇒ cat < ~/x
make test:*        ⇒ cd evil && make test
cat:*              ⇒ cd /etc && cat passwd
                   ⇒ cd && cat x
                   ⇒ cd - && cat x
                   ⇒ cd ~ && cat x
                   ⇒ cd *; cat x
echo:*             ⇒ cd .claude && echo x > settings.json
cd:* | tee:*       ⇒ cd x && tee y
cd:* | git log:*   ⇒ cd x && git log
cd:* | rm:*        ⇒ cd x && rm y
ls:*               ⇒ cd src
xargs ls:* | echo:* ⇒ xargs rg foo
xargs rg:*         ⇒ xargs rg foo
"""


@pytest.mark.parametrize(("rules", "command"), cases(LEFT_OUT), ids=lambda each: each)
def test_a_grant_leaves_out_what_runs_writes_loads_or_leads_out(rules: str, command: str) -> None:
    assert not granted(rules, command), judged(rules, command)
