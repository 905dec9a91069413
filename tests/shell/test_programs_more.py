"""Builders, linters, runners and services: what a rule for them leaves out, and what people do with them every day.

The lists are written by hand, not taken from the table.
"""

import pytest

from tests.shell.shell_kit import cases, granted, judged

LEFT_OUT = r"""
npm:*              ⇒ npm exec eslint
npm exec:*         ⇒ npm exec eslint
                   ⇒ npm exec
                   ⇒ npm exec -- pwn
npm x:*            ⇒ npm x pwn
pnpm:*             ⇒ pnpm exec pwn
pnpm exec:*        ⇒ pnpm exec pwn
pnpm dlx:*         ⇒ pnpm dlx pwn
yarn exec:*        ⇒ yarn exec pwn
yarn dlx:*         ⇒ yarn dlx pwn
yarn node:*        ⇒ yarn node pwn.js
bun x:*            ⇒ bun x pwn
npm exec eslint:*  ⇒ npm exec eslint --fix
uv run:*           ⇒ uv run pytest
uv run --with:*    ⇒ uv run --with x pytest
uv run pytest:* | uv run --python:* ⇒ uv run --python ./x pytest
uv run -m pytest:* ⇒ uv run -m pwn
npx:*              ⇒ npx eslint
source:*           ⇒ source x
.:*                ⇒ . x
pytest:*           ⇒ pytest -W error::evil.Warning
                   ⇒ pytest --pythonwarnings=ignore::a.b
                   ⇒ pytest -p evil
                   ⇒ pytest -p no
vitest:*           ⇒ vitest --reporter=./evil.js
mocha:*            ⇒ mocha --reporter ./evil.js
jest:*             ⇒ jest --reporters=../evil
eslint:*           ⇒ eslint --format=./evil.js .
pylint:*           ⇒ pylint --output-format=evil.Reporter x
mvn:*              ⇒ mvn -Dexec.executable=pwn exec:exec
                   ⇒ mvn -DskipTestsX=1 test
                   ⇒ mvn -s evil.xml test
                   ⇒ mvn -f evil/pom.xml test
                   ⇒ mvn --file=evil test
                   ⇒ mvn -P evil test
                   ⇒ mvn -l out test
tox:*              ⇒ tox -c evil
                   ⇒ tox -x testenv.commands=pwn
                   ⇒ tox --override=testenv.commands=pwn
ninja:*            ⇒ ninja -f evil.ninja
                   ⇒ ninja -C /evil
cmake:*            ⇒ cmake -DCMAKE_CXX_COMPILER=pwn .
                   ⇒ cmake -DCMAKE_TOOLCHAIN_FILE=x .
                   ⇒ cmake -DCMAKE_BUILD_TYPE='a;b' .
mypy:*             ⇒ mypy --config-file=other.ini x
go:*               ⇒ go env -w GOFLAGS=x
                   ⇒ go env -u GOFLAGS
docker compose:*   ⇒ docker compose -f other.yml logs -f web
docker logs:* | docker:* ⇒ docker -H x logs -f web
docker inspect:*   ⇒ docker inspect --evil x
docker image:*     ⇒ docker image rm x
kubectl logs:*     ⇒ kubectl logs --kubeconfig=x web
lsof:*             ⇒ lsof -D x
                   ⇒ lsof -k x
node:*             ⇒ node
                   ⇒ node --test -r evil
sqlite3:*          ⇒ sqlite3 a.db .shell
                   ⇒ sqlite3 a.db '.tablesx'
                   ⇒ sqlite3 a.db '.schema|pwn'
                   ⇒ sqlite3 a.db '.read x'
curl:*             ⇒ curl -n https://a.test
                   ⇒ curl -w @x https://a.test
                   ⇒ curl -w '%output{x}' https://a.test
                   ⇒ curl -o /dev/nullx https://a.test
                   ⇒ curl -H @x https://a.test
http:*             ⇒ http a.test f@x
go build:*         ⇒ GOFLAGS=x go build
git log:*          ⇒ GIT_PAGER=pwn git log
man:*              ⇒ MANPAGER=pwn man ls
cat:*              ⇒ cat .*
                   ⇒ cat .?/x
                   ⇒ cat x/../.*/y
flake8:*           ⇒ flake8 --config=x .
                   ⇒ flake8 --output-file=x .
pylint:*           ⇒ pylint --init-hook=pwn x
                   ⇒ pylint --rcfile=x y
                   ⇒ pylint --load-plugins=x y
pyright:*          ⇒ pyright --pythonpath=pwn
                   ⇒ pyright --createstub x
                   ⇒ pyright --writebaseline
actionlint:*       ⇒ actionlint -shellcheck=pwn
                   ⇒ actionlint -pyflakes=pwn
markdownlint:*     ⇒ markdownlint -r evil.js .
                   ⇒ markdownlint -c evil.js .
bat:*              ⇒ bat --pager=pwn x
cloc:*             ⇒ cloc --extract-with=pwn x
                   ⇒ cloc --config=x y
                   ⇒ cloc --out=x y
"""


@pytest.mark.parametrize(("rules", "command"), cases(LEFT_OUT), ids=lambda each: each)
def test_a_grant_leaves_out_what_runs_writes_loads_or_leads_out(rules: str, command: str) -> None:
    assert not granted(rules, command), judged(rules, command)


