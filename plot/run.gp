# Draws a run: panels under a common axis.
#
#     gnuplot -d -c run.gp FORMAT > PICTURE        FORMAT: png, svg or pdf
#
# is run in a folder that rpistat plot has filled (keep one with --keep DIR):
#
#     figure.gp        numbers: size, axes, what each panel holds
#     text.gp          text: title, headings, legends; never interpreted
#     panel-P-L.dat    line L of panel P: position, mean, smallest, largest, dot
#
# The lines of a panel are its metrics; where CPUs stand side by side (apart = 1) they are the CPUs,
# the same in all panels, with one legend at the top.

load "figure.gp"
load "text.gp"
set encoding utf8

# Each line of $text has a bar in front, so that none can end the block.
caption(n) = $text[n][2:*]

# --- terminal ---------------------------------------------------------------------------------

font_px = 12.0
title_font = ARG1 eq "svg" ? ",16" : ",12"      # pixels there, points elsewhere
if (ARG1 eq "png") {
    set terminal pngcairo size width, height noenhanced font sprintf("Sans,%g", font_px * 0.75) \
        fontscale scale linewidth scale
} else { if (ARG1 eq "svg") {
    set terminal svg size width, height fixed noenhanced name "rpistat" background "white" \
        font sprintf("DejaVu Sans,Verdana,Arial,%g", font_px) fontscale scale linewidth scale
} else { if (ARG1 eq "pdf") {
    set terminal pdfcairo size width / 96.0, height / 96.0 noenhanced \
        font sprintf("Sans,%g", font_px * 0.75) fontscale 0.75 * scale linewidth 1.3 * scale
} else {
    print "run.gp: the format must be png, svg or pdf, not ", ARG1
    exit status 1
}}}

# --- style: Okabe and Ito's colours, told apart by colour-blind readers too --------------------

array colour[8] = ["0072B2", "D55E00", "009E73", "CC79A7", "E69F00", "56B4E9", "000000", "8C8C8C"]
line_colour(n) = "#" . colour[(n - 1) % 8 + 1]
line_dash(n) = n > 8 ? 2 : 1                    # the second eight are dashed
band_opacity(n) = !apart ? "#A0" : n <= 2 ? "#C0" : "#D8"
band_colour(m, n) = band_opacity(n) . colour[(m - 1) % 8 + 1]

dark = "#202020"
quiet = "#606060"
set style line 100 linecolor rgb "#dcdcdc" linewidth 0.6
set style line 101 linecolor rgb "#707070" linewidth 0.8
set border 3 linestyle 101
set grid xtics ytics linestyle 100
set tics nomirror scale 0.6
set style fill noborder

# --- layout, in pixels ------------------------------------------------------------------------

px = scale
left = 58 * px
right = 34 * px
legend = 52 * px                    # of the CPUs, below the title
head = legend + legend_rows * legend_height * px
foot = 46 * px
heading = 24 * px
narrow = width / scale < 760        # legends go below the headings then
across(x) = 1.0 * x / width
up(y) = 1 - 1.0 * y / height
panel_height = 1.0 * (height - head - foot) / panels

# --- tics -------------------------------------------------------------------------------------

clock(s) = sprintf("%02d:%02d:", int(s / 3600), int(s / 60) % 60) . \
    sprintf(x_decimals > 0 ? sprintf("%%0%d.%df", 3 + x_decimals, x_decimals) : "%02.0f", \
        s - 60 * floor(s / 60 + 1e-9))
x_text(x) = x_is_time ? clock(x) : sprintf("%g", x / x_scale)

set xrange [x_from : x_to]
y_text(y, p) = y == 0 ? "0" : sprintf("%g", y / y_scale[p]) . y_suffix[p]
x_first = int(ceil(x_from / x_step - 1e-9))
x_last = int(floor(x_to / x_step + 1e-9))

# --- panels -----------------------------------------------------------------------------------

set multiplot
line = 4
do for [p = 1 : panels] {
    top = head + (p - 1) * panel_height
    set lmargin at screen across(left)
    set rmargin at screen across(width - right)
    under = top + heading + (narrow && lines[p] > 1 && !apart ? 17 * px : 0)
    set tmargin at screen up(under)
    set bmargin at screen up(top + panel_height - 5 * px)

    unset label
    unset arrow
    if (p == 1) {
        set label 1 caption(1) at screen across(14 * px), up(17 * px) left noenhanced \
            font title_font
        set label 2 caption(2) at screen across(14 * px), up(36 * px) left noenhanced \
            textcolor rgb quiet
    }
    if (p == 1 && apart) {
        across_count = int((width / scale - 28) / legend_entry)
        do for [n = 1 : lines[p]] {
            legend_x = (14 + ((n - 1) % across_count) * legend_entry) * px
            legend_y = legend + (int((n - 1) / across_count) + 0.5) * legend_height * px - 4 * px
            set arrow n from screen across(legend_x), up(legend_y) \
                to screen across(legend_x + 18 * px), up(legend_y) nohead front linewidth 1.8 \
                dashtype line_dash(n) linecolor rgb line_colour(n)
            set label 100 + n caption(line + n) at screen across(legend_x + 22 * px), up(legend_y) \
                left noenhanced
        }
    }
    set label 3 caption(line) at screen across(left), up(top + heading - 11 * px) left noenhanced \
        textcolor rgb dark
    if (p == panels) {
        set label 4 caption(3) at screen across((left + width - right) / 2), up(height - 9 * px) \
            center noenhanced textcolor rgb quiet
    }

    unset xtics
    set xtics scale 0.6 nomirror offset 0, 0.3 ("" x_from)
    do for [i = x_first : x_last] {
        set xtics add ((p == panels ? x_text(i * x_step) : "") i * x_step)
    }

    set yrange [y_from[p] : y_to[p]]
    unset ytics
    set ytics scale 0.6 nomirror
    set ytics ("0" 0)
    do for [i = int(ceil(y_from[p] / y_step[p] - 1e-9)) : int(floor(y_to[p] / y_step[p] + 1e-9))] {
        set ytics add (y_text(i * y_step[p], p) i * y_step[p])
    }

    if (lines[p] > 1 && !apart) {
        set key at screen across(width - right), up(under - 11 * px) right center \
            horizontal Left reverse noenhanced samplen 1.6
    } else {
        unset key
    }
    if (lines[p] == 0) {
        set label 5 "no data" at graph 0.5, 0.5 center textcolor rgb quiet
        plot NaN notitle
    } else {
        file(m) = sprintf("panel-%d-%d.dat", p, m)
        bars = apart || quantile ? 0 : 1    # as long as the band, for points that have none
        plot for [m = 1 : lines[p]] file(m) using 1:3:4 with filledcurves \
                fillcolor rgb band_colour(m, lines[p]) notitle, \
            for [m = 1 : lines[p]] file(m) using 1:5:(bars ? $3 : $5):(bars ? $4 : $5) \
                with yerrorbars pointtype 7 pointsize 0.35 linecolor rgb line_colour(m) notitle, \
            for [m = 1 : lines[p]] file(m) using 1:2 with lines linewidth 1.5 \
                dashtype line_dash(m) linecolor rgb line_colour(m) title caption(line + m)
    }
    line = line + 1 + lines[p]
}
unset multiplot
unset output
