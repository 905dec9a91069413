# Completion of callgate for bash.
# Once:   callgate completion bash > ~/.local/share/bash-completion/completions/callgate
# Or in ~/.bashrc:   source <(callgate completion bash)
# What can follow a command, and the values of its options. Made from the command line itself.
_callgate_table() {
    commands='' options='' arguments=''
    case "$1" in
@entries@
    esac
}
_callgate_values() {
    values=''
    case "$1 $2" in
@values@
    esac
}
_callgate_takes_value() {
    case "$1 $2" in
        @takes@) return 0 ;;
    esac
    return 1
}
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
        local IFS=$'
'
        COMPREPLY=($(compgen -f -- "$cur"))
    else
        COMPREPLY=($(compgen -W "$values" -- "$cur"))
    fi
}
complete -F _callgate callgate
