# Draws a figure: its panels, one after another.
#
#     gnuplot -d -c draw.gp FORMAT > PICTURE        FORMAT: png, svg, pdf or sixel
#
# It is run in a folder that rpistat has filled (keep one with --keep-script DIR):
#
#     figure.gp        size and colours
#     panels.gp        of each panel its place, axes and layers
#     text.gp          text, by the number of its line; never interpreted
#     *.dat            the shapes of layers
#
# Lengths are pixels at scale 1; px is what one of them is in this picture.

format = ARG1
load "figure.gp"
load "text.gp"
set encoding utf8

# Each line of $text has a bar in front, so that none can end the block.
caption(n) = $text[int(n)][2:*]

# --- terminal ---------------------------------------------------------------------------------

font_px = 12.0
title_font = format eq "svg" ? ",16" : ",12"    # pixels there, points elsewhere
small_font = format eq "svg" ? ",10" : ",7.5"
if (format eq "png") {
    set terminal pngcairo size width, height noenhanced font sprintf("Sans,%g", font_px * 0.75) \
        fontscale scale linewidth scale pointscale scale background background
} else { if (format eq "svg") {
    set terminal svg size width, height fixed noenhanced name "rpistat" background background \
        font sprintf("DejaVu Sans,Verdana,Arial,%g", font_px) fontscale scale linewidth scale
} else { if (format eq "pdf") {
    set terminal pdfcairo size width / 96.0, height / 96.0 noenhanced background background \
        font sprintf("Sans,%g", font_px * 0.75) fontscale 0.75 * scale linewidth 1.3 * scale pointscale 0.75 * scale
} else { if (format eq "sixel") {
    if (strstrt(GPVAL_TERMINALS, " sixelgd ") == 0) {
        print "error: built without the terminal sixelgd, which --sixel needs; leave it out"
        exit status 1
    }
    set terminal sixelgd truecolor size width, height noenhanced font "Sans,9" \
        fontscale scale linewidth scale background background
} else {
    print "the format must be png, svg, pdf or sixel, not ", format
    exit status 1
}}}}

# --- style ------------------------------------------------------------------------------------

array shape[6] = [7, 5, 9, 13, 11, 15]          # of points: filled circle, square, triangles, ...
point_size(s) = format eq "svg" ? 0.6 * scale * s : s   # gnuplot's SVG does not scale them
point_shape(n) = shape[n % 6 + 1]

set style line 100 linecolor rgb grid linewidth 0.6
set style line 101 linecolor rgb axis linewidth 0.8
set style fill noborder
set style textbox opaque noborder fillcolor rgb background margins 0.6, 0.4

# --- places -----------------------------------------------------------------------------------

px = 1.0 * scale
across(x) = x * px / width
up(y) = 1 - y * px / height
place(left, right, top, bottom) = sprintf("unset key; unset label; unset xtics; unset ytics; " \
    . "unset border; unset grid; set lmargin at screen %.9g; set rmargin at screen %.9g; " \
    . "set tmargin at screen %.9g; set bmargin at screen %.9g", \
    across(left), across(right), up(top), up(bottom))
tics = "scale 0.6 nomirror noenhanced textcolor rgb dark"
quiet_tics = "scale 0.6 nomirror noenhanced font small_font textcolor rgb quiet"

set multiplot
load "panels.gp"
unset multiplot
unset output
