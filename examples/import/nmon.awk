# Convert a file of nmon -f or -F to a table with one row per snapshot. Processes (TOP) and the configuration (BBB) are
# left out. Each section is a panel:
#
#     awk -f examples/import/nmon.awk run.nmon | rpistat import -

BEGIN { FS = ","; months = "JANFEBMARAPRMAYJUNJULAUGSEPOCTNOVDEC" }
{ sub(/\r$/, "") }
$1 == "AAA" && $2 == "host" { print "# host: " $3 }
$1 == "ZZZZ" {
    split($4, part, "-")
    time[$2] = sprintf("%s-%02d-%02d %s", part[3], (index(months, toupper(part[2])) + 2) / 3, part[1], $3)
    order[++rows] = $2
    next
}
$1 ~ /^(AAA|BBB.*|TOP|UARG|ERROR)$/ { next }
$2 !~ /^T[0-9]+$/ { # "CPU_ALL,CPU Total HOST,User%,Sys%"
    if (!($1 in first)) {
        first[$1] = columns + 1
        for (i = 3; i <= NF; i++)
            name[++columns] = $i == "" ? "" : $1 " " $i "=gauge:" ($i ~ /%$/ ? "%" : $i ~ /KB\/s$/ || $2 ~ /KB\/s/ ? "KB/s" : "") ":" $1
    }
    next
}
$1 in first {
    for (i = 3; i <= NF; i++) # -1 and -0: not known
        value[$2, first[$1] + i - 3] = $1 ~ /^(MEM|PROC)/ && $i ~ /^-[01]\.0$/ ? "" : $i
}
END {
    if (!rows) {
        print "nmon.awk: there is no snapshot (ZZZZ): record with nmon -f" >"/dev/stderr"
        exit 1
    }
    line = "time"
    for (i = 1; i <= columns; i++)
        if (name[i] != "")
            line = line ",\"" name[i] "\""
    print line
    for (r = 1; r <= rows; r++) {
        line = time[order[r]]
        for (i = 1; i <= columns; i++)
            if (name[i] != "")
                line = line "," value[order[r], i]
        print line
    }
}
