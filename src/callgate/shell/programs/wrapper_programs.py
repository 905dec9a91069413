"""Rows of wrappers, which run the command in their words, and of builtin commands of the shell."""

import re
from itertools import pairwise

from callgate.shell.programs.program_arguments import WHOLE, Argument, Invocation, loose, operands_in
from callgate.shell.programs.uses import Use, Words, text_of, unsure

WRAPPERS = """
timeout | text argv | -v -k= -s= --foreground --preserve-status --kill-after= --signal= --verbose | options_first
    transparent no_prefix read_only
nice,ionice,stdbuf | argv | -t -n= -c= -i= -o= -e= -# --adjustment= --class= --output= | options_first transparent
    no_prefix
time | argv | -pqv -f= -o=file -a --format= --output=file | options_first transparent no_prefix
command | argv | -p -v -V | options_first transparent no_prefix read_only parser=command
env | argv | -i0v -u= -C=load -S=run --ignore-environment --null --unset= --chdir=load --split-string=run -P=load -a= |
    options_first no_prefix parser=env
xargs | argv | -0prtxo -a=read -d= -E= -e?= -I= -i?= -L= -l?= -n= -P= -s= --null --arg-file=read --delimiter=
    --max-args= --max-procs= --max-lines?= --no-run-if-empty --replace?= --verbose --interactive --exit --max-chars=
    --open-tty | options_first no_prefix
npx,bunx,pnpx,uvx | argv | -yq --yes --no-install --no --isolated -c=run --call=run --from=load --with=load |
    options_first prefix_operands=1
uv run | argv | -qvn --frozen --locked --no-sync --offline --no-project --isolated --exact --active --dev --no-dev
    --only-dev --all-extras --all-groups --all-packages --quiet --verbose --no-cache --extra= --group= --only-group=
    --package= --python=run -p=run --with=load --with-editable=load --with-requirements=load --env-file=load
    --directory=enter --project=load --index=send --index-url=send --default-index=send --find-links=send -s!unknown
    -m!unknown --module!unknown --script!unknown | options_first prefix_operands=1
poetry run,pnpm exec,npm exec | argv | | options_first prefix_operands=1
# A rule for one of the following programs must contain the inner command.
pnpm dlx,yarn exec|dlx|node,bun x|exec,npm x | shell | | options_first no_prefix
sudo,doas | argv | -ABbEHKklNnPSVv -s!run -i!run -C= -D= -g= -h= -p= -R=load -r= -T= -t= -U= -u= --user= --group=
    --non-interactive --preserve-env?= --login!run --shell!run --set-home --chdir= --stdin | options_first no_prefix
builtin,nohup,setsid,exec,nocorrect,noglob,coproc,busybox,toybox,strace,ltrace | argv | -cflw -a= -o=write -e= -p= -s= |
    options_first no_prefix
chroot,flock,taskset,setarch,chrt | text argv | -c=run | options_first no_prefix
su,runuser | text | -flm -c=run -g= -G= -s= -u= --command=run --login | always=alter no_prefix
watch,parallel,entr | shell | -bcdegptwxCkmqtuvX0 -n= -j= -N= -I= -a=read --interval= --jobs= --exec --no-title |
    options_first no_prefix
# Builtin commands of the shell.
cd,pushd,chdir | | | read_only parser=cd
echo,true,false,: | | | read_only safe_options parser=echo
pwd | | -LP | read_only
test,[ | | | read_only parser=test
printf | | | read_only parser=printf
type | text | -aftpP | read_only
jobs | text | -lnprs | read_only
[[ | | | parser=double_bracket
export,declare,typeset,local,readonly,unset,set,shopt,shift,let,read,mapfile,readarray,getopts,ulimit,umask,wait,disown,
    bg,fg,popd,dirs,exit,return,break,continue,compgen,compopt,complete,history,fc | | | no_prefix parser=sets
eval,trap,alias,bind | | | no_prefix parser=runs
hash,enable | | | no_prefix parser=hash
source,. | | | no_prefix parser=source
"""
_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\+?=")
# The shell evaluates a subscript, which may run a command, in any quotes.
_SUBSCRIPT = re.compile(r"[\[$`]")
# Only conversions of words and numbers; others evaluate, set variables or use their word as a format.
_PLAIN_FORMAT = re.compile(r"(?:[^%]|%%|%-?[0-9]*(?:\.[0-9]+)?[sd])*")


