# Draws a run as a map: a row a metric, coloured by its distance from its mean.
#
#     gnuplot -d -c heat.gp FORMAT > PICTURE        FORMAT: png, svg or pdf
#
# Beside what common.gp and axis.gp name, heat.dat: from, to, row, distance in spreads.

format = ARG1
load "common.gp"
load "axis.gp"

set multiplot
load "title.gp"
note_text = 4 + 2 * rows
load "strip.gp"

bottom = floor_y - foot_px * px
row_height = (bottom - head) / rows
set border 1 linestyle 101
set lmargin at screen across(left)
set rmargin at screen across(right)
set tmargin at screen up(head)
set bmargin at screen up(bottom)
set xrange [x_from : x_to]
set yrange [rows : 0]
eval x_tics
unset ytics
step = int(ceil(row_text_px * px / row_height))     # rows without room for a name have none
do for [n = 0 : (rows - 1) / step] {
    r = n * step
    set label 10 + 2 * r caption(4 + 2 * r) at screen across(left - 7 * px), \
        up(head + (r + 0.5) * row_height) right noenhanced textcolor rgb dark
    set label 11 + 2 * r caption(5 + 2 * r) at screen across(right + 7 * px), \
        up(head + (r + 0.5) * row_height) left noenhanced textcolor rgb quiet
}
set label 1 "mean, sd" at screen across(right + 7 * px), up(head - 8 * px) left noenhanced \
    font small_font textcolor rgb quiet
set label 2 caption(3) at screen across((left + right) / 2), up(floor_y - 9 * px) center \
    noenhanced textcolor rgb quiet
set palette defined (-most low, 0 middle, most high)
set cbrange [-most : most]
box_left = 14.0
box_right = left / px - 30
set colorbox horizontal user origin screen across(box_left * px), up(floor_y - 15 * px) \
    size screen across((box_right - box_left) * px), 7.0 * px / height noborder
unset cbtics
scale_number(n) = (n < 0 ? "−" : n > 0 ? "+" : "") . abs(n)
do for [n = -2 : 2 : box_right - box_left < 110 ? 2 : 1] {
    set label 6 + n scale_number(n) at \
        screen across((box_left + (box_right - box_left) * (0.5 + n / (2.0 * most))) * px), \
        up(floor_y - 7 * px) center noenhanced font small_font textcolor rgb quiet
}
set label 9 "× sd" at screen across((box_right + 5) * px), up(floor_y - 18 * px) left noenhanced \
    font small_font textcolor rgb quiet
set object 1 rectangle from graph 0, 0 to graph 1, 1 behind fillcolor rgb grid \
    fillstyle solid noborder
gutter = row_height > 8 * px ? 0.06 : 0
eval "plot 'heat.dat' using 1:(0):1:2:($3 + gutter):($3 + 1 - gutter):4 with boxxyerror " \
    . "fillstyle solid noborder fillcolor palette notitle" \
    . (bounds > 0 ? ", 'bounds.dat' using 1:(0):(0):(rows) with vectors nohead " \
        . "linewidth 0.8 linecolor rgb veiled(110, dark) notitle" : "") \
    . (gaps > 0 ? ", 'gaps.dat' using 1:(0):1:2:(0):(rows) with boxxyerror " \
        . "fillstyle transparent pattern 2 noborder fillcolor rgb faint notitle" : "") \
    . marks_over("0", "rows")
unset multiplot
unset output
