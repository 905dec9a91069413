"""The completion scripts. Names in the table are plain words, so that no shell reads more into them."""

from collections.abc import Callable, Iterable, Mapping, Sequence

from callgate.words.noun import noun

FILES = "files"
"""The values of a word that names a file or a folder."""


@noun
class CompletionOption:
    """An option: its spellings, whether a value follows, and the known values, or FILES."""

    names: tuple[str, ...]
    help: str
    takes: bool
    values: tuple[str, ...] | str = ()


@noun
class CompletionEntry:
    """The words after a command: the commands below it with their help, its options, the values of its arguments."""

    path: str
    commands: Mapping[str, str]
    options: tuple[CompletionOption, ...]
    arguments: tuple[str, ...] | str = ()


_TABLE = """\
# What can follow a command, and the values of its options. Made from the command line itself.
_callgate_table() {
    commands='' options='' arguments=''
    case "$1" in
%(entries)s
    esac
}
_callgate_values() {
    values=''
    case "$1 $2" in
%(values)s
    esac
}
_callgate_takes_value() {
    case "$1 $2" in
        %(takes)s) return 0 ;;
    esac
    return 1
}
"""

_BASH = """\
# Completion of callgate for bash.
# Once:   callgate completion bash > ~/.local/share/bash-completion/completions/callgate
# Or in ~/.bashrc:   source <(callgate completion bash)
%(table)s
_callgate() {
    local commands options arguments values at='' option='' word i
    local cur="${COMP_WORDS[COMP_CWORD]}"
    for ((i = 1; i < COMP_CWORD; i++)); do
        word="${COMP_WORDS[i]}"
        if [[ $word == '=' ]]; then
            continue
        elif [[ -n $option ]]; then
            option=''
        elif [[ $word == -* ]]; then
            if _callgate_takes_value "$at" "$word"; then option="$word"; fi
        else
            _callgate_table "$at"
            if [[ " $commands " == *" $word "* ]]; then at="${at:+$at }$word"; fi
        fi
    done
    if [[ $cur == '=' ]]; then cur=''; fi
    _callgate_table "$at"
    if [[ -n $option ]]; then
        _callgate_values "$at" "$option"
    elif [[ $cur == -* ]]; then
        values="$options"
    else
        values="${commands:-$arguments}"
    fi
    if [[ $values == '@files' ]]; then
        compopt -o filenames 2>/dev/null
        local IFS=$'\n'
        COMPREPLY=($(compgen -f -- "$cur"))
    else
        COMPREPLY=($(compgen -W "$values" -- "$cur"))
    fi
}
complete -F _callgate callgate
"""

_ZSH = """\
#compdef callgate
# Completion of callgate for zsh.
# Once:   callgate completion zsh > a folder of $fpath, as _callgate
# Or in ~/.zshrc, below compinit:   source <(callgate completion zsh)
%(table)s
_callgate() {
    local commands options arguments values at='' option='' word i
    local cur="${words[CURRENT]}"
    for ((i = 2; i < CURRENT; i++)); do
        word="${words[i]}"
        if [[ -n $option ]]; then
            option=''
        elif [[ $word == -* ]]; then
            if [[ $word != *=* ]] && _callgate_takes_value "$at" "$word"; then option="$word"; fi
        else
            _callgate_table "$at"
            if [[ " $commands " == *" $word "* ]]; then at="${at:+$at }$word"; fi
        fi
    done
    _callgate_table "$at"
    if [[ -n $option ]]; then
        _callgate_values "$at" "$option"
    elif [[ $cur == -* ]]; then
        values="$options"
    else
        values="${commands:-$arguments}"
    fi
    if [[ $values == '@files' ]]; then
        _files
    else
        compadd -- ${=values}
    fi
}
if [[ "${funcstack[1]}" == _callgate ]]; then
    _callgate "$@"
else
    compdef _callgate callgate
fi
"""

_FISH = """\
# Completion of callgate for fish.
# Once:   callgate completion fish > ~/.config/fish/completions/callgate.fish
function __callgate_path
    set -l words (commandline -opc)
    set -e words[1]
    set -l at ''
    set -l skip 0
    for word in $words
        if test $skip = 1
            set skip 0
        else if string match -q -- '-*' $word
            if contains -- "$at $word" %(takes)s
                set skip 1
            end
        else
            set -l next (string trim -- "$at $word")
            if contains -- $next %(paths)s
                set at $next
            end
        end
    end
    echo $at
end
function __callgate_at
    set -l at (__callgate_path)
    test "$at" = "$argv[1]"
end
complete -c callgate -f
%(lines)s
"""


def bash(table: Sequence[CompletionEntry]) -> str:
    return _BASH % {"table": _shared(table)}


def zsh(table: Sequence[CompletionEntry]) -> str:
    return _ZSH % {"table": _shared(table)}


def fish(table: Sequence[CompletionEntry]) -> str:
    paths = " ".join(_quoted(entry.path) for entry in table if entry.path)
    return _FISH % {
        "takes": " ".join(map(_quoted, _taking(table))),
        "paths": paths,
        "lines": "\n".join(_fish_lines(table)),
    }


SCRIPTS: Mapping[str, Callable[[Sequence[CompletionEntry]], str]] = {"bash": bash, "zsh": zsh, "fish": fish}


def _shared(table: Sequence[CompletionEntry]) -> str:
    """The table as shell functions that bash and zsh both read."""
    entries: list[str] = []
    values: list[str] = []
    for entry in table:
        options = " ".join(name for option in entry.options for name in option.names)
        arguments = _words(entry.arguments)
        set_ = f"commands='{' '.join(entry.commands)}' options='{options}' arguments='{arguments}'"
        entries.append(f"        '{entry.path}') {set_} ;;")
        for option in entry.options:
            if option.values:
                cases = "|".join(f"'{entry.path} {name}'" for name in option.names)
                values.append(f"        {cases}) values='{_words(option.values)}' ;;")
    takes = "|".join(f"'{each}'" for each in _taking(table))
    return _TABLE % {"entries": "\n".join(entries), "values": "\n".join(values), "takes": takes}


def _fish_lines(table: Sequence[CompletionEntry]) -> Iterable[str]:
    for entry in table:
        here = f"complete -c callgate -n {_quoted(f'__callgate_at {_quoted(entry.path)}')}"
        for name, text in entry.commands.items():
            yield f"{here} -a {_quoted(name)} -d {_quoted(text)}"
        if entry.arguments == FILES:
            yield f"{here} -F"
        elif entry.arguments:
            yield f"{here} -a {_quoted(_words(entry.arguments))}"
        for option in entry.options:
            names = " ".join(f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}" for name in option.names)
            after = ""
            if option.takes:
                values = f" -a {_quoted(_words(option.values))}" if option.values and option.values != FILES else ""
                after = " -r -F" if option.values == FILES else f" -x{values}"
            yield f"{here} {names}{after} -d {_quoted(option.help)}"


def _taking(table: Sequence[CompletionEntry]) -> list[str]:
    """The options that a value follows, each behind its command."""
    return [f"{entry.path} {name}" for entry in table for each in entry.options if each.takes for name in each.names]


def _words(values: tuple[str, ...] | str) -> str:
    return "@files" if values == FILES else " ".join(values)


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"
