# toplev.py -I MS -x SEPARATOR, on standard input, as a table that rpistat imports, with one row per time and CPU:
#
#     awk -f examples/import/toplev.awk run.csv | rpistat import -
#
# Values are gauges; shares of one whole are drawn together. Cores and sockets are numbered as they come. What
# --valcsv writes are counts, and goes as lines of perf stat -I MS -x\; with the share of the time that they were counted.

function is_number(text) { return text ~ /^-?[0-9]+([.,][0-9]+)?$/ }

function unit_of(text)
{
    sub(/[ <?]+$/, "", text)
    return text ~ /^%/ ? "%" : tolower(text) ~ /metric$/ ? "" : text
}

function panel_of(name, unit)
{
    if (unit !~ /^% /)
        return ""
    if (sub(/\.[^.]*$/, "", name))
        return name
    sub(/[<?].*/, "", unit)
    return unit
}

{ sub(/\r$/, "") }
/^#/ { if (sub(/.*-full(-perf)? on /, "")) print "# processor: " $0; next }
/^(Run toplev |Add --nodes )/ || /^[ \t]*$/ { next }
/^Timestamp/ {
    FS = separator = substr($0, 10, 1)
    $0 = $0
    split("", at)
    for (i = 1; i <= NF; i++)
        at[$i] = i
    if (!("Perf-event" in at) && !(("Area" in at) && ("Value" in at))) {
        print "toplev.awk: the header has no columns Area and Value: leave --columns out" >"/dev/stderr"
        exit failed = 1
    }
    next
}
!separator { print "toplev.awk: line " NR ": there is no header before it: record with -I and a toplev of 2020 or later" >"/dev/stderr"
    exit failed = 1 }
$at["Timestamp"] == "SUMMARY" { next }
"Perf-event" in at {
    time = $at["Timestamp"]
    if (time != last) {
        length_s = time - last
        last = time
    }
    share = "MULTI" in at && is_number($at["MULTI"]) && $at["MULTI"] > 0 ? $at["MULTI"] : 100
    printf "%.9f;%s%s;;%s;%.0f;%.2f;;\n", time, "CPU" in at ? $at["CPU"] ";" : "", $at["Value"], $at["Event"], length_s * share * 1e7, share
    next
}
{
    value = $at["Value"]
    if (!is_number(value))
        next
    cpu = "CPUs" in at ? $at["CPUs"] : "all"
    if (cpu != "all" && !(cpu in number)) {
        number[cpu] = cpus + 0
        print "toplev.awk: " cpu " is CPU " cpus++ " of the run" >"/dev/stderr"
    }
    row = $at["Timestamp"] separator (cpu == "all" ? cpu : number[cpu])
    if (!(row in is_row)) {
        is_row[row] = 1
        rows[++row_count] = row
    }
    name = $at["Area"]
    if (seen[row, name]++)
        name = name "#" seen[row, name]
    if (!(name in is_name)) {
        is_name[name] = 1
        names[++name_count] = name
        said[name] = "=gauge:" unit_of($at["Unit"]) ":" panel_of($at["Area"], $at["Unit"])
    }
    values[row, name] = value
}
END {
    if (failed || !row_count)
        exit failed
    line = "time" separator "cpu"
    for (i = 1; i <= name_count; i++)
        line = line separator names[i] said[names[i]]
    print line
    for (r = 1; r <= row_count; r++) {
        line = rows[r]
        for (i = 1; i <= name_count; i++)
            line = line separator values[rows[r], names[i]]
        print line
    }
}
