# bash completion for rpistat: `rpistat --complete` answers

_rpistat()
{
    local cur=${COMP_WORDS[COMP_CWORD]} prefix line i words=() place=()

    # bash makes words of their own of = and :
    for ((i = 1; i <= COMP_CWORD; i++)); do
        if [[ ${#words[@]} -gt 0 && (${COMP_WORDS[i]} == [=:] || ${COMP_WORDS[i - 1]} == [=:]) ]]; then
            words[${#words[@]} - 1]+=${COMP_WORDS[i]}
        else
            words+=("${COMP_WORDS[i]}")
            place+=("$i")
        fi
    done
    [[ $cur == [=:] ]] && cur=''
    prefix=${words[${#words[@]} - 1]%"$cur"}
    COMPREPLY=()
    while IFS= read -r line; do
        case $line in
        :file | :folder)
            compopt -o filenames 2>/dev/null
            local action=-f
            [[ $line == :folder ]] && action=-d
            while IFS= read -r line; do COMPREPLY+=("$line"); done < <(compgen "$action" -- "$cur") ;;
        :command*)
            i=${place[${line#* }]-$COMP_CWORD}
            if declare -F _comp_command_offset >/dev/null; then
                _comp_command_offset "$i"
            elif declare -F _command_offset >/dev/null; then
                _command_offset "$i"
            else
                local action=-f
                ((i == COMP_CWORD)) && action=-c
                compopt -o filenames 2>/dev/null
                while IFS= read -r line; do COMPREPLY+=("$line"); done < <(compgen "$action" -- "$cur")
            fi ;;
        *)
            line=${line%%$'\t'*}
            [[ $line == *[=:] ]] && compopt -o nospace 2>/dev/null
            COMPREPLY+=("${line#"$prefix"}") ;;
        esac
    done < <("${COMP_WORDS[0]}" --complete "${words[@]}" 2>/dev/null)
}

complete -F _rpistat rpistat
