# Convert the timeline of likwid-perfctr -t to a table with one row per time and hardware thread. The names of the columns
# are in its lines "# GID|...". Groups that rotate share the table:
#
#     awk -f examples/import/likwid.awk likwid.txt | rpistat import -

{ sub(/\r$/, "") }
/^(\[[^]]*\] *)?# *HWThreads/ {
    sub(/.*HWThreads[:,]? */, "")
    threads = split($0, cpu, /[|, ]+/)
    next
}
/^# *GID/ {
    sub(/^# */, "")
    delimiter = index($0, "|") ? "|" : ","
    count = split($0, name, delimiter == "|" ? "[|]" : ",")
    groups++
    for (i = 5; i <= count; i++) {
        unit = name[i]
        if (!sub(/.*\[/, "", unit) || !sub(/\].*/, "", unit))
            unit = ""
        label = name[i]
        sub(/ *\[.*/, "", label)
        gsub(/"/, "", label)
        if (!(label in column)) {
            column[label] = ++columns
            header[columns] = label "=gauge:" unit
        }
        at[groups, i - 4] = column[label]
    }
    next
}
/^[0-9]+[ ,][0-9]+[ ,][0-9]+[ ,]/ {
    if (!groups || !threads) {
        print "likwid.awk: line " NR ": the lines \"# HWThreads\" and \"# GID\" do not come before it" >"/dev/stderr"
        exit failed = 1
    }
    split($0, word, /[ ,]+/)
    if (word[3] != threads) {
        print "likwid.awk: line " NR " has " word[3] " hardware threads, and the header " threads >"/dev/stderr"
        exit failed = 1
    }
    times++
    time[times] = word[4]
    for (m = 1; m <= word[2]; m++) # all threads of a metric, then the next metric
        for (t = 1; t <= threads; t++) {
            text = word[4 + (m - 1) * threads + t]
            if (text ~ /^-?[0-9.]+(e[-+]?[0-9]+)?$/)
                value[times, t, at[word[1], m]] = text
        }
}
END {
    if (failed)
        exit 1
    if (!times) {
        print "likwid.awk: there is no timeline: run likwid-perfctr with -t" >"/dev/stderr"
        exit 1
    }
    line = "time,cpu"
    for (i = 1; i <= columns; i++)
        line = line ",\"" header[i] "\""
    print line
    for (r = 1; r <= times; r++)
        for (t = 1; t <= threads; t++) {
            line = time[r] "," cpu[t]
            for (i = 1; i <= columns; i++)
                line = line "," value[r, t, i]
            print line
        }
}
