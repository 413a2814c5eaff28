# Convert the CSV of dstat or dool to a table. dstat writes the time without the year, which is in the line "Date:", and
# the names of columns in two rows. The first row of dstat is the mean since the machine started:
#
#     awk -f examples/import/dstat.awk dstat.csv | rpistat import -

function fail(text) { print "dstat.awk: " text >"/dev/stderr"; exit failed = 1 }

# Split a line of CSV into cell[1 ... count].
function split_row(line,    count, text, end)
{
    for (count = 0; length(line) || count == 0; ) {
        if (line ~ /^"/) {
            end = index(substr(line, 2), "\"")
            text = substr(line, 2, end - 1)
            line = substr(line, end + 2)
        } else {
            end = index(line ",", ",")
            text = substr(line, 1, end - 1)
            line = substr(line, end)
        }
        cell[++count] = text
        if (line == ",")
            cell[++count] = ""
        line = substr(line, 2)
    }
    return count
}

function month_of(name) { return (index("janfebmaraprmayjunjulaugsepoctnovdec", tolower(name)) + 2) / 3 }

# dstat: 28-11 09:50:12; dool: Nov-28 09:50:12
function date_of(text,    part, month, is_number)
{
    if (split(text, part, /[- ]/) != 3)
        return text # --epoch
    is_number = part[1] ~ /^[0-9]+$/
    month = is_number ? part[2] : month_of(part[1])
    if (month + 0 < last_month)
        year++ # New Year
    last_month = month + 0
    return sprintf("%04d-%02d-%02d %s", year, month, is_number ? part[1] : part[2], part[3])
}

{ sub(/\r$/, ""); count = split_row($0) }
cell[1] == "Host:" { host = cell[2]; next }
cell[1] == "Cmdline:" {
    for (i = 2; i < count; i++)
        if (cell[i] == "Date:" && split(cell[i + 1], part, " ") > 2)
            year = part[3]
    last_month = 0
    next
}
/^$/ || /^"(Dstat|Dool|Author|pcp)/ { next }
cell[1] ~ /^(system|epoch)$/ { split_row($0); for (i = 1; i <= count; i++) group[i] = cell[i] == "" ? group[i - 1] : cell[i]; next }
cell[1] ~ /^(time|epoch|date\/time)$/ {
    header = "time"
    for (i = 2; i <= count; i++) {
        unit = group[i] ~ /(cpu|total).* usage$|^total usage$/ ? "%" : group[i] ~ /^(dsk|net)/ ? "B/s" : group[i] ~ /^(memory|swap)/ ? "B" : ""
        header = header ",\"" group[i] " " cell[i] "=gauge:" unit ":" group[i] "\""
    }
    if (columns && header != last_header)
        fail("line " NR ": the columns change: import the parts of the file one by one")
    if (!columns)
        print (host != "" ? "# host: " host "\n" : "") header
    last_header = header
    columns = count
    next
}
!columns { fail("line " NR ": no column has the time: run dstat with -t or -T") }
count == columns {
    if (!year && cell[1] !~ /^[0-9.]+$/)
        fail("no line has \"Date:\", so the year is unknown: run dstat with -T")
    line = date_of(cell[1])
    for (i = 2; i <= count; i++)
        line = line "," cell[i]
    print line
}
