# Draws a run in characters: panels under a common axis.
#
#     gnuplot -d -c terminal.gp KIND        KIND: mono or colour
#
# is run in a folder that rpistat plot has filled; see run.gp for its files. The mean is a line
# of `*` (`#`, `$`, ... for further lines); `|` reaches from the smallest to the largest value, but
# not where CPUs stand side by side.

load "figure.gp"
load "text.gp"
set encoding utf8
caption(n) = $text[n][2:*]

if (ARG1 eq "colour") {
    set terminal dumb size width, height noenhanced ansi
} else {
    set terminal dumb size width, height noenhanced mono
}

array mark[7] = ["*", "#", "$", "%", "@", "&", "="]     # gnuplot's own for line types 1 to 7
array colour[7] = ["green", "magenta", "cyan", "red", "blue", "yellow", "black"]
line_mark(m) = mark[(m - 1) % 7 + 1]
line_colour(m) = colour[(m - 1) % 7 + 1]

# Screen coordinates of a character; the first line is the title, the last but one the axis. Above
# the panels a line of the phases: |--A--|-B-|, and one of the finer ones: |.|..|.|..|. Below the axis lines that name panels without room.
left = 8
right = 3
head = 2 + legend_rows + strip + finer
foot = left_out > 1 ? 1 + left_out : 2
across(x) = x / (width - 1.0)
up(y) = 1 - y / (height - 1.0)
first_line(p) = head + int((p - 1.0) * (height - head - foot) / panels)

y_text(y, p) = y == 0 ? "0" : sprintf("%g", y / y_scale[p]) . y_suffix[p]

set border 3 back
set xrange [x_from : x_to]
unset key

set multiplot
line = 6
do for [p = 1 : panels] {
    top = first_line(p)
    bottom = first_line(p + 1) - 1
    set lmargin at screen across(left)
    set rmargin at screen across(width - right)
    set tmargin at screen up(top + 1)
    set bmargin at screen up(bottom)

    unset label
    if (p == 1) {
        set label 1 caption(1) at screen across(0), up(0) left noenhanced
        set label 2 caption(2) at screen across(0), up(1) left noenhanced
        if (strip) {
            set label 4 "Phases" at screen across(0), up(head - finer - 1) left noenhanced
            set label 5 caption(4) at screen across(left), up(head - finer - 1) left noenhanced
        }
        if (finer) {
            set label 6 "finer" at screen across(0), up(head - 1) left noenhanced
            set label 7 caption(5) at screen across(left), up(head - 1) left noenhanced
        }
    }
    set label 3 caption(line) at screen across(left), up(top) left noenhanced
    do for [n = 1 : p == panels ? left_out : 0] {
        set label 100 + n caption(line + lines[p] + n) \
            at screen across(0), up(height - 1 - left_out + n) left noenhanced
    }
    unset xtics
    if (p == panels) {
        set xtics scale 0 nomirror ("" x_from)
        do for [i = 1 : words(x_places)] {
            set xtics add (word(x_names, i) real(word(x_places, i)))
        }
    }
    set yrange [y_from[p] : y_to[p]]
    unset ytics
    set ytics scale 0 nomirror ("0" 0)
    do for [i = int(ceil(y_from[p] / y_step[p] - 1e-9)) : int(floor(y_to[p] / y_step[p] + 1e-9))] {
        set ytics add (y_text(i * y_step[p], p) i * y_step[p])
    }
    if (lines[p] > 1 && (!apart || p == 1)) {
        column = apart ? 0 : width
        do for [m = 1 : apart ? 0 : lines[p]] {
            column = column - strlen(caption(line + m)) - 4
        }
        row = apart ? 2 : column > left + strlen(caption(line)) ? top : top + 1
        do for [m = 1 : lines[p]] {
            set label 10 + m line_mark(m) . " " . caption(line + m) \
                at screen across(column + (apart ? 0 : 2)), up(row) left noenhanced \
                textcolor rgb line_colour(m) front
            column = column + strlen(caption(line + m)) + 4
        }
    }
    if (lines[p] == 0) {
        set label 8 "no data" at graph 0.5, 0.5 center
        plot NaN notitle
    } else {
        file(m) = sprintf("panel-%d-%d.dat", p, m)
        plot for [m = 1 : lines[p]] file(m) using 1:(apart ? NaN : $3):(0):($4 - $3) with vectors nohead \
                dashtype 3 linecolor rgb line_colour(m) notitle, \
            for [m = 1 : lines[p]] file(m) using 1:2 with lines linetype m \
                linecolor rgb line_colour(m) notitle, \
            for [m = 1 : lines[p]] file(m) using 1:(ARG1 eq "colour" ? $2 : $5) with points pointtype line_mark(m) \
                linecolor rgb line_colour(m) notitle
    }
    line = line + 1 + lines[p]
}
unset multiplot
