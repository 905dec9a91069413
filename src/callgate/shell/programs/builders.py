"""Package managers, builders, test runners, linters and formatters.

They run the project's own code: that is what a rule for one grants. An entry lists the options that cannot point it at
other code, settings or programs; an option that is not listed asks, and so do words that are handed to another program.
"""

from callgate.shell.programs.entries import Entry
from callgate.shell.programs.sed import rewriting

_NPM = """--prefix=enter
    -s -d -q -w= --silent --quiet --loglevel= --json --workspace= --workspaces --include-workspace-root
    --if-present --ignore-scripts --no-audit --no-fund --no-progress --color?= --no-color --offline
    --prefer-offline --yes -y"""
_NPM_INSTALL = """-D -E -O -P -f --save --save-dev --save-exact --save-optional --save-prod --save-peer --no-save
    --production --omit= --include= --legacy-peer-deps --strict-peer-deps --force --dry-run
    --package-lock-only --no-package-lock --frozen-lockfile --no-frozen-lockfile --lockfile-only --prod
    --dev --no-optional -r --recursive"""
_PNPM = (
    "-C=enter --dir=enter -r -s --recursive --filter= -F= --silent --stream --parallel --if-present --color --no-color"
)
# Scripts of a package that are usually there: any other word after yarn and pnpm may be a program.
_SCRIPTS = "test|build|lint|dev|start|typecheck|type-check|format|check|ci|e2e|coverage|watch|docs|clean|preview"
# Switches that scripts of a package take; a switch has no value that could name code.
_SWITCHES = "--watch?=switch --watchAll?=switch --coverage --ci --run --silent --verbose --bail"
_PYTEST = """-qvxsl -k= -m=text -r= -n= -W=warning -p=plugin --pdb --lf --last-failed --ff --failed-first --nf
    --new-first --sw --stepwise --stepwise-skip --maxfail= --exitfirst --tb= --durations=
    --durations-min= --co --collect-only --no-header --no-summary --quiet --verbose --verbosity=
    --capture= --show-capture= --showlocals --strict-markers --strict-config --strict --disable-warnings
    --disable-pytest-warnings --pythonwarnings=warning --ignore=word --ignore-glob= --deselect=
    --import-mode= --color= --code-highlight= --fixtures --markers --setup-show --setup-only
    --setup-plan --runxfail --cache-clear --cache-show?= --keep-duplicates --doctest-modules
    --doctest-continue-on-failure --numprocesses= --dist= --cov?=word --no-cov --cov-append --cov-branch
    --cov-fail-under= --cov-report=report --timeout= --timeout-method= --reruns= --reruns-delay=
    --randomly-seed= --snapshot-update --log-level= --log-cli-level= --benchmark-only --benchmark-skip
    --asyncio-mode= --hypothesis-seed= --hypothesis-profile= --hypothesis-show-statistics --runslow
    --junitxml=file --junit-xml=file --html=file --report-log=file --log-file=file"""
_CARGO = """-C=enter
    -qvr -p= -j= -F= --quiet --verbose --release --package= --workspace --all --exclude= --jobs= --features=
    --all-features --no-default-features --lib --bins --bin= --examples --example= --tests --test=
    --benches --bench= --all-targets --target= --profile= --locked --offline --frozen --color=
    --message-format= --keep-going"""
_CARGO_TEST = """--nocapture --test-threads= --ignored --include-ignored --exact --skip= --show-output -q --quiet --list
        name"""
_GO_BUILD = """-v -x -n -a -race -tags= -mod= -p= -trimpath -buildvcs= -json"""
_GO_TEST = """-run= -skip= -bench= -benchmem -benchtime= -count= -cover -covermode= -coverpkg= -cpu= -failfast -fuzz=
    -fuzztime= -list= -parallel= -short -shuffle= -timeout= -vet= -coverprofile=file"""
