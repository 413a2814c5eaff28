# What all pictures share: terminal, colours, text and the axis of time or cycles. `format` is png,
# svg, pdf or sixel.
#
# Scripts are run in a folder that rpistat plot has filled (keep one with --keep DIR):
#
#     figure.gp        numbers: size, colours, axes, what each panel holds
#     text.gp          text: title, headings, legends; never interpreted
#     *.dat            series, and what lies behind them
#
# Lengths are pixels at scale 1; px is what one of them is in this picture.

load "figure.gp"
load "text.gp"
set encoding utf8

# Each line of $text has a bar in front, so that none can end the block.
caption(n) = $text[n][2:*]

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

line_colour(n) = "#" . colour[(n - 1) % 8 + 1]
line_dash(n) = n > 8 ? 2 : 1                    # the second eight are dashed
band_colour(n) = "#" . band[n % 9 + 1]          # of phases: label 0 is A
ink_colour(n) = "#" . ink[n % 9 + 1]
array shape[6] = [7, 5, 9, 13, 11, 15]          # of points: filled circle, square, triangles, ...
point_size(s) = format eq "svg" ? 0.6 * scale * s : s   # gnuplot's SVG does not scale them
point_shape(n) = shape[n % 6 + 1]
veiled(alpha, c) = sprintf("#%02X%s", alpha, c[2:*])

set style line 100 linecolor rgb grid linewidth 0.6
set style line 101 linecolor rgb axis linewidth 0.8
set border 3 linestyle 101
set tics nomirror scale 0.6 textcolor rgb dark
set style fill noborder
set boxwidth 1
set key textcolor rgb dark

# --- places -----------------------------------------------------------------------------------

px = 1.0 * scale
across(x) = 1.0 * x / width
up(y) = 1 - 1.0 * y / height
left = left_px * px
right = width - right_px * px
floor_y = height - zeros * row_px * px      # above the lines that name what is nothing but zeros
narrow = width / scale < 760        # legends go below the headings then

# --- tics -------------------------------------------------------------------------------------

log_label(v) = v >= 9 ? sprintf("%g G", 10**(v - 9)) : v >= 6 ? sprintf("%g M", 10**(v - 6)) : \
    v >= 4 ? sprintf("%g k", 10**(v - 3)) : sprintf("%g", 10**v)
y_label(y, scale, suffix) = y == 0 ? "0" : sprintf("%g", y / scale) . suffix
