# Convert the output of top -b to a table: load, CPU and memory of the machine, and the CPU use of the 20 commands that
# used most. The first sample may cover the time since the machine started, and is left out:
#
#     awk -f examples/import/top.awk top.txt | rpistat import -

BEGIN { MOST = 20 }

function put(name, unit, panel, text)
{
    if (!(name in column)) {
        column[name] = ++columns
        header[columns] = name "=gauge:" unit ":" panel
    }
    value[rows, column[name]] = text
}

/^top - / { # "top - 09:50:09 up  4:52,  0 user,  load average: 20.64, 21.13, 28.80"
    time[++rows] = $3
    in_table = 0
    load = $0
    sub(/.*load average: */, "", load)
    sub(/[, ].*/, "", load)
    put("load 1 min", "", "load", load)
    next
}
!rows { next }
/^(%Cpu\(s\)|Cpu\(s\)):/ { # " 50.0 us, 33.3 sy, ..."
    sub(/^[^:]*:/, "")
    count = split($0, part, ",")
    for (i = 1; i <= count; i++) {
        split(part[i], word, " ")
        put("CPU " word[2], "%", "CPU", word[1])
    }
    next
}
/^[KMGT]iB (Mem|Swap) *:/ { # "MiB Mem :  24105.6 total,  16954.3 free, ..."
    unit = substr($1, 1, 3)
    what = $2 ~ /^Mem/ ? "memory" : "swap"
    sub(/^[^:]*:/, "")
    count = split($0, part, /[,.] +/)
    for (i = 1; i <= count; i++) {
        split(part[i], word, " ")
        if (word[2] ~ /^(free|used)$/)
            put(what " " word[2], unit, what, word[1])
    }
    next
}
$1 == "PID" || $2 == "PID" {
    in_table = 1
    for (i = 1; i <= NF; i++) {
        if ($i == "%CPU") cpu = i
        if ($i == "COMMAND") command = i
    }
    next
}
in_table && NF >= command {
    name = $command
    for (i = command + 1; i <= NF; i++)
        name = name " " $i
    gsub(/[",]/, " ", name)
    use[rows, name] += $cpu
    if (rows > 1)
        all[name] += $cpu
}
END {
    if (rows < 2) {
        print "top.awk: fewer than two samples: run top -b -n 60" >"/dev/stderr"
        exit 1
    }
    line = "time"
    for (i = 1; i <= columns; i++)
        line = line "," header[i]
    for (n = 0; n < MOST; n++) {
        best = ""
        for (name in all)
            if (all[name] > 0 && (best == "" || all[name] > all[best] || (all[name] == all[best] && name < best)))
                best = name
        if (best == "")
            break
        busy[++busy_count] = best
        delete all[best]
        line = line ",\"" best "=gauge:%:commands\""
    }
    print line
    for (r = 2; r <= rows; r++) {
        line = time[r]
        for (i = 1; i <= columns; i++)
            line = line "," value[r, i]
        for (n = 1; n <= busy_count; n++)
            line = line "," (use[r, busy[n]] + 0)
        print line
    }
}