_JEST = """-t= -u -w= -i -b --testNamePattern= --testPathPattern= --testPathPatterns= --coverage --no-coverage --ci
    --bail --verbose --silent --watch --watchAll?= --runInBand --maxWorkers= --no-cache --updateSnapshot
    --listTests --passWithNoTests --onlyChanged -o --color --colors --no-color --forceExit
    --detectOpenHandles --json --testTimeout= --reporters=reporter --reporter=reporter --run --mode=
    --retry= --changed?= --update --shard="""
_PIP = "-qv --quiet --verbose --no-input --disable-pip-version-check --no-color --format= --timeout= --retries="

BUILDERS = (
    # npm and the like
    Entry("npm", "text", _NPM, steps=True),
    Entry("npm run|run-script", "script-name unknown", behind=_SWITCHES, named=1),
    Entry("npm test|t|start|stop|restart", behind=_SWITCHES),
    Entry("npm install|i|add|ci|uninstall|remove|rm|update", "name", _NPM_INSTALL),
    Entry(
        "npm ls|list|outdated|view|info|show|why|explain|fund|search",
        "name",
        "-a -l --all --depth= --long --parseable",
    ),
    Entry("npm audit", "unknown", "--production --omit= --audit-level= --package-lock-only"),
    Entry("npm root|prefix|bin|version|ping|whoami"),
    Entry("pnpm", "text", _PNPM, steps=True),
    Entry("pnpm run", "script-name unknown", behind=_SWITCHES, named=1),
    Entry(f"pnpm {_SCRIPTS}", options=_SWITCHES, behind=_SWITCHES),
    Entry("pnpm install|i|add|remove|update|up", "name", _NPM_INSTALL),
    Entry("pnpm ls|list|outdated|why|audit", "name", "--depth= --json --long --prod --dev"),
    Entry("yarn", "text", "--cwd=enter -s --silent --verbose --json --offline", steps=True),
    Entry("yarn run", "script-name unknown", behind=_SWITCHES, named=1),
    Entry(f"yarn {_SCRIPTS}", options=_SWITCHES, behind=_SWITCHES),
    Entry(
        "yarn install|add|remove|up|upgrade",
        "name",
        _NPM_INSTALL + " --immutable --check-files --pure-lockfile --mode=",
    ),
    Entry("yarn why|list|info|outdated|audit", "name", "--depth= --pattern="),
    Entry("yarn workspace", "name script unknown"),
    Entry("bun", steps=True),
    Entry("bun run", "script-name unknown", behind=_SWITCHES, named=1),
    Entry(
        "bun test",
        "word",
        """-t= -u --bail?= --timeout= --coverage --watch --only --todo --update-snapshots --rerun-each=
        --test-name-pattern=""",
    ),
    Entry("bun install|i|add|remove|update", "name", _NPM_INSTALL),
    Entry("bun pm"),
    # Python
    Entry("pytest,py.test", "word", _PYTEST, variables="PYTHONPATH"),
    Entry(
        "tox",
        "tox",
        """-q -v -p= --parallel?= -e= -l -r --recreate --listenvs --skip-missing-interpreters?= --notest""",
        behind="",
    ),
    Entry(
        "nox",
        "unknown",
        """-s= -e= -l -t= -k= -r -R --sessions= --session= --list --reuse-existing-virtualenvs --no-install""",
        behind="",
    ),
    Entry("json.tool", "read write", "--sort-keys --indent= --tab --json-lines --no-ensure-ascii --compact"),
    Entry("venv", "change", "--system-site-packages --upgrade-deps --without-pip --prompt="),
    Entry("coverage", steps=True),
    Entry(
        "coverage report|html|xml|json|lcov|combine|erase",
        "word",
        """-miq -o=file --show-missing --skip-covered --skip-empty --fail-under= --include= --omit= --format=
        --precision= --sort= --append -a --keep""",
    ),
    Entry(
        "mypy,dmypy",
        "word",
        """-p= -m= --strict --ignore-missing-imports --no-error-summary --show-error-codes --python-version=
        --config-file=config --pretty --no-incremental --exclude= --follow-imports= --show-error-context
        --no-color-output --show-column-numbers --warn-unused-ignores --warn-return-any
        --disallow-untyped-defs --check-untyped-defs --no-strict-optional --namespace-packages
        --explicit-package-bases --package= --module= --platform= -v --verbose --stats
        --hide-error-context --soft-error-limit= --enable-error-code= --disable-error-code=
        --sqlite-cache --non-interactive""",
    ),
    Entry("ruff", steps=True),
    Entry(
        "ruff check",
        "word",
        """-qsnew --select= --ignore= --extend-select= --extend-ignore= --output-format= --statistics --no-fix
        --show-files --show-settings --exclude= --extend-exclude= --target-version= --line-length=
        --preview --no-preview --no-cache --isolated --quiet --verbose -v --exit-zero --diff --watch
        --config=read --fix!place --fix-only!place --unsafe-fixes!place --add-noqa!place -o=file
        --output-file=file""",
        code=rewriting,
    ),
    Entry(
        "ruff format",
        "word",
        """-qsv --check --diff --exclude= --line-length= --target-version= --preview --no-preview --no-cache
        --isolated --quiet --config=read""",
        unless="--check --diff",
        code=rewriting,
    ),
    Entry("ruff rule|linter|config", "text", "--all --output-format="),
    Entry(
        "black",
        "word",
        """-qv -l= -t= -S -C --check --diff --line-length= --target-version= --quiet --verbose --color --no-color
        --preview --exclude= --extend-exclude= --include= --skip-string-normalization
        --skip-magic-trailing-comma --fast --safe""",
        unless="--check --diff",
        code=rewriting,
    ),
    Entry(
        "isort",
        "word",
        """-qvcd -l= -w= --check --check-only --diff --profile= --line-length= --quiet --verbose --stdout
        --only-modified --skip= --skip-glob= --filter-files --py=""",
        unless="--check --check-only -c -d --diff --stdout",
        code=rewriting,
    ),
    Entry(
        "flake8",
        "word",
        """-qvj -j= --max-line-length= --select= --ignore= --extend-ignore= --extend-select= --exclude=
        --statistics --count --show-source --max-complexity= --per-file-ignores= --format= --jobs=
        --color= --exit-zero --quiet""",
    ),
    Entry(
        "pylint",
        "word",
        """-dejrEv -d= -e= -j= -r= --disable= --enable= --output-format=reporter --errors-only --jobs=
        --reports= --score= --ignore= --ignore-paths= --max-line-length= --recursive= --fail-under= --fail-on=
        --persistent= --verbose""",
    ),
    Entry(
        "pyright,basedpyright",
        "word",
        """-p=read --project=read --outputjson --warnings --stats --dependencies --skipunannotated --level=
        --pythonversion= --pythonplatform= --verbose -w --watch --verifytypes=""",
    ),
    Entry("pip,pip3", "text", _PIP, steps=True),
    Entry(
        "pip install,pip3 install",
        "requirement",
        """-U -r=read -c=read -e=read --upgrade --requirement=read --constraint=read --editable=read --no-deps
        --pre --user --dry-run --force-reinstall --ignore-installed --no-cache-dir --no-build-isolation
        --upgrade-strategy= --require-hashes --only-binary= --prefer-binary""",
        exactly=True,
    ),
    Entry(
        "pip freeze|index,pip3 freeze|index",
        "name",
        "-ofl --outdated --uptodate --files --local --user --exclude= --not-required --all --pre",
    ),
    Entry("pip list|show|check,pip3 list|show|check", "name", "-ofl --files --local --user --not-required", free=True),
    Entry("pip uninstall|download|help,pip3 uninstall|download|help", "name", "-y --yes", exactly=True),
    Entry(
        "uv",
        "text",
        """-qvn --quiet --verbose --no-cache --offline --frozen --locked --no-progress --color=""",
        steps=True,
    ),
    Entry(
        "uv sync|lock|tree|build|venv",
        "word",
        """-U -P= --all-extras --extra= --no-extra= --dev --no-dev --only-dev --group= --no-group= --only-group=
        --all-groups --all-packages --package= --no-install-project --inexact --exact --upgrade
        --upgrade-package= --check --dry-run --depth= --outdated --sdist --wheel --seed --clear
        --allow-existing""",
    ),
    Entry(
        "uv add|remove", "requirement", "--dev --optional= --group= --extra= --no-sync --editable --upgrade --bounds="
    ),
    Entry("uv pip|python|tool", steps=True),
    Entry(
        "uv pip list|show|freeze|check|tree,uv python list|find,uv tool list",
        "name",
        "--outdated --format= --exclude= --editable",
    ),
    Entry(
        "uv pip install|uninstall|sync",
        "requirement",
        """-U -r=read -e=read --upgrade --no-deps --editable=read --requirement=read""",
        exactly=True,
    ),
    Entry("poetry", "text", "-qvn --quiet --verbose --no-interaction --no-ansi", steps=True),
    Entry(
        "poetry install|lock|show|check|version|update",
        "name",
        """--with= --without= --only= --all-extras --extras= -E= --no-root --sync --no-update --tree --latest
        --outdated --top-level --all --only-root --dry-run""",
    ),
    Entry("poetry add|remove", "name", "-D -G= -E= --dev --group= --extras= --optional --lock --dry-run"),
    Entry("pre-commit", steps=True),
    Entry(
        "pre-commit run",
        "name",
        """-av --all-files --files=word --hook-stage= --show-diff-on-failure --verbose --from-ref= --to-ref=
        --color=""",
    ),
    # Rust and Go
    Entry("cargo", "text", _CARGO, steps=True),
    Entry(
        "cargo build|check|b|c|doc|bench|clean|tree|metadata|update|fetch",
        "name",
        """-n -i= -e= -d= --dry-run --no-deps --document-private-items --open --invert= --depth= --duplicates
        --edges= --prefix= --format= --format-version= --precise= --aggressive --no-run --timings""",
    ),
    Entry("cargo test|t", "name", "--doc --no-run --no-fail-fast", behind=_CARGO_TEST),
    Entry(
        "cargo nextest",
        "name",
        """--no-run --no-fail-fast --retries= --test-threads= -E= --run-ignored= --no-capture""",
        behind=_CARGO_TEST,
    ),
    Entry(
        "cargo clippy",
        "unknown",
        "--no-deps",
        behind="""-D=name -W=name -A=name -F=name --deny=name --warn=name --allow=name""",
    ),
    Entry("cargo fmt", "unknown", "--check", behind="--check -l --emit="),
    Entry("cargo run|r", "word", behind="word"),
    Entry("cargo add|remove|rm", "name", "--dev --build --optional --no-optional --rename= --dry-run"),
    Entry("cargo version|help|search|locate-project|pkgid", "text"),
    Entry("go", "text", "-C=enter", dash="-", steps=True),
    Entry("go test", "word", f"{_GO_BUILD} {_GO_TEST}", dash="-"),
    Entry(
        "go build|vet|list|doc|fmt",
        "word",
        _GO_BUILD + """ -m -u -f= -deps -test -find -all -short -src -c -e""",
        dash="-",
    ),
    Entry("go run", "word", _GO_BUILD, dash="-", stops=True, named=1, also="alter"),
    Entry("go version|env", "name", "-json -m", dash="-"),
    Entry("go mod", "name", "-v -e -json -go= -compat=", dash="-"),
    Entry("gofmt", "word", "-d -l -s -e -w!place", dash="-", code=rewriting),
    Entry("golangci-lint", steps=True),
    Entry(
        "golangci-lint run",
        "word",
        """-v --timeout= --tests?= --fast --new --new-from-rev= --disable= -D= --enable= -E= --no-config
        --issues-exit-code= --verbose --color=""",
    ),
    # make and the like
    Entry(
        "make,gmake",
        "name",
        """-kBnsiwqrRS -j?=number -l?=number -O?= --jobs?=number --keep-going --always-make --dry-run --just-print
        --silent --quiet --ignore-errors --print-directory --no-print-directory --question --touch
        --trace --warn-undefined-variables --output-sync?= -C=enter --directory=enter -f=load
        --file=load --makefile=load -I=load --include-dir=load --eval=run -E=run""",
        named=1,
    ),
    Entry(
        "cmake",
        "word",
        """-B=change -S=read -D=define -U= -G= -A= -N -L -Wno-dev --build=change -t= -v -j?=number --target=
        --config= --parallel?=number --clean-first --verbose --fresh --preset= --list-presets?=
        --log-level= --trace!load -P=load -C=load -E=run --toolchain=load --install=change""",
        behind="",
        exactly=True,
    ),
    Entry(
        "ctest",
        "unknown",
        """-VNQ -R= -E= -L= -j?=number -C= --test-dir=read --output-on-failure --verbose --extra-verbose
        --quiet --parallel?=number --tests-regex= --exclude-regex= --rerun-failed --stop-on-failure
        --timeout= --show-only?= --no-tests= --repeat=""",
    ),
    Entry("ninja", "name", "-nvq -C=read -j=number -k=number -l=number --verbose --quiet"),
    Entry("just", "name", "-lnqv --list --summary --dry-run --quiet --verbose --show= --evaluate!load"),
    Entry(
        "mvn,mvnw",
        "name",
        """-q -B -U -V -e -o -N -T= -pl= -am -amd -ff -fae -fn -ntp -quiet -batch-mode -offline -DskipTests?=
        -DskipITs?= -Dtest?=name -Dmaven.test.skip?= -DfailIfNoTests?=""",
        dash="-",
    ),
    Entry(
        "gradle,gradlew",
        "name",
        """-qio -x= --quiet --offline --info --stacktrace --no-daemon --daemon --parallel --continue --tests=
        --dry-run --rerun-tasks --console= --warning-mode= --build-cache --no-build-cache
        --configuration=""",
    ),
    # JavaScript tools
    Entry(
        "eslint",
        "word",
        """-f=reporter --format=reporter --ext= --max-warnings= --quiet --no-fix --cache --no-cache --color
        --no-color --ignore-pattern= --no-ignore --report-unused-disable-directives
        --no-error-on-unmatched-pattern --no-warn-ignored --debug --fix!place --fix-dry-run -o=file
        --output-file=file""",
        code=rewriting,
    ),
    Entry(
        "prettier",
        "word",
        """-cluw --check --list-different --ignore-unknown --log-level= --loglevel= --no-config --tab-width=
        --print-width= --single-quote --no-semi --trailing-comma= --parser= --write!place -w!place""",
        code=rewriting,
    ),
    Entry(
        "tsc",
        "word",
        """-p=read -b -w -v -d --project=read --build --noEmit --watch --verbose --pretty?= --strict --incremental
        --skipLibCheck --listFiles --diagnostics --extendedDiagnostics --force --dry --clean --target=
        --module= --jsx= --lib= --esModuleInterop --allowJs --checkJs --noUnusedLocals --noImplicitAny
        --traceResolution --explainFiles --showConfig""",
    ),
    Entry("jest,vitest", "word", _JEST),
    Entry("vite", steps=True),
    Entry("vite build", "unknown", "--mode= -m= --sourcemap --minify?= --watch -w -l= --logLevel="),
    Entry("playwright", steps=True),
    Entry(
        "playwright test",
        "word",
        """-gxuj -g= -j= -u -x --grep= --grep-invert= --project= --headed --debug --ui --workers=
        --reporter=reporter --retries= --repeat-each= --last-failed --list --max-failures= --timeout=
        --trace= --update-snapshots --pass-with-no-tests --quiet --shard=""",
    ),
    Entry(
        "shellcheck,hadolint,yamllint,codespell",
        "word",
        """-xaC -f= -s= -e= -i= -S= -o= -W= --format= --shell= --exclude= --include= --severity= --external-sources
        --color?= --ignore= --no-color --failure-threshold= --norc --strict -d= -L= --skip=
        --ignore-words-list=""",
    ),
)
