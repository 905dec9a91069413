"""Programs that run the program named by their words."""

import re

from callgate.shell.programs.options import Found, grammar, names, scan, uses_in
from callgate.shell.programs.uses import Program, Use, Words, said, unsure

# name → options; the first operand is the command, after as many words of its own as the number says.
_TABLE: dict[str, tuple[int, str]] = {
    "timeout": (1, "-vfp -k=text -s=text --foreground --preserve-status --kill-after=text --signal=text --verbose"),
    "gtimeout": (1, "-v -k=text -s=text --foreground --preserve-status --kill-after=text --signal=text"),
    "nice": (0, "-n=text --adjustment=text -#"),
    "ionice": (0, "-t -c=text -n=text -p=text -P=text -u=text --class=text --classdata=text --ignore --pid=text"),
    "chrt": (1, "-abdfimorRv -p -T=text -P=text -D=text --all-tasks --batch --fifo --idle --other --rr"),
    "taskset": (1, "-ac -p --all-tasks --cpu-list --pid"),
    "nohup": (0, ""),
    "setsid": (0, "-cfw --ctty --fork --wait"),
    "stdbuf": (0, "-i=text -o=text -e=text --input=text --output=text --error=text"),
    "unbuffer": (0, "-p"),
    "time": (0, "-apqv -f=text -o=file --append --format=text --output=file --portability --quiet --verbose"),
    "catchsegv": (0, ""),
    "chronic": (0, "-ev"),
    "numactl": (0, "-N=text -m=text -C=text -i=text --cpunodebind=text --membind=text --interleave=text"),
    "prlimit": (0, "-p=text --pid=text"),
    "cpulimit": (0, "-l=text -p=text -i -z"),
    "setarch": (1, "-R --addr-no-randomize"),
    "linux32": (0, "-R"),
    "linux64": (0, "-R"),
    "fakeroot": (0, "-u -l=load -i=read -s=write --lib=load"),
    "dbus-run-session": (0, "--config-file=load"),
    "proxychains": (0, "-q -f=load"),
    "proxychains4": (0, "-q -f=load"),
    "torsocks": (0, ""),
    "xvfb-run": (0, "-a -n=text -s=text -e=write -f=write -w=text -p=text --auto-servernum --server-args=odd"),
    "command": (0, "-p -v -V"),
    "builtin": (0, ""),
    "exec": (0, "-cl -a=text"),
    "nocorrect": (0, ""),
    "noglob": (0, ""),
    "coproc": (0, ""),
    "strace": (
        0,
        """-cCdfFhikqrtTvVwxXyYzZ -a=text -b=text -e=text -E=load -I=text -o=write -O=text -p=text -P=text -s=text
        -S=text -u=text -U=text --trace=text --output=write""",
    ),
    "ltrace": (
        0,
        """-bcCfhiLrStTV -a=text -A=text -D=text -e=text -F=load -l=text -n=text -o=write -p=text -s=text -u=text
        -w=text -x=text""",
    ),
    "valgrind": (0, "-qvd --tool=text --leak-check=text --log-file=write --suppressions=read --error-exitcode=text"),
    "unshare": (
        0,
        """-CTUfirmnpuc -R=load -w=text -S=text -G=text --mount?=text --user?=text --pid?=text --net?=text --fork
        --map-root-user --mount-proc?=text --root=load --wd=text""",
    ),
    "nsenter": (0, "-aCUmuinpFr -t=text -S=text -G=text -w?=text --target=text --all --mount?=text --pid?=text"),
    "chroot": (1, "--userspec=text --groups=text --skip-chdir"),
    "systemd-run": (
        0,
        """-dPSGqrt -u=text -p=text -E=load --unit=text --property=text --user --scope --pty --wait --slice=text""",
    ),
    "systemd-inhibit": (0, "--what=text --who=text --why=text --mode=text"),
    "firejail": (0, "--quiet --noprofile --net=text --private?=text"),
    "bwrap": (0, ""),
    "caffeinate": (0, "-disum -t=text -w=text"),
    "flock": (
        1,
        """-enosuxFv -E=text -w=text --exclusive --nonblock --shared --timeout=text --wait=text --no-fork -c=run
        --command=run""",
    ),
    "watch": (
        0,
        """-bcdegptwxC -n=text -q=text --interval=text --differences?=text --exec --no-title --beep --color --errexit
        --chgexit --precise""",
    ),
    "entr": (0, "-acdnprsxz"),
    "parallel": (
        0,
        """-kmqtuvX0 -j=text -n=text -N=text -I=text -L=text -P=text -S=text -a=read -C=text -d=text --jobs=text
        --keep-order --halt=text --bar --dry-run --tag --line-buffer --joblog=write --results=write --delay=text
        --timeout=text --retries=text""",
    ),
    "xargs": (
        0,
        """-0prtxo -a=read -d=text -E=text -e?=text -I=text -i?=text -L=text -l?=text -n=text -P=text -s=text --null
        --arg-file=read --delimiter=text --max-args=text --max-procs=text --max-lines?=text --no-run-if-empty
        --replace?=text --verbose --interactive --exit --max-chars=text --open-tty --process-slot-var=text""",
    ),
    "npx": (0, "-qy -p=text -c=run --yes --no-install --package=text --call=run --quiet --no --workspace=text"),
    "bunx": (0, "--bun"),
    "pnpx": (0, ""),
    "uvx": (
        0,
        """-q --from=text --with=text --python=text -p=text --isolated --with-editable=load --with-requirements=load
        --index-url=send""",
    ),
    "pipx": (1, "--spec=text"),
    "sudo": (
        0,
        """-ABbEHKklNnPSVv -s!run -i!run -C=text -D=text -g=text -h=text -p=text -R=load -r=text -T=text -t=text
        -U=text -u=text --user=text --group=text --non-interactive --preserve-env?=text --login!run --shell!run
        --set-home --chdir=text --stdin""",
    ),
    "doas": (0, "-Lns -a=text -C=load -u=text"),
    "pkexec": (0, "--user=text --disable-internal-agent --keep-cwd"),
    "runuser": (0, "-flm -u=text -g=text -G=text -c=run -s=text --user=text --command=run"),
    "busybox": (0, ""),
    "toybox": (0, ""),
    "dotenv": (0, "-f=load -e=load"),
    "ld.so": (
        0,
        """--library-path=load --preload=load --audit=load --inhibit-cache --argv0=text --list --verify
        --inhibit-rpath=text""",
    ),
}
# Those under which the same program runs with the same rights: only these are as quiet as what they run.
TRANSPARENT = names("timeout gtimeout nice ionice stdbuf unbuffer time command builtin chronic")
_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\+?=")
# Their words become shell text again.
_SHELL_TEXT = names("watch parallel entr")


