"""Package managers, builders, test runners and linters.

They run the project's own code: that is what they are for. What is kept out are the words that point them at other
code or other settings. Options that are not in the table pass, unless they may be short for one that is kept out.
"""

import re

from callgate.policy.shell.programs.options import Found, Grammar, grammar, loose, names, scan, uses_in
from callgate.policy.shell.programs.uses import WHY, Program, Use, Words, said
from callgate.policy.shell.programs.wrappers import anything

# names → options that matter. Operands are paths or names.
_TABLE: dict[str, str] = {
    "npm pnpm yarn bun": """--prefix=load --script-shell=run --shell=run --userconfig=load --globalconfig=load
        --node-options=load --registry=send --global!alter -g!alter --location=alter --call=run -c=run --git=run
        --editor=run --viewer=run --onload-script=load --https-proxy=send --proxy=send --cafile=load --cwd=load
        --dir=load -C=load --modules-dir=load --init-module=load --cache=write --use-yarnrc=load --config=load
        --store-dir=write --pnpmfile=load --workspace=text -w=text --filter=text -F=text --omit=text --loglevel=text
        --otp=text --tag=text""",
    "pip pip3": """--index-url=send -i=send --extra-index-url=send --find-links=send -f=send --requirement=read
        -r=read --constraint=read -c=read --editable=read -e=read --pre --target=write -t=write --prefix=write
        --root=write --global-option=run --build-option=run --config-settings=run -C=run --python=run --log=write
        --cert=load --client-cert=load --proxy=send --trusted-host=send --cache-dir=write --src=write --report=write
        -d=write --dest=write --wheel-dir=write -w=write --index=send --format=text --timeout=text --retries=text""",
    "cargo": """--config=load --manifest-path=load -C=load -Z=load --target-dir=write --artifact-dir=write
        --out-dir=write --lockfile-path=load --registry=send --index=send --git=send --path=load --root=write
        -p=text --package=text --features=text -F=text --bin=text --test=text --example=text --target=text -j=text
        --jobs=text --color=text --message-format=text --profile=text --exclude=text --fix!write""",
    "make gmake": """-f=load --file=load --makefile=load -C=load --directory=load -I=load --include-dir=load
        --eval=run -E=run -j?=text --jobs?=text -l?=text -o=text -W=text -O?=text --load-average?=text
        --old-file=text --what-if=text""",
    "ninja just task rake invoke tox nox gradle mvn ant bazel": """-f=load -C=load -c=load -b=load -p=load -D=load
        -I=load -P=load -R=load --justfile=load --working-directory=load --taskfile=load --rakefile=load
        --config=load --init-script=load --build-file=load --settings=load --project-dir=load --file=load --set=load
        --shell=run --noxfile=load""",
    "pytest py.test": """-p=load -c=load --config-file=load --rootdir=load -o=load --override-ini=load --pdbcls=load
        --confcutdir=load --basetemp=write --junitxml=write --junit-xml=write --log-file=write --debug?=write
        --pastebin=send --cov-config=load --report-log=write --html=write -W=load --pythonwarnings=load
        --import-mode=text -k=text -m=text -n=text --numprocesses=text --maxfail=text --tb=text --durations=text
        --cov?=text --cov-report?=text --deselect=text --ignore=text --ignore-glob=text --color=text -r=text
        --capture=text --timeout=text --log-cli-level=text --cov-append --co --collect-only --trace --pdb --lsof
        --pyargs -P=load
        --plugin=load --result-log=write --resultlog=write""",
    "mypy": """--config-file=load --python-executable=run --custom-typeshed-dir=load --custom-typing-module=load
        --cache-dir=write --any-exprs-report=write --cobertura-xml-report=write --html-report=write
        --lineprecision-report=write --linecount-report=write --linecoverage-report=write --txt-report=write
        --xml-report=write --xslt-html-report=write --xslt-txt-report=write --junit-xml=write --install-types!run
        --timing-stats=write --line-checking-stats=write -c=text -m=text -p=text --python-version=text
        --exclude=text --plugin=load --shadow-file=load""",
    "ruff": """--config=read --output-file=write -o=write --cache-dir=write --isolated --fix!write
        --unsafe-fixes!write --fix-only!write --add-noqa!write --select=text --ignore=text --output-format=text
        --line-length=text
        --target-version=text --exclude=text --stdin-filename=text --extension=text --watch --diff --check
        --log-file=write""",
    "eslint": """-c=load --config=load --rulesdir=load --plugin=load --resolve-plugins-relative-to=load
        --parser=load --parser-options=load -f=load --format=load --fix!write --fix-type=text -o=write
        --output-file=write --cache-location=write --cache-file=write --init!run --ignore-path=read --rule=text
        --ext=text --env=text --flag=load""",
    "prettier biome black isort autopep8 yapf stylelint dprint": """--config=load --config-path=load --plugin=load
        --plugin-search-dir=load --find-config-path=load --write!write -w!write --in-place!write -i!write
        --cache-location=write --resolve-plugins-relative-to=load --check -c --list-different -l --code=text
        --settings-path=load --settings-file=load --settings=load""",
    "tsc": """-p=read --project=read --outDir=write --outFile=write --declarationDir=write --tsBuildInfoFile=write
        --generateTrace=write --generateCpuProfile=write --plugins=load --init!write --rootDir=text --baseUrl=load
        --typeRoots=load --build -b""",
    "jest vitest mocha ava playwright cypress": """-c=load --config=load --rootDir=load --root=load --dir=load
        --setupFiles=load --setupFilesAfterEnv=load --globalSetup=load --globalTeardown=load --testRunner=load
        --transform=load --reporters=load --reporter=load --runner=load --resolver=load --preset=load --env=load
        --environment=load --testEnvironment=load --coverageDirectory=write --outputFile=write --filter=load
        --require=load -r=load --import=load --loader=load --cacheDirectory=write --snapshotResolver=load
        --testSequencer=load --moduleNameMapper=load --prettierPath=load --watchPlugins=load -t=text
        --testNamePattern=text --testPathPattern=text -g=text --grep=text --maxWorkers=text --projects=load
        --coverage --run --bail
        --watch --ci --node-option=load --package=load --file=load --opts=load""",
    "terraform tofu": """-chdir=load -var-file=load -plugin-dir=load -backend-config=load -out=write -state=write
        -state-out=write -backup=write -config=load -auto-approve!alter -destroy!alter""",
    "ansible ansible-playbook": """-i=load -e=load --extra-vars=load -M=load --module-path=load -m=odd -a=run
        --args=run -c=load""",
    "cmake meson": """-P=load -C=load -E=run -D=load -U=text -G=text -T=text -A=text -B=change -S=read --build=change
        --toolchain=load""",
    "gem composer apt apt-get dnf yum apk pacman": """-c=load -o=load --config-file=load --option=load --source=send
        --install-dir=write -i=text -n=text --working-dir=load -d=load --root=write --config=load""",
}
_ONE_DASH = ("terraform", "tofu", "tsc")
# Subcommands that run what they are told to, or hand things out; to be written out in the rule.
_DRASTIC: dict[str, frozenset[str]] = {
    "npm": names(
        """exec x init create innit pkg set-script explore config set edit publish unpublish token login adduser owner
        access hook link"""
    ),
    "pnpm": names("exec dlx config set publish env link create"),
    "yarn": names("exec dlx create init config set publish link plugin node"),
    "bun": names("x publish link create"),
    "pip": names("config"),
    "pip3": names("config"),
    "cargo": names("publish login yank owner install"),
    "go": names("generate tool env run get install"),
    "terraform": names("destroy import state taint force-unlock console"),
    "tofu": names("destroy import state taint force-unlock console"),
    "gem": names("push yank owner"),
}
_CARGO = names(
    """build b check c test t run r clippy fmt doc d bench tree metadata search update clean add remove rm fix package
    vendor version help fetch generate-lockfile locate-project pkgid init new report rustc rustdoc nextest
    publish login yank owner install uninstall"""
)
_GO = """-exec=run -toolexec=run -vettool=run -overlay=load -modfile=load -C=load -o=write -outputdir=write
    -coverprofile=write -cpuprofile=write -memprofile=write -blockprofile=write -mutexprofile=write -trace=write
    -ldflags=run -gcflags=run -asmflags=run -gccgoflags=run -compiler=run -pkgdir=load -work -w!alter -u!alter
    -run=text -bench=text -count=text -timeout=text -tags=text -cover -race -v -short -json -parallel=text -cpu=text
    -covermode=text -coverpkg=text -mod=text -p=text -n -x -a -i -e -f=text -m -deps -test -fuzz=text -skip=text
    -failfast -benchmem -benchtime=text -shuffle=text -vet=text -buildvcs=text -trimpath -list=text -pgo=load
    -installsuffix=text"""
