"""Rows of package managers, build tools, test runners, linters and formatters.

These programs run the project's own code, and a rule for a program includes this. A row lists only options that
cannot select other code, settings or programs. A call with any other option, or with words that are passed to
another program, needs the user's approval.
"""

BUILDERS = """
# Switches for scripts of a package; the value of a switch cannot name code.
$switches = --watch?=switch --watchAll?=switch --coverage --ci --run --silent --verbose --bail
$install = -D -E -O -P -f --save --save-dev --save-exact --save-optional --save-prod --save-peer --no-save --production
    --omit= --include= --legacy-peer-deps --strict-peer-deps --force --dry-run --package-lock-only --no-package-lock
    --frozen-lockfile --no-frozen-lockfile --lockfile-only --prod --dev --no-optional -r --recursive --immutable --mode=
npm | text | --prefix=enter -s -d -q -w= --silent --quiet --loglevel= --json --workspace= --workspaces
    --include-workspace-root --if-present --ignore-scripts --no-audit --no-fund --no-progress --color?= --no-color
    --offline --prefer-offline --yes -y | subcommands separate_value
npm run|run-script | task unknown | | after_dashes=$switches prefix_operands=1
npm test|t|start|stop|restart | | | after_dashes=$switches
npm install|i|add|ci|uninstall|remove|rm|update | requirement | $install
npm ls|list|outdated|view|info|show|why|explain|audit | requirement | -a -l --all --depth= --long --parseable
    --production --omit= --audit-level=
pnpm | text | -C=enter --dir=enter -r -s --recursive --filter= -F= --silent --stream --parallel --if-present --color
    --no-color | subcommands separate_value
# Any other word after yarn, bun and pnpm may be a program.
pnpm run | task unknown | | after_dashes=$switches prefix_operands=1
yarn run,bun run | script unknown | | after_dashes=$switches prefix_operands=1
pnpm test|build|lint|dev|start|typecheck|format|check|ci|e2e|coverage|watch|docs, yarn
    test|build|lint|dev|start|typecheck|format|check|ci|e2e|coverage|watch|docs | | $switches | after_dashes=$switches
pnpm install|i|add|remove|update|up,yarn install|add|remove|up|upgrade,bun install|i|add|remove|update | requirement |
    $install
pnpm ls|list|outdated|why|audit,yarn why|list|info|outdated|audit | name | --depth= --json --long --prod --dev
    --pattern=
yarn | text | --cwd=enter -s --silent --verbose --json --offline | subcommands
yarn workspace | name script unknown
bun,ruff,uv pip|python|tool | | | subcommands
bun test | word | -t= -u --bail?= --timeout= --coverage --watch --only --update-snapshots --test-name-pattern=
pytest,py.test | word | -qvxsl -k= -m=text -r= -n= -W=warning -p=plugin --lf --last-failed --ff --failed-first --nf
    --new-first --sw --stepwise --maxfail= --exitfirst --tb= --durations= --durations-min= --co --collect-only
    --no-header --no-summary --quiet --verbose --verbosity= --capture= --show-capture= --showlocals --strict-markers
    --strict-config --strict --disable-warnings --disable-pytest-warnings --pythonwarnings=warning --ignore=word
    --ignore-glob= --deselect= --import-mode= --color= --fixtures --markers --setup-show --runxfail --cache-clear
    --doctest-modules --numprocesses= --dist= --cov?=word --no-cov --cov-append --cov-branch --cov-fail-under=
    --cov-report=report --timeout= --timeout-method= --reruns= --reruns-delay= --randomly-seed= --snapshot-update
    --log-level= --log-cli-level= --benchmark-only --benchmark-skip --asyncio-mode= --hypothesis-seed=
    --hypothesis-profile= --hypothesis-show-statistics --runslow --junitxml=file --junit-xml=file --html=file
    --report-log=file --log-file=file | folder_variables=PYTHONPATH argument_files
tox | tox | -q -v -p= --parallel?= -e= -l -r --recreate --listenvs --skip-missing-interpreters?= --notest |
    after_dashes=
mypy | word | -p= -m= --strict --ignore-missing-imports --no-error-summary --show-error-codes --python-version=
    --config-file=config --pretty --no-incremental --exclude= --follow-imports= --show-error-context --no-color-output
    --show-column-numbers --warn-unused-ignores --warn-return-any --disallow-untyped-defs --check-untyped-defs
    --no-strict-optional --namespace-packages --explicit-package-bases --package= --module= --platform= -v --verbose
    --hide-error-context --enable-error-code= --disable-error-code= --non-interactive |
    argument_files
ruff check | word | -qsnewv --select= --ignore= --extend-select= --extend-ignore= --output-format= --statistics --no-fix
    --show-files --show-settings --exclude= --extend-exclude= --target-version= --line-length= --preview --no-cache
    --isolated --quiet --verbose --exit-zero --diff --watch --config=settings-file --fix!place --fix-only!place
    --unsafe-fixes!place --add-noqa!place -o=file --output-file=file | argument_files parser=rewriting
ruff format | word | -qsv --check --diff --exclude= --line-length= --target-version= --preview --no-cache --isolated
    --quiet --config=settings-file | writes_unless=--check,--diff argument_files parser=rewriting
ruff rule|linter|config | text | --all --output-format=
black | word | -qvSC -l= -t= --check --diff --line-length= --target-version= --quiet --verbose --color --no-color
    --preview --exclude= --extend-exclude= --include= --skip-string-normalization --skip-magic-trailing-comma --fast
    --safe | writes_unless=--check,--diff parser=rewriting
isort | word | -qvcd -l= -w= --check --check-only --diff --profile= --line-length= --quiet --verbose --stdout
    --only-modified --skip= --skip-glob= --filter-files --py= | writes_unless=--check,--check-only,-c,-d,--diff,--stdout
    parser=rewriting
flake8 | word | -qv -j= --max-line-length= --select= --ignore= --extend-ignore= --extend-select= --exclude= --statistics
    --count --show-source --max-complexity= --per-file-ignores= --format= --jobs= --color= --exit-zero --quiet
pyright,basedpyright | word | -p=read --project=read --outputjson --warnings --stats --dependencies --level=
    --pythonversion= --pythonplatform= --verbose -w --watch --verifytypes=
$pip = -U -r=local -c=local -e=local --upgrade --requirement=local --constraint=local --editable=local --no-deps --pre
    --user --dry-run --force-reinstall --ignore-installed --no-cache-dir --no-build-isolation --upgrade-strategy=
    --require-hashes --only-binary= --prefer-binary
pip,pip3 | text | -qv --quiet --verbose --no-input --disable-pip-version-check --no-color --format= --timeout=
    --retries= | subcommands
pip install,pip3 install,uv pip install|uninstall|sync | requirement | $pip | no_prefix
pip freeze|index,pip3 freeze|index | name | -l --local --user --exclude= --all --pre
pip list|show|check,pip3 list|show|check | name | -l --files --local --user --not-required | read_only
pip uninstall|download|help,pip3 uninstall|download|help | name | -y --yes | no_prefix
uv | text | -qvn --quiet --verbose --no-cache --offline --frozen --locked --no-progress --color= | subcommands
uv sync|lock|tree|build | word | -U -P= --all-extras --extra= --no-extra= --dev --no-dev --only-dev --group= --no-group=
    --only-group= --all-groups --all-packages --package= --no-install-project --inexact --exact --upgrade
    --upgrade-package= --check --dry-run --depth= --outdated --sdist --wheel
uv venv | change | --seed
uv add|remove | requirement | --dev --optional= --group= --extra= --no-sync --editable --upgrade --bounds=
uv pip list|show|freeze|check|tree,uv python list|find,uv tool list | name | --outdated --format= --exclude= --editable
poetry | text | -qvn --quiet --verbose --no-interaction --no-ansi | subcommands
poetry install|lock|show|check|version|update | name | --with= --without= --only= --all-extras --extras= -E= --no-root
    --sync --no-update --tree --latest --outdated --top-level --all --only-root --dry-run
poetry add|remove | requirement | -D -G= -E= --dev --group= --extras= --optional --lock --dry-run
$cargo-test = --nocapture --test-threads= --ignored --include-ignored --exact --skip= --show-output -q --quiet --list
cargo | text | -C=enter -qvr -p= -j= -F= --quiet --verbose --release --package= --workspace --all --exclude= --jobs=
    --features= --all-features --no-default-features --lib --bins --bin= --examples --example= --tests --test= --benches
    --bench= --all-targets --target=plain --profile= --locked --offline --frozen --color= --message-format= --keep-going
    | subcommands
cargo build|check|b|c|doc|bench|clean|tree|metadata|update|fetch | name | -n -i= -e= -d= --dry-run --no-deps
    --document-private-items --open --invert= --depth= --duplicates --edges= --prefix= --format= --format-version=
    --precise= --aggressive --no-run --timings
cargo test|t | task | --doc --no-run --no-fail-fast | after_dashes=$cargo-test,task
cargo nextest | task | --no-run --no-fail-fast --retries= --test-threads= -E= --run-ignored= --no-capture |
    after_dashes=$cargo-test,task
cargo clippy | | --no-deps | after_dashes=-D=task,-W=task,-A=task,-F=task,--deny=task,--warn=task,--allow=task
cargo fmt | | --check | after_dashes=--check,-l,--emit=
cargo run|r | word | | after_dashes=word
cargo add|remove|rm | requirement | --dev --build --optional --no-optional --rename= --dry-run
$go = -v -x -n -a -race -tags= -mod= -p= -trimpath -buildvcs= -json
go | text | -C=enter | long_dash=- subcommands
go test | word | $go -run= -skip= -bench= -benchmem -benchtime= -count= -cover -covermode= -coverpkg= -cpu= -failfast
    -fuzz= -fuzztime= -list= -parallel= -short -shuffle= -timeout= -vet= -coverprofile=file | long_dash=-
go build|vet|list|doc|fmt | word | $go -m -u -f= -deps -test -find -all -short -src -c -e | long_dash=-
go run | go-main word | $go | long_dash=- options_first prefix_operands=1 always=alter
go version|env | name | -json -m | long_dash=-
go mod | word | -v -e -json -go= -compat= | long_dash=-
make,gmake | name | -kBnsiwqrRS -j?=number -l?=number -O?= --jobs?=number --keep-going --always-make --dry-run
    --just-print --silent --quiet --ignore-errors --print-directory --no-print-directory --question --touch --trace
    --warn-undefined-variables --output-sync?= -C=enter --directory=enter -f=load --file=load --makefile=load -I=load
    --include-dir=load --eval=run -E=run | prefix_operands=1
cmake | word | -B=change -S=read -D=define -U= -G= -A= -N -L -Wno-dev --build=change -t= -v -j?=number --target=
    --config= --parallel?=number --clean-first --verbose --fresh --preset= --list-presets?= --log-level= --trace!load
    -P=load -C=load -E=run --toolchain=load --install=change | after_dashes= no_prefix
mvn,mvnw | phase | -q -B -U -V -e -o -N -T= -pl= -am -amd -ff -fae -fn -ntp -quiet -batch-mode -offline -DskipTests?=
    -DskipITs?= -Dtest?=name -Dmaven.test.skip?= -DfailIfNoTests?= | long_dash=-
gradle,gradlew | task | -qio -x= --quiet --offline --info --stacktrace --no-daemon --daemon --parallel --continue
    --tests= --dry-run --rerun-tasks --console= --warning-mode= --build-cache --no-build-cache --configuration= |
    separate_value
eslint | word | -f=plain --format=plain --ext= --max-warnings= --quiet --no-fix --cache --no-cache --color --no-color
    --ignore-pattern= --no-ignore --report-unused-disable-directives --no-error-on-unmatched-pattern --no-warn-ignored
    --debug --fix!place --fix-dry-run -o=file --output-file=file | separate_value parser=rewriting
prettier | word | -clu --check --list-different --ignore-unknown --log-level= --loglevel= --no-config --tab-width=
    --print-width= --single-quote --no-semi --trailing-comma= --parser=plain --write!place -w!place | separate_value
    parser=rewriting
tsc | word | -p=read -b -w -v -d --project=read --build --noEmit --watch --verbose --pretty?= --strict --incremental
    --skipLibCheck --listFiles --diagnostics --extendedDiagnostics --force --dry --clean --target= --module= --jsx=
    --lib= --esModuleInterop --allowJs --checkJs --noUnusedLocals --noImplicitAny --traceResolution --explainFiles
    --showConfig | separate_value
jest,vitest | word | -t= -u -w= -i -b --testNamePattern= --testPathPattern= --testPathPatterns= --coverage --no-coverage
    --ci --bail --verbose --silent --watch --watchAll?= --runInBand --maxWorkers= --no-cache --updateSnapshot
    --listTests --passWithNoTests --onlyChanged -o --color --colors --no-color --forceExit --detectOpenHandles --json
    --testTimeout= --reporters=plain --reporter=plain --run --mode= --retry= --changed?= --update --shard= |
    separate_value
"""
