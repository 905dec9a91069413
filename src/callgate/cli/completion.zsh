#compdef callgate
# Completion of callgate for zsh.
# Once:   callgate completion zsh > a folder of $fpath, as _callgate
# Or in ~/.zshrc, below compinit:   source <(callgate completion zsh)
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
