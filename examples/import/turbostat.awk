# Convert the output of turbostat to a table with one row per interval: the columns of the machine (CPU "-") by their
# names, those of a CPU as "cpu3 Busy%". -v cpus=0 leaves the CPUs out:
#
#     awk -f examples/import/turbostat.awk turbostat.txt | rpistat import -

BEGIN { if (cpus == "") cpus = 1 }

function end_interval()
{
    if (has_values)
        time[++rows] = stamp
    has_values = 0
}

{ sub(/\r$/, "") }
/Avg_MHz|Busy%|PkgWatt/ && $1 !~ /^[0-9.-]+$/ {
    split("", at)
    for (i = 1; i <= NF; i++) {
        name[i] = $i
        at[$i] = i
    }
    if (!("Time_Of_Day_Seconds" in at)) {
        print "turbostat.awk: line " NR ": there is no time: run turbostat with --enable Time_Of_Day_Seconds" >"/dev/stderr"
        exit failed = 1
    }
    next
}
!("Time_Of_Day_Seconds" in at) || $(at["Time_Of_Day_Seconds"]) !~ /^[0-9.]+$/ { next }
{
    cpu = "CPU" in at ? $(at["CPU"]) : "-"
    if (cpu == "-") { # the first row of an interval
        end_interval()
        stamp = $(at["Time_Of_Day_Seconds"])
        has_values = 1
    } else if (!cpus)
        next
    for (i = 1; i <= NF; i++) {
        if (name[i] ~ /^(usec|Time_Of_Day_Seconds|Package|Die|Node|Core|CPU|APIC|X2APIC)$/)
            continue
        of = cpu == "-" ? name[i] : "cpu" cpu " " name[i]
        if (!(of in column)) {
            column[of] = ++columns
            unit = name[i] ~ /%/ ? "%" : name[i] ~ /MHz/ ? "MHz" : name[i] ~ /Watt/ ? "W" : name[i] ~ /_J$/ ? "J" : name[i] ~ /Tmp/ ? "C" : ""
            header[columns] = of "=gauge:" unit ":" (cpu == "-" ? "" : "CPUs ") name[i]
        }
        value[rows + 1, column[of]] = $i
    }
}
END {
    if (failed)
        exit 1
    end_interval()
    if (!rows) {
        print "turbostat.awk: no row has a time and the values of all CPUs" >"/dev/stderr"
        exit 1
    }
    line = "time"
    for (i = 1; i <= columns; i++)
        line = line ",\"" header[i] "\""
    print line
    for (r = 1; r <= rows; r++) {
        line = time[r]
        for (i = 1; i <= columns; i++)
            line = line "," value[r, i]
        print line
    }
}