def commands(words: Words, found: list[Argument], own: int, name: str, *, shell_text: bool = False) -> list[Use]:
    """Return the effects of the inner command of a wrapper. ``own`` is the number of operands before the inner
    command."""
    why = f"{name} runs another command"
    operands = [each for each in found if not each.name]
    start = operands[own].at if len(operands) > own else len(words)
    uses: list[Use] = []
    while start < len(words) and _ASSIGNMENT.match(text := text_of(words[start])):
        uses.append(Argument("", text, start, start).beyond("load", f"{text} sets the environment"))
        start += 1
    if start < len(words):
        uses.append(Argument("", "", 0, start).beyond("argv", why))
        if shell_text:
            joined = " ".join(text_of(word) for word in words[start:])
            uses.append(Argument("", joined, 0, len(words) - 1).beyond("run", why))
    unread = any(each.name and each.option is None and each.at < start for each in found)
    if unread or any(map(unsure, words[1 : start + 1])):
        # An unknown option may take the next word as its value; then the inner command starts later.
        anywhere = Argument("", "", 0, len(words))
        uses.append(anywhere.beyond("argv", f"the position of the inner command of {name} is unknown"))
    return uses


def env(call: Invocation) -> list[Use]:
    """Return the effects of ``env``. Without an inner command it prints the environment."""
    found = [each for each in call.arguments if each.name or each.text != "-"]
    uses = call.uses(call.options) + commands(call.words, found, 0, "env")
    runs = any(use.role in ("argv", "run") for use in uses)
    return uses if runs else [*uses, WHOLE.beyond("load", "it shows the environment")]


def command(call: Invocation) -> list[Use]:
    """Return the effects of ``command``. With ``-v`` it only prints the path of a program."""
    if call.matching("-v", "-V"):
        return loose(call.words, call.start)
    return call.uses(call.options) + commands(call.words, call.arguments, 0, "command")


def echo(call: Invocation) -> list[Use]:
    return []


def _computed(call: Invocation) -> list[Use]:
    return [
        each.beyond("run", f"{each.text} is computed when the command runs", "")
        for each in operands_in(call.words, call.start)
        if _SUBSCRIPT.search(each.text)
    ]


def double_bracket(call: Invocation) -> list[Use]:
    return [WHOLE.beyond("alter", "its arguments are computed when the command runs"), *_computed(call)]


def test(call: Invocation) -> list[Use]:
    """Return the effects of ``test``. It reads attributes of files; ``-v`` and ``-R`` evaluate the subscript of a
    variable."""
    uses = _computed(call)
    for each in operands_in(call.words, call.start):
        before = text_of(call.words[each.at - 1])
        if each.text in ("\0", "-v", "-R"):
            uses.append(each.beyond("unknown", f"{each.text} is not known to be harmless"))
        elif re.fullmatch(r"-[a-hkprstuwxGLNOS]", before) or before in ("-nt", "-ot", "-ef"):
            uses.append(each.included("read"))
    return uses


def printf(call: Invocation) -> list[Use]:
    format_, *rest = [each.text for each in operands_in(call.words, call.start)] or ["-"]
    plain = format_[:1] != "-" and not any(map(unsure, call.words)) and _PLAIN_FORMAT.fullmatch(format_)
    if plain and not any(_SUBSCRIPT.search(text) for text in rest):
        return []
    return [WHOLE.beyond("run", "its format may compute or set a variable")]


def sets(call: Invocation) -> list[Use]:
    """Return the effects of builtin commands that change the state of the shell, such as ``export``. Some take the
    option ``-C``, whose value is run for each line of input."""
    changes = WHOLE.beyond("alter", "it changes the shell itself")
    words = [*operands_in(call.words, 0), WHOLE]
    callbacks = [(each, each.text[2:] or after.text) for each, after in pairwise(words) if each.text[:2] == "-C"]
    return [changes, *_computed(call), *(each.beyond("run", "-C runs its argument", text) for each, text in callbacks)]


def runs(call: Invocation) -> list[Use]:
    """Return the effects of builtin commands that run text. ``eval`` joins its words, ``trap`` runs its first word, and
    the command of an alias is the text after ``=``."""
    name = text_of(call.words[0])
    texts = [text_of(word) for word in call.words[call.start :]]
    if name == "eval":
        texts = [" ".join(texts)]
    elif name == "alias":
        texts = [text.partition("=")[2] for text in texts]
    why = f"{name} runs its arguments as a command, perhaps later"
    return [Argument("", text, 0, at).beyond("run", why) for at, text in enumerate(texts, 1)]


def source(call: Invocation) -> list[Use]:
    script = Argument("", text_of(call.words[1]) if len(call.words) > 1 else "", 0, 1)
    return [script.beyond("run", "it runs a script in this shell", ""), script.included("read")]


def cd(call: Invocation) -> list[Use]:
    words = operands_in(call.words, 1)
    uses = [each.included("read") for each in words if each.text[:1] != "-"]
    unclear = any(each.text[:1] in ("-", "\0", "+") or call.words[each.at].globs for each in words)
    return uses if uses and not unclear else [*uses, WHOLE.beyond("unknown", "the target folder is unknown")]


def hash(call: Invocation) -> list[Use]:
    text = " ".join(text_of(word) for word in call.words[1:])
    return [Argument("", text, 0, 1).beyond("load", "it defines aliases of other programs")] if text else []
