# Draws the two first principal components of a run: over time, against each other, and what each
# metric has to do with them.
#
#     gnuplot -d -c pca.gp FORMAT > PICTURE        FORMAT: png, svg or pdf
#
# Beside what common.gp and axis.gp name, component-1.dat and component-2.dat (position, mean,
# smallest, largest), points.dat and points-middle.dat (see scatter.gp).

format = ARG1
load "common.gp"
load "axis.gp"

set multiplot
load "title.gp"
note_text = 6 + loadings
load "strip.gp"

# --- over time ---------------------------------------------------------------------------------

set border 3 linestyle 101
set grid xtics ytics linestyle 100
set lmargin at screen across(left)
set rmargin at screen across(right)
set tmargin at screen up((time_top + 4) * px)
set bmargin at screen up((time_top + time_up) * px)
set xrange [x_from : x_to]
low_end = a_from < b_from ? a_from : b_from
high_end = a_to > b_to ? a_to : b_to
set yrange [low_end : high_end]
eval x_tics
set xtics offset 0, -0.1         # below the lowest number at the left
set ytics scale 0.6 nomirror textcolor rgb dark autofreq
set label 3 caption(3) at screen across((left + right) / 2), \
    up((time_top + time_up + 32) * px) center noenhanced textcolor rgb quiet
set key at screen across(right), up((time_top - 9) * px) right center horizontal Left reverse \
    noenhanced samplen 1.6 textcolor rgb dark
a = sprintf("%.17g", low_end)
b = sprintf("%.17g", high_end)
eval "plot " . shade(a, b) \
    . "for [c = 1 : 2] sprintf('component-%d.dat', c) using 1:3:4 with filledcurves " \
    .     "fillcolor rgb veiled(160, line_colour(c)) notitle, " \
    . "for [c = 1 : 2] sprintf('component-%d.dat', c) using 1:2 with lines linewidth 1.5 " \
    .     "linecolor rgb line_colour(c) title caption(3 + c)" . marks_over(a, b)

# --- against each other -------------------------------------------------------------------------

unset key
unset label
lower_bottom = lower_top + lower_up
points_right = left + points_across * px
set rmargin at screen across(points_right)
set tmargin at screen up(lower_top * px)
set bmargin at screen up(lower_bottom * px)
set xrange [a_from : a_to]
set yrange [b_from : b_to]
unset xtics
set xtics scale 0.6 nomirror offset 0, 0.3 textcolor rgb dark a_step
set ytics scale 0.6 nomirror textcolor rgb dark b_step
set label 1 caption(4) at screen across((left + points_right) / 2), up(height - 9 * px) center \
    noenhanced textcolor rgb dark
set label 2 caption(5) at screen across(left), up((lower_top - 12) * px) left noenhanced \
    textcolor rgb dark
if (points_outside > 0) {
    set label 3 sprintf("%d beyond the axes", points_outside) at screen across(points_right), \
        up((lower_top - 12) * px) right noenhanced font small_font textcolor rgb quiet
}
set style textbox opaque noborder fillcolor rgb background margins 0.6, 0.4
plot for [n = 0 : points_blocks - 1] "points.dat" index n using 1:2:(int(strcol(3))) with points \
        pointtype point_shape(points_label[n + 1]) pointsize point_size(points_few ? 0.8 : 0.5) \
        linecolor rgb variable notitle, \
    for [file in (strip ? "points-middle.dat" : "")] file using 1:2:3 with labels boxed left \
        offset character 0.8, 0.7 noenhanced textcolor rgb dark notitle

# --- loadings -----------------------------------------------------------------------------------

if (loadings > 0) {
    unset label
    unset grid
    set border 0
    unset xtics
    unset ytics
    bars_left = points_right + 172 * px
    set lmargin at screen across(bars_left)
    set rmargin at screen across(right)
    set tmargin at screen up(lower_top * px)
    set bmargin at screen up((lower_top + loadings * row_height) * px)
    set xrange [-1 : 1]
    set yrange [loadings : 0]
    set label 1 "Correlation with the components" at screen across(right), \
        up((lower_top - 12) * px) right noenhanced textcolor rgb dark
    set arrow 1 from first 0, 0 to first 0, loadings nohead linestyle 101 front
    do for [n = 1 : loadings] {
        set label 10 + n caption(5 + n) at screen across(bars_left - 8 * px), \
            up((lower_top + (n - 0.5) * row_height) * px) right noenhanced textcolor rgb dark
        set object 2 * n rectangle from first 0, n - 0.88 to first loading_1[n], n - 0.5 \
            fillcolor rgb line_colour(1) fillstyle solid noborder
        set object 2 * n + 1 rectangle from first 0, n - 0.5 to first loading_2[n], n - 0.12 \
            fillcolor rgb line_colour(2) fillstyle solid noborder
    }
    plot NaN notitle
}
unset multiplot
unset output