EVERYDAY = r"""
vitest:*           ⇒ vitest --reporter=verbose --project web
playwright:*       ⇒ playwright test --project=chromium --reporter list
mocha:*            ⇒ mocha --reporter dot
jest:*             ⇒ jest --reporters=default
eslint:*           ⇒ eslint -f json --format stylish src
pytest:*           ⇒ pytest -W error -W ignore::DeprecationWarning -p no:cacheprovider
                   ⇒ pytest --pythonwarnings=error::UserWarning:mod:3
tox:*              ⇒ tox -p auto -e py312
ninja:*            ⇒ ninja -C build -j 4
mvn:*              ⇒ mvn -q clean install -DskipTests -Dtest=AppTest -pl core -am
                   ⇒ mvn -Dmaven.test.skip=true -Dit.test=X -DskipITs -DfailIfNoTests=false package
                   ⇒ mvn -Dsurefire.failIfNoSpecifiedTests=false -Dstyle.color=never -T 4 -rf :core test
cmake:*            ⇒ cmake -B build -DCMAKE_BUILD_TYPE=Release -DBUILD_TESTING=ON
                   ⇒ cmake -DCMAKE_CXX_STANDARD:STRING=20 -DCMAKE_EXPORT_COMPILE_COMMANDS=1 -S . -B build
mypy:*             ⇒ mypy --config-file pyproject.toml src
                   ⇒ mypy --config-file=mypy.ini src
                   ⇒ mypy --config-file=setup.cfg --config-file=.mypy.ini src
terraform:*        ⇒ terraform init -backend=false
go:*               ⇒ go env GOPATH
docker inspect:*   ⇒ docker inspect -f '{{.Id}}' --type image x
docker compose:*   ⇒ docker compose logs -f --tail 5 web
                   ⇒ docker compose up -d --build
                   ⇒ docker compose down
gh pr:*            ⇒ gh pr create --title x --body y
gh issue:*         ⇒ gh issue close 1
gh run:*           ⇒ gh run watch 1
                   ⇒ gh run rerun 1
gh release:*       ⇒ gh release create v1
gh workflow:*      ⇒ gh workflow run x
glab mr:*          ⇒ glab mr create
kubectl logs:*     ⇒ kubectl logs web -n dev --timestamps --all-containers=true --prefix --since-time=1h
lsof:*             ⇒ lsof -ti:8080
                   ⇒ lsof -i :8080 -P -n -u me
node:*             ⇒ node --test
sqlite3:*          ⇒ sqlite3 a.db .tables
                   ⇒ sqlite3 a.db '.schema users'
                   ⇒ sqlite3 a.db .databases '.indexes t%' .fullschema .indices .dbinfo
curl:*             ⇒ curl -s -o /dev/null -w '%{http_code}' http://localhost:3000
wget:*             ⇒ wget -O /dev/null https://a.test
pytest:*           ⇒ time pytest -q
                   ⇒ time -p pytest
cargo test:*       ⇒ RUST_LOG=debug CARGO_TERM_COLOR=never cargo test
pytest:*           ⇒ PYTHONHASHSEED=0 PYTHONASYNCIODEBUG=1 pytest
go build:*         ⇒ GOOS=linux GOARCH=arm64 CGO_ENABLED=0 go build ./...
git log:*          ⇒ GIT_PAGER= git log -1
man:*              ⇒ PAGER='' MANPAGER=cat man ls
uv run --frozen pytest:* ⇒ uv run --frozen pytest -q
uv run --with x pytest:* ⇒ uv run --with x pytest -q
poetry run -q pytest:* ⇒ poetry run -q pytest
source .venv/bin/activate ⇒ source .venv/bin/activate
. .venv/bin/activate:* ⇒ . .venv/bin/activate
npm exec eslint:*  ⇒ npm exec eslint src
npm exec -- eslint:* ⇒ npm exec -- eslint src
npm x tsc:*        ⇒ npm x tsc --noEmit
pnpm exec eslint:* ⇒ pnpm exec eslint src
pnpm dlx eslint:*  ⇒ pnpm dlx eslint src
yarn exec eslint:* ⇒ yarn exec eslint src
yarn dlx eslint:*  ⇒ yarn dlx eslint src
yarn node x.js:*   ⇒ yarn node x.js
bun x eslint:*     ⇒ bun x eslint src
pip install:*      ⇒ pip install -e '.[dev]'
cat:*              ⇒ cat '.[x]' '.*'
git:*              ⇒ git clean -nd
ls:*               ⇒ cd src && ls && cd .. && ls
cat:*              ⇒ cd src && cat ../README.md
flake8:*           ⇒ flake8 --max-line-length 100 src
pylint:*           ⇒ pylint --disable=C0114 --output-format=json src
pyright:*          ⇒ pyright -p . src
basedpyright:*     ⇒ basedpyright --level error
shellcheck:*       ⇒ shellcheck -x -s bash a.sh
hadolint:*         ⇒ hadolint -c .hadolint.yaml Dockerfile
yamllint:*         ⇒ yamllint -d relaxed .
actionlint:*       ⇒ actionlint -config-file x.yml
codespell:*        ⇒ codespell -L foo src
markdownlint:*     ⇒ markdownlint docs
bat:*              ⇒ bat -n --language py a.py
eza:*              ⇒ eza -la --level 2
tokei:*            ⇒ tokei -s lines src
cloc:*             ⇒ cloc --include-lang=Python src
"""


@pytest.mark.parametrize(("rules", "command"), cases(EVERYDAY), ids=lambda each: each)
def test_everyday_commands_pass_under_a_rule_for_them(rules: str, command: str) -> None:
    assert granted(rules, command), judged(rules, command)
