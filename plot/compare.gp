# Draws two sides of runs: panels of figures under a common axis, the phases of both sides below.
#
#     gnuplot -d -c compare.gp FORMAT > PICTURE        FORMAT: png, svg or pdf
#
# Beside what common.gp and axis.gp name:
#
#     panel-P-R.dat                     run R in panel P: position, mean, ..., dot as in run.gp; runs
#                                       of side A come first
#     a-phases.dat, b-phases.dat, ...   strips of the run that stands for each side

format = ARG1
load "common.gp"
load "axis.gp"

heading = 24 * px
foot = (foot_px + (strips ? strip_space + 2 * strip_px : 0)) * px
panel_height = 1.0 * (floor_y - head - foot) / panels
side_colour(r) = line_colour(r <= a_count ? 1 : 2)
# The others first, from both sides in turn, so that neither hides the other.
order = ""
do for [n = 1 : runs] {
    order = order . (n <= a_count && n != standing[1] ? sprintf(" %d", n) : "") \
        . (n <= runs - a_count && a_count + n != standing[2] ? sprintf(" %d", a_count + n) : "")
}

set multiplot
load "title.gp"
do for [n = 1 : 2] {
    x = n == 1 ? 14 : b_left
    y = head_px + 0.5 * row_px - 4
    set arrow n from screen across(x * px), up(y * px) to screen across((x + 18) * px), up(y * px) \
        nohead front linewidth 2.2 linecolor rgb line_colour(n)
    set label 500 + n caption(3 + n) at screen across((x + 24) * px), up(y * px) left noenhanced \
        textcolor rgb dark
}
load "labels.gp"
plot NaN notitle
unset label
unset arrow
unset object

set border 3 linestyle 101
set grid xtics ytics linestyle 100
set xrange [x_from : x_to]
set lmargin at screen across(left)
set rmargin at screen across(right)
do for [p = 1 : panels] {
    top = head + (p - 1) * panel_height
    set tmargin at screen up(top + heading)
    set bmargin at screen up(top + panel_height - 5 * px)
    set label 3 caption(5 + p) at screen across(left), up(top + heading - 11 * px) left noenhanced \
        textcolor rgb dark
    if (p == panels) {
        set label 4 caption(3) at screen across((left + right) / 2), up(floor_y - 9 * px) \
            center noenhanced textcolor rgb quiet
    }
    if (p == panels && !strips) {
        eval x_tics
    } else {
        eval x_tics_bare
    }
    set yrange [y_from[p] : y_to[p]]
    unset ytics
    set ytics scale 0.6 nomirror textcolor rgb dark
    set ytics ("0" 0)
    do for [i = int(ceil(y_from[p] / y_step[p] - 1e-9)) : int(floor(y_to[p] / y_step[p] + 1e-9))] {
        set ytics add (y_label(i * y_step[p], y_scale[p], y_suffix[p]) i * y_step[p])
    }
    file(r) = sprintf("panel-%d-%d.dat", p, int(r))
    eval "plot " . shade(sprintf("%.17g", y_from[p]), sprintf("%.17g", y_to[p])) \
        . (strlen(order) ? "for [r in order] file(r) using 1:2 with lines linewidth 0.8 " \
        .     "linecolor rgb veiled(120, side_colour(int(r))) notitle, " : "") \
        . "for [i = 1 : 2] file(standing[i]) using 1:5 with points pointtype 7 " \
        .     "pointsize point_size(0.35) linecolor rgb line_colour(i) notitle, " \
        . "for [i = 1 : 2] file(standing[i]) using 1:2 with lines linewidth 1.7 " \
        .     "linecolor rgb line_colour(i) notitle"
    unset label 4
}

if (strips) {
    unset label
    unset grid
    unset ytics
    set yrange [0 : 1]
    array strip_bounds[2] = [a_bounds, b_bounds]
    array strip_labels[2] = [a_labels, b_labels]
    do for [n = 1 : 2] {
        bottom = floor_y - (foot_px + (2 - n) * strip_px) * px
        set tmargin at screen up(bottom - (strip_px - 3) * px)
        set bmargin at screen up(bottom)
        if (n == 2) {
            set border 1 linestyle 101
            eval x_tics
        } else {
            unset border
            unset xtics
        }
        set label 1 "Side " . word("A B", n) at screen across(left - 7 * px), \
            up(bottom - (strip_px - 3) / 2 * px) right textcolor rgb line_colour(n)
        eval "plot " . phase_strip(word("a- b-", n), strip_bounds[n], strip_labels[n])
    }
}
unset multiplot
unset output
