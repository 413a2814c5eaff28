# Convert atop -P CPU,CPL,MEM,SWP,DSK,NET to a table with one row per sample. CPU times become percentages of all CPUs,
# pages become bytes, and counts become rates. The first sample, since the machine started, is left out:
#
#     atop -r run.atop -P CPU,CPL,MEM,SWP,DSK,NET | awk -f examples/import/atop.awk | rpistat import -

# Store a value of this sample; the first one of a name adds a column.
function put(name, unit, panel, text)
{
    if (!(name in column)) {
        column[name] = ++columns
        header[columns] = name "=gauge:" unit ":" panel
    }
    value[rows + 1, column[name]] = text
    has_values = 1
}

function end_sample()
{
    if (has_values)
        time[++rows] = epoch
    has_values = 0
}

$1 == "RESET" { since_start = 1; next }
$1 == "SEP" { end_sample(); since_start = 0; next }
since_start || NF < 7 { next }
{ host = $2; epoch = $3; s = $6 }
s <= 0 { next }
$1 == "CPU" {
    split("sys user nice idle wait irq softirq steal", state, " ")
    for (i = ticks = 0; i < 8; i++)
        ticks += $(9 + i)
    for (i = 1; i <= 8 && ticks; i++)
        put("CPU " state[i], "%", "CPU", 100 * $(8 + i) / ticks)
}
$1 == "CPL" {
    put("load 1 min", "", "load", $8)
    put("context switches", "/s", "context switches", $11 / s)
    put("interrupts", "/s", "interrupts", $12 / s)
}
$1 == "MEM" {
    split("free cache buffers slab", state, " ")
    for (i = 1; i <= 4; i++)
        put("memory " state[i], "B", "memory", sprintf("%.0f", $7 * $(8 + i)))
}
$1 == "SWP" { put("swap free", "B", "swap", sprintf("%.0f", $7 * $9)) }
$1 == "DSK" {
    put($7 " busy", "%", "disk busy", $8 / (10 * s))
    put($7 " reads", "/s", "disk requests", $9 / s)
    put($7 " read", "B/s", "disk", 512 * $10 / s)
    put($7 " writes", "/s", "disk requests", $11 / s)
    put($7 " written", "B/s", "disk", 512 * $12 / s)
}
$1 == "NET" && $7 != "upper" {
    put($7 " received", "B/s", "network", $9 / s)
    put($7 " sent", "B/s", "network", $11 / s)
}
END {
    end_sample()
    if (!rows) {
        print "atop.awk: there is no sample after the one since the start: use -P CPU,CPL,MEM,SWP,DSK,NET" >"/dev/stderr"
        exit 1
    }
    print "# host: " host
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
