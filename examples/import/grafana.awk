# Convert Grafana's long form, one row per time and series, to a table with one column per series. The columns are Time,
# Value and Series (or Metric). Other tables pass through:
#
#     awk -f examples/import/grafana.awk grafana.csv | rpistat import -

# Split a line of CSV into cell[1 ... count].
function split_row(line, separator,    count, text)
{
    line = line separator
    while (length(line)) {
        if (line ~ /^"/) {
            text = ""
            line = substr(line, 2)
            while (match(line, /"/)) {
                text = text substr(line, 1, RSTART - 1)
                line = substr(line, RSTART + 1)
                if (line !~ /^"/)
                    break
                text = text "\""
                line = substr(line, 2)
            }
            line = substr(line, index(line, separator) + 1)
        } else {
            text = substr(line, 1, index(line, separator) - 1)
            line = substr(line, index(line, separator) + 1)
        }
        cell[++count] = text
    }
    return count
}

function quoted(text) { gsub(/"/, "\"\"", text); return "\"" text "\"" }

{ sub(/\r$/, "") }
NR == 1 { sub(/^\357\273\277/, "") }
/^"?sep=/ { next }
!known {
    known = 1
    separator = index($0, ";") ? ";" : ","
    count = split_row($0, separator)
    for (i = 1; i <= count; i++) {
        if (tolower(cell[i]) == "time") time_at = i
        if (tolower(cell[i]) == "value") value_at = i
        if (tolower(cell[i]) ~ /^(series|metric)$/) name_at = i
    }
    if (!(time_at && value_at && name_at))
        passes = 1
}
passes { print; next }
NR > 1 && $0 != "" && split_row($0, separator) == count && cell[time_at] != "Time" {
    name = cell[name_at]
    if (!(name in column)) {
        column[name] = ++columns
        names[columns] = name
    }
    if (!(cell[time_at] in is_time)) {
        is_time[cell[time_at]] = 1
        times[++rows] = cell[time_at]
    }
    if (cell[value_at] !~ /^(null|undefined|NaN)?$/)
        value[cell[time_at], column[name]] = cell[value_at]
}
END {
    if (passes || !rows)
        exit
    line = "time"
    for (i = 1; i <= columns; i++)
        line = line separator quoted(names[i] "=gauge")
    print line | "cat"
    close("cat") # before the rows
    for (r = 1; r <= rows; r++) {
        line = times[r]
        for (i = 1; i <= columns; i++)
            line = line separator value[times[r], i]
        print line | "LC_ALL=C sort"
    }
}
