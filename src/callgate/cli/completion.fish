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
            if contains -- "$at $word" @takes@
                set skip 1
            end
        else
            set -l next (string trim -- "$at $word")
            if contains -- $next @paths@
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
@lines@
