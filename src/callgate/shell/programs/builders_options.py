"""The options of package managers, builders, test runners, linters and formatters that matter to a rule.

Options that are not in the table pass, unless they may be short for one that is.
"""

from callgate.shell.programs.options import names

# names → options that matter. Operands are paths or names.
TABLE: dict[str, str] = {
    "npm pnpm yarn bun": """--prefix=enter --script-shell=run --shell=run --userconfig=load --globalconfig=load
        --node-options=load --registry=send --global!alter -g!alter --location=alter --call=run -c=run --git=run
        --editor=run --viewer=run --onload-script=load --https-proxy=send --proxy=send --cafile=load --cwd=enter
        --dir=enter -C=enter --modules-dir=load --init-module=load --cache=write --use-yarnrc=load --config=load
        --store-dir=write --pnpmfile=load --workspace=text -w=text --filter=text -F=text --omit=text --loglevel=text
        --otp=text --tag=text""",
    "pip pip3": """--index-url=send -i=send --extra-index-url=send --find-links=send -f=send --requirement=read
        -r=read --constraint=read -c=read --editable=read -e=read --pre --target=write -t=write --prefix=write
        --root=write --global-option=run --build-option=run --config-settings=run -C=run --python=run --log=file
        --cert=load --client-cert=load --proxy=send --trusted-host=send --cache-dir=write --src=write --report=file
        -d=write --dest=write --wheel-dir=write -w=write --index=send --format=text --timeout=text --retries=text""",
    "cargo": """--config=load --manifest-path=load -C=enter -Z=load --target-dir=write --artifact-dir=write
        --out-dir=write --lockfile-path=load --registry=send --index=send --git=send --path=load --root=write
        -p=text --package=text --features=text -F=text --bin=text --test=text --example=text --target=text -j=text
        --jobs=text --color=text --message-format=text --profile=text --exclude=text --fix!write""",
    "make gmake": """-f=load --file=load --makefile=load -C=enter --directory=enter -I=load --include-dir=load
        --eval=run -E=run -j?=text --jobs?=text -l?=text -o=text -W=text -O?=text --load-average?=text
        --old-file=text --what-if=text""",
    "ninja": "-C=read -f=load -d=text -j=text -k=text -l=text -t=text -w=text",
    "tox": """-c=load --conf=load -p=text --parallel?=text -e=text --discover=load --root=load --workdir=write -x=load
        --override=load --installpkg=load --force-dep=load --result-json=file --runner=load --default-runner=load""",
    "mvn": """-f=load -file=load -s=load -settings=load -gs=load -global-settings=load -t=load -toolchains=load
        -gt=load -global-toolchains=load -l=file -log-file=file -P=load -activate-profiles=load -b=load -builder=load
        -pl=text -projects=text -rf=text -resume-from=text -T=text -threads=text -am -amd -B -e -fae -ff -fn -N -ntp
        -o -q -U -V -X -DskipTests?=text -DskipITs?=text -Dtest?=text -Dit.test?=text -Dmaven.test.skip?=text
        -DfailIfNoTests?=text -Dsurefire.failIfNoSpecifiedTests?=text -Dstyle.color?=text""",
    "just task rake invoke nox gradle ant bazel": """-f=load -C=load -c=load -b=load -p=load -D=load
        -I=load -P=load -R=load --justfile=load --working-directory=load --taskfile=load --rakefile=load
        --config=load --init-script=load --build-file=load --settings=load --project-dir=load --file=load --set=load
        --shell=run --noxfile=load""",
    "pytest py.test": """-p=plugin -c=load --config-file=load --rootdir=load -o=load --override-ini=load --pdbcls=load
        --confcutdir=load --basetemp=remove --junitxml=file --junit-xml=file --log-file=file --debug?=file
        --pastebin=send --cov-config=load --report-log=file --html=file -W=warning --pythonwarnings=warning
        --import-mode=text -k=text -m=text -n=text --numprocesses=text --maxfail=text --tb=text --durations=text
        --cov?=text --cov-report=report --deselect=text --ignore=text --ignore-glob=text --color=text -r=text
        --capture=text --timeout=text --log-cli-level=text --cov-append --co --collect-only --trace --pdb --lsof
        --pyargs -P=load --inifile=load
        --plugin=load --result-log=file --resultlog=file""",
    "mypy": """--config-file=config --python-executable=run --custom-typeshed-dir=load --custom-typing-module=load
        --cache-dir=write --any-exprs-report=write --cobertura-xml-report=write --html-report=write
        --lineprecision-report=write --linecount-report=write --linecoverage-report=write --txt-report=write
        --xml-report=write --xslt-html-report=write --xslt-txt-report=write --junit-xml=file --install-types!run
        --timing-stats=file --line-checking-stats=file -c=text -m=text -p=text --python-version=text
        --exclude=text --plugin=load --shadow-file=load""",
    "ruff": """--config=read --output-file=file -o=file --cache-dir=write --isolated --fix!place
        --unsafe-fixes!place --fix-only!place --add-noqa!place --select=text --ignore=text --output-format=text
        --line-length=text
        --target-version=text --exclude=text --stdin-filename=text --extension=text --watch --diff --check
        --log-file=file""",
    "eslint": """-c=load --config=load --rulesdir=load --plugin=load --resolve-plugins-relative-to=load
        --parser=load --parser-options=load -f=reporter --format=reporter --fix!place --fix-type=text -o=file
        --output-file=file --cache-location=write --cache-file=write --init!run --ignore-path=read --rule=text
        --ext=text --env=text --flag=load""",
    "prettier biome black isort autopep8 yapf stylelint dprint rustfmt": """--config=load --config-path=load
        --plugin=load --plugin-search-dir=load --find-config-path=load --write!place -w!place --in-place!place -i!place
        --fix!place --apply!place --cache-location=write --resolve-plugins-relative-to=load --check -c
        --list-different -l --code=text --settings-path=load --settings-file=load --settings=load""",
    "gofmt shfmt clang-format": """-w!place -write!place -i!place -d -l -s -e -r=text -style=text -cpuprofile=file
        -assume-filename=text -files=read""",
    "tsc": """-p=read --project=read --outDir=write --outFile=write --declarationDir=write --tsBuildInfoFile=write
        --generateTrace=write --generateCpuProfile=write --plugins=load --init!write --rootDir=text --baseUrl=load
        --typeRoots=load --build -b""",
    "jest vitest mocha ava playwright cypress": """-c=load --config=load --rootDir=load --root=load --dir=load
        --setupFiles=load --setupFilesAfterEnv=load --globalSetup=load --globalTeardown=load --testRunner=load
        --transform=load --reporters=reporter --reporter=reporter --runner=load --resolver=load --preset=load --env=load
        --environment=load --testEnvironment=load --coverageDirectory=write --outputFile=file --filter=load
        --require=load -r=load --import=load --loader=load --cacheDirectory=write --snapshotResolver=load
        --testSequencer=load --moduleNameMapper=load --prettierPath=load --watchPlugins=load -t=text
        --testNamePattern=text --testPathPattern=text -g=text --grep=text --maxWorkers=text --projects=load
        --project=text --coverage --run --bail
        --watch --ci --node-option=load --package=load --file=load --opts=load""",
    "terraform tofu": """-chdir=enter -backend=text -var-file=load -plugin-dir=load -backend-config=load -out=file
        -state=write -state-out=write -backup=write -config=load -auto-approve!alter -destroy!alter""",
    "ansible ansible-playbook": """-i=load -e=load --extra-vars=load -M=load --module-path=load -m=odd -a=run
        --args=run -c=load""",
    "cmake meson": """-P=load -C=load -E=run -D=define -U=text -G=text -T=text -A=text -B=change -S=read --build=change
        --toolchain=load""",
    "flake8": """--config=load --append-config=load --output-file=file --tee --install-hook=run --enable-extensions=text
        --max-line-length=text --select=text --ignore=text --extend-ignore=text --exclude=text --format=text""",
    "pylint": """--rcfile=load --init-hook=run --load-plugins=load --output=file --output-format=reporter
        --disable=text -d=text --enable=text -e=text -j=text --msg-template=text""",
    "pyright basedpyright": """-p=read --project=read --pythonpath=run --typeshedpath=load -t=load --venvpath=load
        -v=load --createstub=write --writebaseline!write --baselinefile=file --pythonversion=text --level=text""",
    "shellcheck hadolint yamllint": """--rcfile=read --config=read --config-file=read -c=read -f=text --format=text
        -s=text --shell=text -e=text --exclude=text -S=text --severity=text -P=read --source-path=read --ignore=text
        -d=text""",
    "actionlint": "-shellcheck=run -pyflakes=run -config-file=read -init-config!write -ignore=text -format=text",
    "codespell": """--config=read --toml=read -w!place --write-changes!place -i=text --interactive=text -I=read
        --ignore-words=read -L=text --ignore-words-list=text -S=text --skip=text -D=read --dictionary=read -x=read
        --exclude-file=read""",
    "markdownlint markdownlint-cli2": """-c=load --config=load -r=load --rules=load -f!place --fix!place -o=file
        --output=file -i=text --ignore=text""",
    "bat batcat": """--pager=run --theme=text -l=text --language=text -r=text --line-range=text -H=text
        --highlight-line=text --style=text --paging=text --color=text -m=text --map-syntax=text --tabs=text
        --wrap=text --config-file!alter --generate-config-file!write --diff""",
    "eza exa tokei": "-L=text --level=text -I=text --ignore-glob=text -s=text --sort=text -t=text --types=text -o=text",
    "cloc": """--config=load --out=file --report-file=file --extract-with=run --write-lang-def=file --vcs=run
        --list-file=read --exclude-dir=text --include-lang=text --exclude-ext=text --diff --sql=file
        --strip-comments=write --strip-code=write --unicode --ignored=file --counted=file --found=file""",
    "gem composer apt apt-get dnf yum apk pacman": """-c=load -o=load --config-file=load --option=load --source=send
        --install-dir=write -i=text -n=text --working-dir=load -d=load --root=write --config=load""",
}
ONE_DASH = ("terraform", "tofu", "tsc", "mvn", "actionlint", "cloc", "gofmt", "shfmt", "clang-format")
# Subcommands that run what they are told to, or hand things out; to be written out in the rule.
DRASTIC: dict[str, frozenset[str]] = {
    "npm": names(
        """init create innit pkg set-script explore config set edit publish unpublish token login adduser owner
        access hook link"""
    ),
    "pnpm": names("config set publish env link create"),
    "yarn": names("create init config set publish link plugin node"),
    "bun": names("publish link create"),
    "pip": names("config"),
    "pip3": names("config"),
    "cargo": names("publish login yank owner install"),
    "go": names("generate tool run get install"),
    "terraform": names("destroy import state taint force-unlock console"),
    "tofu": names("destroy import state taint force-unlock console"),
    "gem": names("push yank owner"),
}
CARGO = names(
    """build b check c test t run r clippy fmt doc d bench tree metadata search update clean add remove rm fix package
    vendor version help fetch generate-lockfile locate-project pkgid init new report rustc rustdoc nextest
    publish login yank owner install uninstall"""
)
GO = """-exec=run -toolexec=run -vettool=run -overlay=load -modfile=load -C=enter -o=file -outputdir=write
    -coverprofile=file -cpuprofile=file -memprofile=file -blockprofile=file -mutexprofile=file -trace=file
    -ldflags=run -gcflags=run -asmflags=run -gccgoflags=run -compiler=run -pkgdir=load -work -w!alter -u!alter
    -run=text -bench=text -count=text -timeout=text -tags=text -cover -race -v -short -json -parallel=text -cpu=text
    -covermode=text -coverpkg=text -mod=text -p=text -n -x -a -i -e -f=text -m -deps -test -fuzz=text -skip=text
    -failfast -benchmem -benchtime=text -shuffle=text -vet=text -buildvcs=text -trimpath -list=text -pgo=load
    -installsuffix=text"""
# Subcommands that run the program named by the next word.
RUNNING: dict[str, frozenset[str]] = {
    "npm": names("exec x"),
    "pnpm": names("exec dlx"),
    "yarn": names("exec dlx node"),
    "bun": names("x"),
}
# npm takes the beginning of a command for the whole; these it knows under their own names.
NPM = names(
    """i in ins inst insta instal install ci ic t tst test run run-script rum urn r rm un remove uninstall unlink
    up update upgrade ls ll la list v view info show s se find search audit outdated dedupe ddp prune root prefix bin
    help version start stop restart rebuild rb why explain fund doctor pack diff query ping whoami cache repo docs
    bugs"""
)
# They write what they are given, unless one of these options is there.
FORMATTERS: dict[str, frozenset[str]] = {
    "black": names("--check --diff --code -c --version --help"),
    "isort": names("--check --check-only -c --diff --df --stdout -d --version --help"),
    "rustfmt": names("--check --version --help"),
    "ruff format": names("--check --diff --version --help"),
    "dprint fmt": names("--diff --check --version --help"),
}