_MAKE_VARIABLE = re.compile(r"[^=\s]*=")


def _reader(name: str, rules: Grammar) -> Program:
    def read(words: Words) -> list[Use]:
        found = scan(rules, words)
        ended = next((at for at, word in enumerate(words) if said(word) == "--"), len(words))
        operands = [each for each in found if not each.name]
        if name in ("npm", "pnpm", "yarn", "cargo"):
            # What follows belongs to the script or the test.
            found = [each for each in found if each.at < ended]
        uses = [Use("alter", "", 0, 0, meant=True), *uses_in(rules, found), *loose(words)]
        return uses + _drastic(name, operands) + _special(name, operands)

    return Program(read)


def _drastic(name: str, operands: list[Found]) -> list[Use]:
    if not operands or operands[0].text not in _DRASTIC.get(name, ()):
        return []
    first = operands[0]
    return [Use("alter", "", first.at, first.on, f"{name} {first.text} is more than {name}")]


def _special(name: str, operands: list[Found]) -> list[Use]:
    uses: list[Use] = []
    for each in operands:
        if name in ("make", "gmake", "just", "task", "rake", "ninja") and _MAKE_VARIABLE.match(each.text):
            uses.append(Use("run", "", each.at, each.on, f"{each.text} sets a variable of the build"))
        elif name in ("pytest", "py.test", "mypy", "tsc") and each.text[:1] == "@":
            uses.append(Use("load", each.text, each.at, each.on, "@ takes options from a file"))
        elif name in ("cmake", "meson") and each.text[:1] == "-":
            uses.append(Use("odd", each.text, each.at, each.on, f"{each.text} is for another program"))
        elif name == "cargo" and each.text[:1] == "+":
            uses.append(Use("load", each.text, each.at, each.on, "+ picks another compiler"))
    if name == "cargo" and operands and operands[0].text not in _CARGO:
        uses.append(Use("odd", "", operands[0].at, operands[0].on, f"cargo {operands[0].text} is not known"))
    return uses


_COMPILER = re.compile(r"(?:-fplugin|-B|-wrapper|--?specs|-Xlinker|-Wl,|-Wp,|-Wa,|-load|-Xclang|-C|@|--config|-J)")


def _compiler(words: Words) -> list[Use]:
    """A compiler writes what it makes; some options make it run other programs or take options from files."""
    odd = [(at, said(word)) for at, word in enumerate(words[1:], 1) if _COMPILER.match(said(word))]
    return anything(words) + loose(words) + [Use("load", text, at, at, f"{text} {WHY['load']}") for at, text in odd]


BUILDERS: dict[str, Program] = {
    name: _reader(name, grammar(spec, "read", lenient=True, dash="-" if name in _ONE_DASH else "--"))
    for called, spec in _TABLE.items()
    for name in called.split()
} | {
    "go": _reader("go", grammar(_GO, "read", lenient=True, dash="-")),
    **dict.fromkeys(names("gcc g++ cc c++ clang clang++ rustc javac"), Program(_compiler)),
}
