"""What people do every day with a rule for a program: none of it asks."""

import pytest

from tests.shell.shell_kit import cases, granted, judged

EVERYDAY = r"""
git status:*       ⇒ git status -s
                   ⇒ git status --porcelain -uall
                   ⇒ git status;git status
                   ⇒ { git status; }
                   ⇒ ! git status
                   ⇒ git status &
                   ⇒ timeout 30 git status
                   ⇒ nice -n 10 git status
                   ⇒ LANG=C git status
git log:*          ⇒ git log --oneline -10
                   ⇒ git log -p -- src/a.py
                   ⇒ git log --author='A B' --since=2.weeks main..dev
                   ⇒ git log --graph --all --decorate
                   ⇒ git log -n5 --stat --format=%h
git diff:*         ⇒ git diff HEAD~1 -- src/
                   ⇒ git diff --cached --stat
                   ⇒ git diff main...HEAD --name-only
git show:*         ⇒ git show HEAD:src/b.py
                   ⇒ git show --stat abc123
git branch:*       ⇒ git branch -a
                   ⇒ git branch feature
                   ⇒ git branch --list 'x*'
git add:*          ⇒ git add -A
                   ⇒ git add src/a.py tests
git commit:*       ⇒ git commit -m x --no-verify
                   ⇒ git commit --amend --no-edit
git push:*         ⇒ git push origin main
                   ⇒ git push -u origin HEAD
                   ⇒ git push --force-with-lease
git pull:*         ⇒ git pull --rebase origin main
git fetch:*        ⇒ git fetch --all --prune
                   ⇒ git fetch origin main
git clone:*        ⇒ git clone --depth 1 https://github.com/a/b.git
                   ⇒ git clone git@github.com:a/b.git dir
git checkout:*     ⇒ git checkout -b feature/x
git switch:*       ⇒ git switch main
git restore:*      ⇒ git restore --staged a.txt
git stash:*        ⇒ git stash
                   ⇒ git stash pop
                   ⇒ git stash list
git rebase:*       ⇒ git rebase origin/main
git merge:*        ⇒ git merge --no-ff feature
git blame:*        ⇒ git blame -L 10,20 a.py
git grep:*         ⇒ git grep -n foo -- '*.py'
git ls-files:*     ⇒ git ls-files -m
git rev-parse:*    ⇒ git rev-parse --abbrev-ref HEAD
git remote:*       ⇒ git remote -v
git config:*       ⇒ git config --get user.name
                   ⇒ git config user.email
                   ⇒ git config --list
git tag:*          ⇒ git tag -l
                   ⇒ git tag v1.0 -m x
git worktree:*     ⇒ git worktree list
git reset:*        ⇒ git reset --hard HEAD~1
git cherry-pick:*  ⇒ git cherry-pick abc
git:*              ⇒ git status
                   ⇒ git push origin main
                   ⇒ git --no-pager log
git clean:*        ⇒ git clean -fd
git *              ⇒ git log --oneline
git bisect run ./test.sh ⇒ git bisect run ./test.sh
find:* | wc:*      ⇒ find . -type f -size +10k -mtime -7 | wc -l
find:*             ⇒ find src tests -maxdepth 2 -name '*.py' -o -name '*.pyi'
                   ⇒ find -O3 . -name x
                   ⇒ find . \( -name a -o -name b \) -print
                   ⇒ find . -path './x' -prune -o -print
                   ⇒ find . -regex '.*\.py' -newermt 2024-01-01
                   ⇒ find ./src -empty -ls
grep:*             ⇒ grep -rn --include='*.py' foo .
                   ⇒ grep -c foo *.txt
                   ⇒ grep -A3 -B2 foo a.txt
                   ⇒ grep -v '^#' a.txt
                   ⇒ grep -oP '\d+' a.txt
                   ⇒ grep -e a -e b a.txt
rg:*               ⇒ rg -l foo
                   ⇒ rg --files -g '*.py'
                   ⇒ rg -A3 --type py 'def x' src
                   ⇒ rg -uu --hidden foo
                   ⇒ rg foo src/*.py
                   ⇒ rg -i -C2 'a|b' --glob '!node_modules'
sed:*              ⇒ sed -n 1,5p a.txt
                   ⇒ sed 's/a/b/g' a.txt
                   ⇒ sed -e 's/a/b/' -e '/x/d' a.txt
                   ⇒ sed -E 's|a(b+)|\1|gI' a.txt
                   ⇒ sed '/^$/d;s/^ *//' a.txt
                   ⇒ sed -n '$p' a.txt
                   ⇒ sed '1i\header' a.txt
                   ⇒ sed ':a;N;$!ba;s/\n/ /g' a.txt
                   ⇒ sed -n '/a/,+3{p;q}' a.txt
                   ⇒ sed 's/[^a-z]//g;y/abc/xyz/' a.txt
                   ⇒ sed 5q a.txt
sed -i:*           ⇒ sed -i s/a/b/ a.txt
awk:*              ⇒ awk -F: '{print $1, $3}' a.txt
                   ⇒ awk 'NR==1{next} {s+=$2} END{print s/NR}' a.txt
                   ⇒ awk '$3 > 100 {print $1}' a.txt
                   ⇒ awk '/foo/ && !/bar/' a.txt
                   ⇒ awk -v n=3 'NR<=n' a.txt
                   ⇒ awk 'BEGIN{OFS=","} {print $1,$2}' a.txt
                   ⇒ awk '{printf "%s %d\n", $1, length($2)}' a.txt
                   ⇒ awk '{print ($1+$2)/2}' a.txt
                   ⇒ awk '{a[$1]++} END{for(k in a) print k, a[k]}' a.txt
sort:*             ⇒ sort -k2,2n -t, a.txt
                   ⇒ sort -rn
tar:*              ⇒ tar tf a.tar
                   ⇒ tar xzf a.tar.gz
                   ⇒ tar -czvf out.tgz src
                   ⇒ tar -xf a.tar -C build
ls:*               ⇒ ls -la src
                   ⇒ ls
cat:*              ⇒ cat a.txt | cat
                   ⇒ cat src/*.py
head:*             ⇒ head -n 20 a.txt
                   ⇒ head -5 a.txt
tail:*             ⇒ tail -n +5 a.txt
                   ⇒ tail -100f log.txt
wc:*               ⇒ wc -lw a.txt
diff:*             ⇒ diff -u a b
jq:*               ⇒ jq -r '.[].name' a.json
                   ⇒ jq --arg x 1 '.a == $x' a.json
                   ⇒ jq -n --argjson a '{"b":1}' '$a'
                   ⇒ jq '.environment' a.json
                   ⇒ jq .env a.json
make:*             ⇒ make -j4 build
                   ⇒ make
                   ⇒ make test lint
pytest:*           ⇒ pytest tests/test_x.py::test_y -vv
                   ⇒ pytest -q --tb=short -n 4
                   ⇒ pytest --cov=src --cov-report=term-missing tests
                   ⇒ pytest -k 'a and b' -m 'not slow' --maxfail=1
python3:*          ⇒ python3 script.py --x 1
                   ⇒ python3 -m pytest -q tests
python:*           ⇒ python -m venv .venv
python3:*          ⇒ python3 --version
                   ⇒ python3 -V
zsh:*              ⇒ zsh --version
ruby:*             ⇒ ruby -v
npm:*              ⇒ npm i x
                   ⇒ npm t
pytest:*           ⇒ pytest --cov-report term-missing:skip-covered --cov=src
                   ⇒ pytest --cov-report xml
curl:*             ⇒ curl --proto-default https a.test
git config:*       ⇒ git config get user.name
                   ⇒ git config --get user.name
                   ⇒ git config list
jobs:*             ⇒ jobs -l
man:*              ⇒ man -k x
printf:*           ⇒ printf '%5.2f%%\n' 3
node:*             ⇒ node script.js
                   ⇒ node -e 'console.log(1)'
npm run:*          ⇒ npm run build -- --prod
npm run *          ⇒ npm run build
                   ⇒ npm run test -- --watch
npm test           ⇒ npm test
npm:*              ⇒ npm install lodash
                   ⇒ npm ci
npm install:*      ⇒ npm install --save-dev x
yarn:*             ⇒ yarn build
go test:*          ⇒ go test ./... -run TestX -v
go build:*         ⇒ go build ./...
go vet:*           ⇒ go vet ./...
go:*               ⇒ go mod tidy
cargo build:*      ⇒ cargo build --release
cargo test:*       ⇒ cargo test foo -- --test-threads=1
cargo:*            ⇒ cargo clippy --all-targets -- -D warnings
cargo check:*      ⇒ cargo check --workspace
pip install:*      ⇒ pip install requests==2.0
                   ⇒ pip install .
pip list:*         ⇒ pip list --outdated
docker ps:*        ⇒ docker ps -a
docker:*           ⇒ docker logs -f x
docker build:*     ⇒ docker build -t x .
gh pr view:*       ⇒ gh pr view 12 --json title
gh:*               ⇒ gh pr list --state open
gh pr create:*     ⇒ gh pr create --title x --body y
gh:*               ⇒ gh api repos/o/r
gh issue:*         ⇒ gh issue view 1
kubectl get:*      ⇒ kubectl get pods -n x -o yaml
curl:*             ⇒ curl -sSL https://a.test/x
                   ⇒ curl -X POST -H 'A: b' -d '{"a":1}' https://a.test
                   ⇒ curl -I https://a.test
curl https://docs.test/* ⇒ curl https://docs.test/page
wget:*             ⇒ wget -qO- https://a.test
ping:*             ⇒ ping -c 3 a.test
dig:*              ⇒ dig +short a.test
mkdir:*            ⇒ mkdir -p a/b
rm:*               ⇒ rm -rf build
cp:*               ⇒ cp -r a b
mv:*               ⇒ mv a.txt b.txt
touch:*            ⇒ touch a
chmod:*            ⇒ chmod +x a.sh
ln:*               ⇒ ln -s a b
echo:*             ⇒ echo hi > /dev/null
echo:* | cat:*     ⇒ echo -n 'x' | cat
printf:*           ⇒ printf '%s\n' x
test:*             ⇒ test -f a.txt
[:*                ⇒ [ -d src ]
true               ⇒ true
date:*             ⇒ date +%F
                   ⇒ date -u -d yesterday +%s
ps:*               ⇒ ps aux
                   ⇒ ps -ef
du:*               ⇒ du -sh .
df:*               ⇒ df -h .
tree:*             ⇒ tree -L 2 -I node_modules
which:*            ⇒ which python3
xxd:*              ⇒ xxd -l 16 a.bin
base64:*           ⇒ base64 -d a.txt
uname:*            ⇒ uname -a
mypy:*             ⇒ mypy --strict src
ruff:*             ⇒ ruff check src
ruff format:*      ⇒ ruff format src
tsc:*              ⇒ tsc --noEmit
eslint:*           ⇒ eslint src --ext .ts
jest:*             ⇒ jest --coverage -t foo
bash scripts/x.sh:* ⇒ bash scripts/x.sh a
./gradlew:*        ⇒ ./gradlew build
mytool:*           ⇒ mytool --x=1 y
timeout 60 pytest:* ⇒ timeout 60 pytest -q
timeout:* | ls:*   ⇒ timeout 5 ls
xargs ls:*         ⇒ xargs ls -l
find . -name x -exec cat:* ⇒ find . -name x -exec cat {} +
ls:*               ⇒ cd src && ls -la
cat:*              ⇒ cd src && cat a.txt | cat
sqlite3:*          ⇒ sqlite3 a.db 'select * from t'
uv run pytest:*    ⇒ uv run pytest -q
npx tsc:*          ⇒ npx tsc --noEmit
sudo ls:*          ⇒ sudo ls -l
sqlite3:*          ⇒ sqlite3 -json a.db 'select 1'
terraform plan:*   ⇒ terraform plan
pytest:*           ⇒ pytest --co -q
tsc:*              ⇒ tsc -p tsconfig.json --noEmit
cmake:*            ⇒ cmake --build build
pip install:*      ⇒ pip install -r requirements.txt
                   ⇒ pip install -e . --pre
uv:*               ⇒ uv sync
vitest:*           ⇒ vitest --run
"""


@pytest.mark.parametrize(("rules", "command"), cases(EVERYDAY), ids=lambda each: each)
def test_everyday_commands_pass_under_a_rule_for_them(rules: str, command: str) -> None:
    assert granted(rules, command), judged(rules, command)
