"""Programs that run the program named by their words, and the shell's own commands."""

import re

from callgate.shell.programs.entries import Entry, Found, grammar_for, loose, scan, uses_in
from callgate.shell.programs.uses import Use, Words, text_of, unsure

_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\+?=")
# A subscript is computed, and computing may run a command, whatever the quotes.
_SUBSCRIPT = re.compile(r"[\[$`]")
# No conversion but those of words and numbers; others compute, set variables or read their word as a format.
_PLAIN_FORMAT = re.compile(r"(?:[^%]|%%|%-?[0-9]*(?:\.[0-9]+)?[sd])*")


def commands(words: Words, found: list[Found], own: int, name: str, *, shell_text: bool = False) -> list[Use]:
    """The place where the command may start, after ``own`` operands that belong to the wrapper."""
    why = f"{name} runs another command"
    operands = [each for each in found if not each.name]
    start = operands[own].at if len(operands) > own else len(words)
    uses: list[Use] = []
    while start < len(words) and _ASSIGNMENT.match(text_of(words[start])):
        text = text_of(words[start])
        uses.append(Use(role="load", text=text, at=start, on=start, why=f"{text} sets the environment"))
        start += 1
    if start < len(words):
        uses.append(Use(role="argv", text="", at=0, on=start, why=why))
        if shell_text:
            uses.append(
                Use(
                    role="run", text=" ".join(text_of(word) for word in words[start:]), at=0, on=len(words) - 1, why=why
                )
            )
    unread = any(each.name and each.option is None and each.at < start for each in found)
    if unread or any(map(unsure, words[1 : start + 1])):
        # A word that is not known may take the next one with it: then the command starts later, or anywhere.
        uses.append(
            Use(role="argv", text="", at=0, on=len(words), why=f"where the command of {name} starts is not known")
        )
    return uses


def _env(entry: Entry, words: Words, start: int) -> list[Use]:
    """Alone it shows the environment; a lone dash empties it."""
    grammar = grammar_for(entry)
    found = [each for each in scan(grammar, words, start) if each.name or each.text != "-"]
    uses = uses_in(grammar, [each for each in found if each.name]) + commands(words, found, 0, "env")
    runs = any(use.role in ("argv", "run") for use in uses)
    return uses if runs else [*uses, Use(role="load", text="", at=0, on=0, why="it shows the environment")]


def _command(entry: Entry, words: Words, start: int) -> list[Use]:
    """With ``-v`` it only says where a program is."""
    grammar = grammar_for(entry)
    found = scan(grammar, words, start)
    if any(each.name in ("-v", "-V") for each in found):
        return loose(words, start)
    return uses_in(grammar, [each for each in found if each.name]) + commands(words, found, 0, "command")


def _computed(words: Words, start: int) -> list[Use]:
    return [
        Use(role="run", text="", at=at, on=at, why=f"{text_of(word)} would be computed")
        for at, word in enumerate(words[start:], start)
        if _SUBSCRIPT.search(text_of(word))
    ]


def _computes(entry: Entry, words: Words, start: int) -> list[Use]:
    return [Use(role="alter", text="", at=0, on=0, why="it computes its words"), *_computed(words, start)]


def _test(entry: Entry, words: Words, start: int) -> list[Use]:
    """A test asks for facts about files; ``-v`` and ``-R`` compute the subscript of a variable's name."""
    uses = _computed(words, start)
    for at, word in enumerate(words[start:], start):
        before = text_of(words[at - 1])
        if word.value is None or word.value in ("-v", "-R"):
            uses.append(Use(role="unknown", text="", at=at, on=at, why=f"{text_of(word)} is not known to be harmless"))
        elif re.fullmatch(r"-[a-hkprstuwxGLNOS]", before) or before in ("-nt", "-ot", "-ef"):
            uses.append(Use("read", text_of(word), at, at, granted=True))
    return uses


def _printf(entry: Entry, words: Words, start: int) -> list[Use]:
    texts = [text_of(word) for word in words[start:]]
    plain = bool(texts) and texts[0][:1] != "-" and not any(map(unsure, words)) and _PLAIN_FORMAT.fullmatch(texts[0])
    if plain and not any(_SUBSCRIPT.search(text) for text in texts[1:]):
        return []
    return [Use(role="run", text="", at=0, on=0, why="its format may compute or set a variable")]


def _sets(entry: Entry, words: Words, start: int) -> list[Use]:
    """``-C`` runs its word for each line that is read."""
    runs = [
        Use(
            role="run",
            text=text_of(words[at])[2:] or (text_of(words[at + 1]) if at + 1 < len(words) else ""),
            at=at,
            on=at,
            why="-C runs",
        )
        for at, word in enumerate(words)
        if text_of(word)[:2] == "-C"
    ]
    return [Use(role="alter", text="", at=0, on=0, why="it changes the shell itself"), *_computed(words, start), *runs]


def _runs(entry: Entry, words: Words, start: int) -> list[Use]:
    """``eval`` joins its words to one text; ``trap`` runs its first; an alias is text after ``=``."""
    name = text_of(words[0])
    texts = [text_of(word) for word in words[start:]]
    if name == "eval":
        texts = [" ".join(texts)]
    elif name == "alias":
        texts = [text.partition("=")[2] for text in texts]
    return [
        Use(role="run", text=text, at=0, on=at, why=f"{name} runs its words later or now")
        for at, text in enumerate(texts, 1)
    ]


def _source(entry: Entry, words: Words, start: int) -> list[Use]:
    script = text_of(words[1]) if len(words) > 1 else ""
    return [
        Use(role="run", text="", at=0, on=1, why="it runs a script in this shell"),
        Use("read", script, 0, 1, granted=True),
    ]


