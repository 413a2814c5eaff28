# pmrep -o csv of PCP, on standard input: a table that rpistat imports as it is. This draws the instances of a metric, as
# of network interfaces, in one panel:
#
#     awk -f examples/import/pmrep.awk run.csv | rpistat import -

/^Time.?"/ && !is_known {
    is_known = 1
    cells = split($0, cell, "\"") # names are between quotes, at even places
    for (i = 2; i < cells; i += 2) {
        of[i] = cell[i]
        sub(/-.*/, "", of[i])
        if (of[i] != cell[i])
            count[of[i]]++
    }
    line = cell[1]
    for (i = 2; i < cells; i += 2)
        line = line "\"" cell[i] (count[of[i]] > 1 ? "=gauge::" of[i] : "") "\"" cell[i + 1]
    header = $0
    $0 = line
}
$0 == header { next } # again, with -E
{ print }
