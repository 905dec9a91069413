"""What a grant for a program that reads or writes files leaves out: one line for every way in.

The lists are written by hand, not taken from the table.
"""

import pytest

from tests.shell.shell_kit import cases, granted, judged

LEFT_OUT = r"""
find:*             ⇒ find . -delete
                   ⇒ find . -execdir pwn {} +
                   ⇒ find . -ok pwn ;
                   ⇒ find . -fprintf out.txt %p
                   ⇒ find . -fprint0 out
                   ⇒ find -Ofast . -name x
                   ⇒ find ~ -name x
                   ⇒ find .. -name x
                   ⇒ find . -files0-from /etc/passwd
                   ⇒ find . -newer /etc/passwd
                   ⇒ find . *
                   ⇒ find . -name x -unknownthing
rg:*               ⇒ rg --pre=./x hello
                   ⇒ rg --pre ./x hello
                   ⇒ rg --hostname-bin=./x hello
                   ⇒ rg -f /etc/passwd x
                   ⇒ rg hello ~/x
                   ⇒ rg hello *
                   ⇒ rg -nz hello
grep:*             ⇒ grep -f /etc/passwd a.txt
                   ⇒ grep x ~/.ssh/id_rsa
                   ⇒ grep -r x /
                   ⇒ grep --file=/etc/passwd a
sed:*              ⇒ sed -f evil.sed a.txt
                   ⇒ sed --file=evil.sed a.txt
                   ⇒ sed -e 1e a.txt
                   ⇒ sed 's/x/y/w out.txt' a.txt
                   ⇒ sed 's/x/y/gew out.txt' a.txt
                   ⇒ sed -n 'R /etc/passwd' a.txt
                   ⇒ sed p /etc/passwd
                   ⇒ sed -n -i p a.txt
                   ⇒ sed -s -i.bak p a.txt
                   ⇒ sed --in-place p a.txt
                   ⇒ sed --in-pl p a.txt
                   ⇒ sed -n '/a/{w out
                   ⇒ sed -n '$!{e pwn' a
                   ⇒ sed 's#a#b#;e pwn' a
                   ⇒ sed '1!e pwn' a
                   ⇒ sed -E 's|a|b|e' a
sed -n:*           ⇒ sed -n 1p -e 'e pwn' a
sed:*              ⇒ sed *
awk:*              ⇒ awk 'BEGIN{system("pwn")}'
                   ⇒ awk 'BEGIN{"pwn" | getline x}'
                   ⇒ awk -i inplace '{print}' a.txt
                   ⇒ awk -l evil 'BEGIN{}'
                   ⇒ awk -v x=1 -f e.awk
                   ⇒ awk '{print >> "out"}' a
                   ⇒ awk '{printf "x" > "out"}' a
                   ⇒ awk '{print}' /etc/passwd
                   ⇒ awk 'BEGIN{print ENVIRON["TOKEN"]}'
                   ⇒ awk '@load "x"; BEGIN{}'
                   ⇒ awk '@include "x"'
                   ⇒ awk 'BEGIN{while(("pwn") | getline) print}'
                   ⇒ awk 'BEGIN { if (1) /"/; print > "f" /"/ }'
                   ⇒ awk -o out 'BEGIN{}'
                   ⇒ awk --dump-variables=x 'BEGIN{}'
                   ⇒ awk -E e.awk
sort:*             ⇒ sort --compress-program=pwn a.txt
                   ⇒ sort -uo out.txt a.txt
                   ⇒ sort -oout.txt a.txt
                   ⇒ sort a.txt -o out
                   ⇒ sort --outp=x a
                   ⇒ sort --temporary-directory=/root a
                   ⇒ sort *
                   ⇒ sort --random-source=/etc/passwd a
tar:*              ⇒ tar xf a.tar --to-command=pwn
                   ⇒ tar -cf x.tar -F pwn a
                   ⇒ tar -xf x.tar -C /
                   ⇒ tar xf x.tar -C ..
                   ⇒ tar cf x.tar -T list
                   ⇒ tar cfI x.tar pwn a.txt
                   ⇒ tar xf h:/x
                   ⇒ tar cf x.tar --rsh-command=pwn a
                   ⇒ tar cf x.tar --info-script=pwn a
                   ⇒ tar --checkpoint-action exec=pwn -cf x a
                   ⇒ tar cf x.tar *
                   ⇒ tar -P -xf a.tar
man:*              ⇒ man -Ppwn ls
                   ⇒ man -H pwn
                   ⇒ man -X ls
                   ⇒ man -l /etc/passwd
                   ⇒ man -C evil ls
                   ⇒ man -l evil.1
                   ⇒ man ./evil.1
                   ⇒ man -u ls
fd:*               ⇒ fd x -x pwn
                   ⇒ fd --exec pwn
                   ⇒ fd -X pwn
                   ⇒ fd x /etc
                   ⇒ fd -Hx pwn
                   ⇒ fd --exec=pwn
                   ⇒ fd -x
nm:*               ⇒ nm @opts
size:*             ⇒ size @opts
readelf:*          ⇒ readelf @opts
strings:*          ⇒ strings @opts
tree:*             ⇒ tree -o out.txt
                   ⇒ tree -H . -R -L 1
                   ⇒ tree /
xxd:*              ⇒ xxd a.txt out.bin
                   ⇒ xxd /etc/passwd
iconv:*            ⇒ iconv --output=x a
split:*            ⇒ split a.txt /tmp/x
file:*             ⇒ file -m /etc/passwd x
                   ⇒ file -C
                   ⇒ file -f /etc/passwd
                   ⇒ file -z x
jq:*               ⇒ jq -L lib . a.json
                   ⇒ jq env a.json
                   ⇒ jq -n env.TOKEN
                   ⇒ jq --from-file x a
                   ⇒ jq . /etc/passwd
                   ⇒ jq --slurpfile a /etc/passwd .
                   ⇒ jq --rawfile a /etc/passwd .
                   ⇒ jq -n 'import "x" as y; .'
                   ⇒ jq -rf x.jq a
yq:*               ⇒ yq -i .a=1 x.yml
                   ⇒ yq -s .a x.yml
                   ⇒ yq 'load("x")' a.yml
                   ⇒ yq 'env(TOKEN)' a
tee:*              ⇒ tee out.txt
                   ⇒ tee -a /etc/x
dd:*               ⇒ dd if=a of=b
                   ⇒ dd if=/dev/zero of=/dev/null
zip:*              ⇒ zip x.zip a.txt -T --unzip-command=pwn
                   ⇒ zip x.zip /etc/passwd
                   ⇒ zip -rTT pwn x.zip a
unzip:*            ⇒ unzip x.zip -d /
less:*             ⇒ less +!pwn a.txt
                   ⇒ less -o out a.txt
                   ⇒ less -p x a.txt
                   ⇒ less /etc/passwd
vim:*              ⇒ vim -c '!pwn' a.txt
                   ⇒ vim +!pwn
                   ⇒ vim -S evil.vim
nano:*             ⇒ nano --rcfile=x a
ed:*               ⇒ ed a.txt
sqlite3:*          ⇒ sqlite3 a.db '.system pwn'
                   ⇒ sqlite3 a.db '.output x'
                   ⇒ sqlite3 a.db
                   ⇒ sqlite3 -init x a.db 'select 1'
                   ⇒ sqlite3 a.db "select writefile('x','y')"
                   ⇒ sqlite3 a.db "ATTACH '/etc/x' AS y"
                   ⇒ sqlite3 -cmd '.shell pwn' a.db 'select 1'
                   ⇒ sqlite3 /etc/a.db 'select 1'
psql:*             ⇒ psql -c '\! pwn'
                   ⇒ psql -f x.sql
                   ⇒ psql -c "COPY x TO PROGRAM 'pwn'"
                   ⇒ psql -o x -c 'select 1'
cat:*              ⇒ cat ~/.ssh/id_rsa
                   ⇒ cat /etc/passwd
                   ⇒ cat ../x
                   ⇒ cat a/../../x
                   ⇒ cat .*/x
ls:*               ⇒ ls /
                   ⇒ ls ~
head:*             ⇒ head /etc/passwd
tail:*             ⇒ tail -f /var/log/x
wc:*               ⇒ wc --files0-from=/x
diff:*             ⇒ diff a /etc/passwd
                   ⇒ diff --paginate a b
uniq:*             ⇒ uniq a out
shuf:*             ⇒ shuf -o x a
cp:*               ⇒ cp a ~/.bashrc
                   ⇒ cp /etc/passwd a
                   ⇒ cp -t /x a
mv:*               ⇒ mv a ../x
rm:*               ⇒ rm -rf /
                   ⇒ rm -rf ..
                   ⇒ rm ~/x
ln:*               ⇒ ln -s /etc/passwd x
chmod:*            ⇒ chmod 777 /x
touch:*            ⇒ touch ~/x
mkdir:*            ⇒ mkdir /x
openssl:*          ⇒ openssl enc -out x
                   ⇒ openssl req -config x
gpg:*              ⇒ gpg -o x -d y
tar:*              ⇒ tar c0f x.tar a
"""


@pytest.mark.parametrize(("rules", "command"), cases(LEFT_OUT), ids=lambda each: each)
def test_a_grant_leaves_out_what_runs_writes_loads_or_leads_out(rules: str, command: str) -> None:
    assert not granted(rules, command), judged(rules, command)
