# Draws two metrics of a run against each other, a point a rotation of the event sets.
#
#     gnuplot -d -c scatter.gp FORMAT > PICTURE        FORMAT: png, svg or pdf
#
# Beside what common.gp names, points.dat (x, y, colour; a block a label) and points-middle.dat (where
# the labels' names go).

format = ARG1
load "common.gp"

# Nought has no logarithm, and is drawn at the end of the axis.
x_end(v) = (x_log && v <= x_from + 1e-9 ? "≤" : "") . \
    (x_log ? log_label(v) : y_label(v, x_scale, x_suffix))
y_end(v) = (y_log && v <= y_from + 1e-9 ? "≤" : "") . \
    (y_log ? log_label(v) : y_label(v, y_scale, y_suffix))

set multiplot
load "title.gp"
left = plot_left_px * px
set lmargin at screen across(left)
set rmargin at screen across(right)
set tmargin at screen up(plot_head_px * px)
set bmargin at screen up(height - plot_foot_px * px)
set border 3 linestyle 101
set grid xtics ytics linestyle 100
set xrange [x_from : x_to]
set yrange [y_from : y_to]
set xtics scale 0.6 nomirror offset 0, 0.3 ("" x_from) textcolor rgb dark
do for [i = int(ceil(x_from / x_step - 1e-9)) : int(floor(x_to / x_step + 1e-9))] {
    set xtics add (x_end(i * x_step) i * x_step)
}
set ytics scale 0.6 nomirror ("" y_from) textcolor rgb dark
do for [i = int(ceil(y_from / y_step - 1e-9)) : int(floor(y_to / y_step + 1e-9))] {
    set ytics add (y_end(i * y_step) i * y_step)
}
set label 3 caption(3) at screen across((left + right) / 2), up(height - 10 * px) center \
    noenhanced textcolor rgb dark
set label 4 caption(4) at screen across(left), up((plot_head_px - 13) * px) left \
    noenhanced textcolor rgb dark
if (points_outside > 0) {
    set label 5 sprintf("%d beyond the axes", points_outside) at screen across(right), \
        up((plot_head_px + 9) * px) right noenhanced font small_font textcolor rgb quiet
}
# Of the labels that have points. Without room for all, the letters among the points must do.
entries = legend > 0 && points_blocks * label_entry < width / scale - 320 ? points_blocks : 0
do for [n = 1 : entries] {
    x = right - (entries - n + 1) * label_entry * px
    set label 100 + n label_name[points_label[n] + 1] at screen across(x), up((plot_head_px - 13) * px) left \
        noenhanced textcolor rgb dark offset character 1, 0 \
        point pointtype point_shape(points_label[n]) linecolor rgb ink_colour(points_label[n]) \
        pointsize point_size(0.8)
}
set style textbox opaque noborder fillcolor rgb background margins 0.6, 0.4
plot for [b = 0 : points_blocks - 1] "points.dat" index b using 1:2:(int(strcol(3))) with points \
        pointtype point_shape(points_label[b + 1]) pointsize point_size(points_few ? 0.8 : 0.5) \
        linecolor rgb variable notitle, \
    for [file in (legend > 0 ? "points-middle.dat" : "")] file using 1:2:3 with labels boxed left \
        offset character 0.8, 0.7 noenhanced textcolor rgb dark notitle
unset multiplot
unset output