def _cd(entry: Entry, words: Words, start: int) -> list[Use]:
    texts = [(at, text_of(word)) for at, word in enumerate(words[1:], 1)]
    uses = [Use("read", text, at, at, granted=True) for at, text in texts if text[:1] != "-"]
    unclear = [word for word in words[1:] if text_of(word)[:1] in ("-", "\0", "+") or word.globs]
    return (
        uses
        if uses and not unclear
        else [*uses, Use(role="unknown", text="", at=0, on=0, why="where it goes is not known")]
    )


def _hash(entry: Entry, words: Words, start: int) -> list[Use]:
    text = " ".join(text_of(word) for word in words[1:])
    return [Use(role="load", text=text, at=0, on=1, why="it gives names to other programs")] if text else []


_UV = """-qvn --frozen --locked --no-sync --offline --no-project --isolated --exact --active --dev --no-dev
    --only-dev --all-extras --all-groups --all-packages --quiet --verbose --no-cache --extra= --group=
    --only-group= --package= --python=run -p=run --with=load --with-editable=load
    --with-requirements=load --env-file=load --directory=enter --project=load --index=send
    --index-url=send --default-index=send --find-links=send -s!unknown -m!unknown --module!unknown
    --script!unknown"""
_SUDO = """-ABbEHKklNnPSVv -s!run -i!run -C= -D= -g= -h= -p= -R=load -r= -T= -t= -U= -u= --user= --group=
    --non-interactive --preserve-env?= --login!run --shell!run --set-home --chdir= --stdin"""
_XARGS = """-0prtxo -a=read -d= -E= -e?= -I= -i?= -L= -l?= -n= -P= -s= --null --arg-file=read --delimiter=
    --max-args= --max-procs= --max-lines?= --no-run-if-empty --replace?= --verbose --interactive --exit
    --max-chars= --open-tty"""

WRAPPERS = (
    Entry(
        "timeout,gtimeout",
        "text argv",
        "-v -k= -s= --foreground --preserve-status --kill-after= --signal= --verbose",
        stops=True,
        through=True,
        exactly=True,
        free=True,
    ),
    Entry("nice", "argv", "-n= --adjustment= -#", stops=True, through=True, exactly=True),
    Entry("ionice", "argv", "-t -c= -n= --class= --classdata= --ignore", stops=True, through=True, exactly=True),
    Entry(
        "stdbuf", "argv", "-i= -o= -e= --input= --output= --error=", stops=True, through=True, exactly=True, free=True
    ),
    Entry("time", "argv", "-pqv -f= -o=file -a --format= --output=file", stops=True, through=True, exactly=True),
    Entry("command", "argv", "-p -v -V", stops=True, through=True, exactly=True, free=True, code=_command),
    Entry("builtin,nohup,setsid,exec,nocorrect,noglob,coproc", "argv", "-cflw -a=", stops=True, exactly=True),
    Entry("chroot,flock,taskset,setarch,chrt,pipx run", "text argv", "-c=run", stops=True, exactly=True),
    Entry(
        "env",
        "argv",
        "-i0v -u= -C=load -S=run --ignore-environment --null --unset= --chdir=load --split-string=run -P=load -a=",
        stops=True,
        exactly=True,
        code=_env,
    ),
    Entry("sudo,doas", "argv", _SUDO, stops=True, exactly=True),
    Entry("su,runuser", "text", "-flm -c=run -g= -G= -s= -u= --command=run --login", also="alter", exactly=True),
    Entry("xargs", "argv", _XARGS, stops=True, exactly=True),
    Entry("watch", "shell", "-bcdegptwxC -n= --interval= --exec --no-title", stops=True, exactly=True),
    Entry("parallel,entr", "shell", "-kmqtuvX0 -j= -n= -N= -I= -a=read --jobs=", stops=True, exactly=True),
    Entry("npx,bunx,pnpx", "argv", "-y --yes --no-install --no -c=run --call=run", stops=True, named=1),
    Entry("uvx", "argv", "-q --from= --with= --isolated", stops=True, named=1),
    Entry("uv run", "argv", _UV, stops=True, named=1),
    Entry("poetry run,pipenv run,pdm run,hatch run,bundle exec,pnpm exec,npm exec", "argv", "", stops=True, named=1),
    Entry("pnpm dlx,yarn exec|dlx|node,bun x|exec,npm x,direnv exec", "shell", stops=True, exactly=True),
    Entry("busybox,toybox,strace,ltrace", "argv", "-f -o=write -e= -p= -s=", stops=True, exactly=True),
    Entry("pipenv,pdm,hatch,bundle,pipx,direnv", steps=True),
    # The shell's own commands.
    Entry("cd,pushd,chdir", free=True, code=_cd),
    Entry("test,[", free=True, code=_test),
    Entry("printf", free=True, code=_printf),
    Entry("type", "text", "-aftpP", free=True),
    Entry("[[", code=_computes),
    Entry(
        "export,declare,typeset,local,readonly,unset,set,shopt,shift,let,read,mapfile,readarray,getopts,ulimit,umask,"
        "wait,disown,bg,fg,popd,dirs,exit,return,break,continue,compgen,compopt,complete,history,fc",
        exactly=True,
        code=_sets,
    ),
    Entry("jobs", "text", "-lnprs", free=True),
    Entry("eval,trap,alias,bind", exactly=True, code=_runs),
    Entry("hash,enable", exactly=True, code=_hash),
    Entry("source,.", exactly=True, code=_source),
)