def commands(words: Words, found: list[Found], own: int, name: str) -> list[Use]:
    """Where the command may start, after ``own`` operands that belong to the wrapper."""
    why = f"{name} runs another command"
    operands = [each for each in found if not each.name]
    start = operands[own].at if len(operands) > own else len(words)
    uses: list[Use] = []
    while start < len(words) and _ASSIGNMENT.match(said(words[start])):
        uses.append(Use("load", said(words[start]), start, start, f"{said(words[start])} sets the environment"))
        start += 1
    if start < len(words):
        uses.append(Use("argv", "", 0, start, why))
        if name in _SHELL_TEXT:
            uses.append(Use("run", " ".join(said(word) for word in words[start:]), 0, len(words) - 1, why))
    before = words[1 : start + 1]
    if any(each.name and each.option is None and each.at < start for each in found) or any(map(unsure, before)):
        # A word that is not known may take the next one with it: then the command starts later, or anywhere.
        uses.append(Use("argv", "", 0, len(words), f"where the command of {name} starts is not known"))
    return uses


def _wrapper(name: str, own: int, spec: str) -> Program:
    rules = grammar(spec, stops=own == 0)

    def read(words: Words) -> list[Use]:
        found = scan(rules, words)
        operands = [each for each in found if not each.name]
        if name == "command" and any(each.name in ("-v", "-V") for each in found):
            return []
        if len(operands) > own:
            found = [each for each in found if not each.name or each.at < operands[own].at]
        return uses_in(rules, found) + commands(words, found, own, name)

    return Program(read)


_ENV = grammar(
    """-i0v -u=text -C=load -S=run --ignore-environment --null --unset=text --chdir=load --split-string=run --debug
    --block-signal?=text --default-signal?=text --ignore-signal?=text -P=load -a=text --argv0=text""",
    stops=True,
)


def _env(words: Words) -> list[Use]:
    """Alone it shows the environment; a lone dash empties it."""
    found = [each for each in scan(_ENV, words) if each.name or each.text != "-"]
    uses = uses_in(_ENV, found) + commands(words, found, 0, "env")
    runs = any(use.role in ("argv", "run") for use in uses)
    return uses if runs else [*uses, Use("load", "", 0, 0, "it shows the environment")]


_SU = grammar("-flmpP -c=run -g=text -G=text -s=text -w=text --command=run --login --shell=text --preserve-environment")
_SCRIPT = grammar(
    """-aefqB -c=run -I=write -O=write -o=text -m=text -E=text -T=write -t?=write --command=run --quiet --flush
        --append --return --log-in=write --log-out=write --log-io=write --log-timing=write --timing?=write --force""",
    "write",
)


_GDB = grammar(
    """-q -n -args -batch -nx -quiet -ex=run -iex=run -x=load -p=text -eval-command=run -command=load""", dash="-"
)


