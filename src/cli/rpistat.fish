# fish completion for rpistat: `rpistat --complete` answers

function __rpistat_complete
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    set -l before (string match -r -- '^--[^=]*=' $current)
    set -l rest (string replace -- "$before" '' $current)
    for line in ($words[1] --complete $words[2..] "$current" 2>/dev/null)
        switch $line
            case ':file'
                printf '%s\n' "$before"(__fish_complete_path "$rest")
            case ':folder'
                printf '%s\n' "$before"(__fish_complete_directories "$rest")
            case ':command *'
                set -e words[1..(math 1 + (string sub -s 10 -- $line))]
                complete -C (string join ' ' -- (string escape -- $words) "$current")
            case '*'
                echo $line
        end
    end
end

complete -c rpistat -f -a '(__rpistat_complete)'
