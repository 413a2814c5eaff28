# Draws what the distinct phases of a run are like: a column a label, a row a figure.
#
#     gnuplot -d -c phases.gp FORMAT > PICTURE        FORMAT: png, svg or pdf
#
# Beside what common.gp names, cells.dat: row, column, then across the cell from 0 to 1 the end of the
# bar and the spread around it; colour; value. The whole run is in the middle of a cell.

format = ARG1
load "common.gp"

top = profile_head_px * px
bottom = height - profile_foot_px * px
cell_width = (right - left) / columns
cell_height = (bottom - top) / rows
inner = 0.86                        # of a cell's width that its bar may have

set multiplot
set style textbox opaque noborder fillcolor rgb background margins 0.6, 0.3
load "title.gp"
words_top = head_px - 2
words_text = 3 + 2 * columns + 2 * rows
load "words.gp"
set lmargin at screen across(left)
set rmargin at screen across(right)
set tmargin at screen up(top)
set bmargin at screen up(bottom)
set xrange [0 : columns]
set yrange [rows : 0]

do for [c = 1 : columns] {
    middle_x = left + (c - 1 + inner / 2) * cell_width
    set object c rectangle from screen across(left + (c - 1) * cell_width), up(top - 38 * px) \
        to screen across(left + (c - 1 + inner) * cell_width), up(top - 20 * px) \
        fillcolor rgb band_colour(label[c]) fillstyle solid noborder
    if (label[c] >= 9) {
        set object 100 + c rectangle \
            from screen across(left + (c - 1) * cell_width), up(top - 38 * px) \
            to screen across(left + (c - 1 + inner) * cell_width), up(top - 20 * px) \
            fillcolor rgb "#FFFFFF" fillstyle transparent pattern 4 noborder
    }
    set label c caption(1 + 2 * c) at screen across(middle_x), up(top - 29 * px) center noenhanced \
        textcolor rgb "#101010" front
    set label 100 + c caption(2 + 2 * c) at screen across(middle_x), up(top - 10 * px) center \
        noenhanced font small_font textcolor rgb quiet
}
do for [r = 1 : rows] {
    n = 2 + 2 * columns + 2 * r
    set label 200 + r caption(n - 1) at screen across(left - 9 * px), \
        up(top + (r - 0.5) * cell_height - 7 * px) right noenhanced textcolor rgb dark
    set label 300 + r caption(n) at screen across(left - 9 * px), \
        up(top + (r - 0.5) * cell_height + 7 * px) right noenhanced font small_font \
        textcolor rgb quiet
    set arrow r from first 0, r to first columns - 1 + inner, r nohead linestyle 100
}
set label 400 sprintf("Bars: times the whole run's figure (upright line), 1/%g to %g.", half, half) \
    . (spreads ? " Thin lines: spread." : "") at screen across(left), up(height - 12 * px) left noenhanced font small_font textcolor rgb quiet

# Values stand in the lower half of a cell, bars in the upper one.
do for [c = 0 : columns - 1] {
    set arrow 1000 + c from first c + inner / 2, 0 to first c + inner / 2, rows nohead \
        linewidth 0.8 linecolor rgb axis back
}
plot "cells.dat" using ($2):(0):($2 + inner / 2):($2 + inner * $3):($1 + 0.14):($1 + 0.50):(int(strcol(6))) \
        with boxxyerror fillstyle solid noborder fillcolor rgb variable notitle, \
    "" using ($2 + inner * $4):($1 + 0.32):(inner * ($5 - $4)):(0) with vectors nohead \
        linewidth 1.2 linecolor rgb veiled(64, dark) notitle, \
    "" using ($2 + inner / 2):($1 + 0.76):7 with labels center noenhanced boxed textcolor rgb dark notitle
unset multiplot
unset output