def _gdb(words: Words) -> list[Use]:
    """A debugger runs what it debugs, and whatever it is told."""
    found = scan(_GDB, words)
    return [*uses_in(_GDB, found), *commands(words, found, 0, "gdb"), Use("code", "", 0, 0, "it runs what it reads")]


def _su(words: Words) -> list[Use]:
    return [*uses_in(_SU, scan(_SU, words)), Use("alter", "", 0, 0, "it works as somebody else")]


def _script(words: Words) -> list[Use]:
    uses = uses_in(_SCRIPT, scan(_SCRIPT, words))
    return [*uses, Use("run", "", 0, 0, "script starts a shell")]


# program, then subcommand: what follows is a command.
_RUNNERS: dict[str, tuple[str, ...]] = {
    "uv": ("run",),
    "poetry": ("run",),
    "pipenv": ("run",),
    "pdm": ("run",),
    "hatch": ("run",),
    "rye": ("run",),
    "bundle": ("exec",),
    "direnv": ("exec",),
    "nix": ("run", "shell", "develop"),
    "mise": ("exec", "x"),
    "asdf": ("exec",),
    "conda": ("run",),
    "mamba": ("run",),
    "dotnet": ("exec",),
    "rbenv": ("exec",),
    "pyenv": ("exec",),
    "rustup": ("run",),
    "volta": ("run",),
    "fnm": ("exec",),
    "op": ("run",),
    "doppler": ("run",),
    "aws-vault": ("exec",),
}
RUNNER_WORDS = {"rustup": 1, "direnv": 1, "aws-vault": 1}
_RUNNER_OPTIONS = {
    "uv": """-qvn --frozen --locked --no-sync --offline --no-project --isolated --exact --active --dev --no-dev
        --only-dev --all-extras --no-default-groups --all-groups --all-packages --quiet --verbose --no-cache
        --extra=text --group=text --only-group=text --no-group=text --no-extra=text --package=text --python=run -p=run
        --with=load --with-editable=load --with-requirements=load --env-file=load --directory=enter --project=load
        --index=send --index-url=send --default-index=send --find-links=send -s!odd -m!odd --module!odd --script!odd""",
    "poetry": """-qvn --quiet --verbose --no-interaction --no-ansi --no-plugins --directory=enter -C=enter
        --project=load -P=load""",
    "pipenv": "--quiet --verbose --system --python=run",
    "conda": "-n=text --name=text -p=load --prefix=load --no-capture-output --live-stream -v --cwd=enter",
    "mamba": "-n=text --name=text -p=load --prefix=load --no-capture-output --live-stream -v --cwd=enter",
}


def runner_uses(name: str, words: Words) -> list[Use]:
    """For ``uv run pytest`` and the like: where the command inside starts. Nothing for other subcommands."""
    at = next((at for at, word in enumerate(words) if at and said(word) in _RUNNERS[name]), 0)
    if not at:
        return []
    rules = grammar(_RUNNER_OPTIONS.get(name, ""), stops=True)
    found = scan(rules, words, at + 1)
    own = RUNNER_WORDS.get(name, 0)
    uses = commands(words[at:], [_moved(each, at) for each in found], own, name)
    uses = [Use(use.role, use.text, use.at + at, use.on + at, use.why) for use in uses]
    uses += uses_in(rules, [each for each in found if each.option])
    if at > 1:
        uses.append(Use("odd", "", 1, at, f"what stands between {name} and {said(words[at])} is not known"))
    return uses


def _moved(found: Found, by: int) -> Found:
    return Found(found.name, found.text, found.at - by, found.on - by, found.option)


def _runner(name: str) -> Program:
    def read(words: Words) -> list[Use]:
        return runner_uses(name, words) or anything(words)

    return Program(read)


def anything(words: Words) -> list[Use]:
    """A program nobody knows: every word may be a path it reads or writes, a part after ``=`` too."""
    uses = [Use("alter", "", 0, 0, meant=True)]
    for at, word in enumerate(words[1:], 1):
        text = said(word)
        if text[:1] == "-":
            _, given, value = text.partition("=")
            text = value if given else text[2:] if text[2:3] in ("/", "~", ".") else ""
        if text[:1] == "@" and len(text) > 1:
            uses.append(Use("read", text[1:], at, at, meant=True, guess=True))
        if text:
            uses += [
                Use("read", text, at, at, meant=True, guess=True),
                Use("write", text, at, at, meant=True, guess=True),
            ]
    return uses


WRAPPERS: dict[str, Program] = {
    **{name: _wrapper(name, own, spec) for name, (own, spec) in _TABLE.items()},
    **{name: _runner(name) for name in _RUNNERS},
    "env": Program(_env),
    "gdb": Program(_gdb),
    "su": Program(_su),
    "script": Program(_script),
}
