# Convert the log of psrecord to a table. The row at time 0 has no interval, and is left out:
#
#     awk -f examples/import/psrecord.awk activity.txt | rpistat import -

/^# *Elapsed time/ {
    sub(/^# */, "")
    sub(/[ \r]+$/, "")
    columns = split($0, name, /  +/)
    line = "time"
    for (i = 2; i <= columns; i++) {
        unit = name[i] ~ /%/ ? "%" : name[i] ~ /MB/ ? "MB" : ""
        panel = unit == "MB" ? "memory" : unit == "" ? "input and output" : ""
        sub(/ *\(.*/, "", name[i])
        line = line "," name[i] "=gauge:" unit ":" panel
    }
    print line
    next
}
NF == 0 { next }
!columns { print "psrecord.awk: line " NR ": no header comes before it" >"/dev/stderr"; exit 1 }
NF == columns && $1 > last {
    last = $1
    $1 = $1
    gsub(/ /, ",")
    print
}
