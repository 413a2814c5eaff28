# Draws a run: panels under a common axis.
#
#     gnuplot -d -c run.gp FORMAT > PICTURE        FORMAT: png, svg or pdf
#
# Beside what common.gp names:
#
#     panel-P-L.dat    line L of panel P: position, mean, smallest, largest, dot, interval's low, high
#     duty.dat         share of the time that an event set was counted, in the same columns
#
# The lines of a panel are its metrics; where CPUs stand side by side (apart = 1) they are the CPUs,
# the same in all panels, with one legend at the top.

format = ARG1
load "common.gp"
load "axis.gp"

heading = 24 * px
foot = (foot_px + duty * duty_px + code_px) * px
panel_height = 1.0 * (floor_y - head - foot) / panels
band_opacity(n) = !apart ? "A0" : n <= 2 ? "C0" : "D8"
series_band(m, n) = "#" . band_opacity(n) . colour[(m - 1) % 8 + 1]
interval_band(m) = "#B8" . colour[(m - 1) % 8 + 1]

set multiplot
load "title.gp"
note_text = 4
do for [p = 1 : panels] {
    note_text = note_text + 1 + lines[p]
}
words_text = note_text + notes
load "words.gp"
load "strip.gp"

set border 3 linestyle 101
set grid xtics ytics linestyle 100
set xrange [x_from : x_to]
line = 4
do for [p = 1 : panels] {
    top = head + (p - 1) * panel_height
    set lmargin at screen across(left)
    set rmargin at screen across(right)
    under = top + heading + (narrow && lines[p] > 1 && !apart ? 17 * px : 0)
    set tmargin at screen up(under)
    set bmargin at screen up(top + panel_height - 5 * px)

    unset label
    unset arrow
    if (p == 1 && apart) {
        across_count = int((width / scale - 28) / legend_entry)
        do for [n = 1 : lines[p]] {
            legend_x = (14 + ((n - 1) % across_count) * legend_entry) * px
            legend_y = (head_px + (int((n - 1) / across_count) + 0.5) * row_px - 4) * px
            set arrow n from screen across(legend_x), up(legend_y) \
                to screen across(legend_x + 18 * px), up(legend_y) nohead front linewidth 1.8 \
                dashtype line_dash(n) linecolor rgb line_colour(n)
            set label 100 + n caption(line + n) at screen across(legend_x + 22 * px), up(legend_y) \
                left noenhanced textcolor rgb dark
        }
    }
    set label 3 caption(line) at screen across(left), up(top + heading - 11 * px) left noenhanced \
        textcolor rgb dark
    if (p == panels && !code_lines) {
        set label 4 caption(3) at screen across((left + right) / 2), up(floor_y - 9 * px) \
            center noenhanced textcolor rgb quiet
    }
    if (p == panels && !duty && !code_lines) {
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

    if (lines[p] > 1 && !apart) {
        set key at screen across(right), up(under - 11 * px) right center \
            horizontal Left reverse noenhanced samplen 1.6 textcolor rgb dark
    } else {
        unset key
    }
    a = sprintf("%.17g", y_from[p])
    b = sprintf("%.17g", y_to[p])
    if (lines[p] == 0) {
        set label 5 "no data" at graph 0.5, 0.5 center textcolor rgb quiet front
        eval "plot " . shade(a, b) . "NaN notitle" . marks_over(a, b)
    } else {
        file(m) = sprintf("panel-%d-%d.dat", p, m)
        bars = apart || quantile ? 0 : 1    # as long as the band, for points that have none
        eval "plot " . shade(a, b) \
            . "for [m = 1 : lines[p]] file(m) using 1:3:4 with filledcurves " \
            .     "fillcolor rgb series_band(m, lines[p]) notitle, " \
            . (apart ? "" : "for [m = 1 : lines[p]] file(m) using 1:6:7 with filledcurves " \
            .     "fillcolor rgb interval_band(m) notitle, ") \
            . "for [m = 1 : lines[p]] file(m) using 1:5:(bars ? $3 : $5):(bars ? $4 : $5) " \
            .     "with yerrorbars pointtype 7 pointsize point_size(0.35) linecolor rgb line_colour(m) notitle, " \
            . "for [m = 1 : lines[p]] file(m) using 1:2 with lines linewidth 1.5 " \
            .     "dashtype line_dash(m) linecolor rgb line_colour(m) title caption(line + m)" \
            . marks_over(a, b)
    }
    line = line + 1 + lines[p]
}

if (code_lines > 0) {
    code_floor = floor_y - (foot_px + duty * duty_px) * px
    code_text = words_text + words
    load "code.gp"
}

# How much of the time each event set was counted: one line, faint, as it is about the measurement.
if (duty) {
    unset label
    unset arrow
    unset key
    unset object
    set tmargin at screen up(floor_y - (foot_px + duty_px - 16) * px)
    set bmargin at screen up(floor_y - foot_px * px)
    set yrange [0 : 1]
    eval x_tics
    unset ytics
    set ytics scale 0.6 nomirror ("0" 0, "100 %%" 1) font small_font textcolor rgb quiet
    set label 3 "Counted: share of the time that each event set was on" \
        at screen across(left), up(floor_y - (foot_px + duty_px - 9) * px) left noenhanced \
        font small_font textcolor rgb quiet
    set label 4 caption(3) at screen across((left + right) / 2), up(floor_y - 9 * px) \
        center noenhanced textcolor rgb quiet
    plot "duty.dat" using 1:(0):2 with filledcurves fillcolor rgb veiled(200, quiet) notitle, \
        "duty.dat" using 1:2 with lines linewidth 0.8 linecolor rgb quiet notitle
}
unset multiplot
unset output
