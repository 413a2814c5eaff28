# Draws the panel "Code" of a run with samples: shares of the time, one on another. Loaded inside a
# multiplot, behind the panels; code_text is the line of its title, code_floor where it ends.
#
#     code.dat    a row a side of each step: position, 0, and the tops of the lines

unset label
unset arrow
unset object
unset key
code_top = code_floor - code_px * px
set tmargin at screen up(code_top + (24 + code_rows * row_px) * px)
set bmargin at screen up(code_floor - 5 * px)
set yrange [0 : 100]
unset ytics
set ytics scale 0.6 nomirror ("0" 0, "50" 50, "100" 100) textcolor rgb dark
if (duty) {
    eval x_tics_bare
} else {
    eval x_tics
    set label 4 caption(3) at screen across((left + right) / 2), up(floor_y - 9 * px) \
        center noenhanced textcolor rgb quiet
}
set label 3 caption(code_text) at screen across(left), up(code_top + 13 * px) left noenhanced \
    textcolor rgb dark
do for [n = 1 : code_lines] {
    x = left + ((n - 1) % code_columns) * code_entry * px
    y = code_top + (24 + int((n - 1) / code_columns) * row_px) * px
    set object n rectangle from screen across(x), up(y + 3 * px) \
        to screen across(x + 10 * px), up(y + 13 * px) \
        fillcolor rgb code_colour[n] fillstyle solid noborder front
    set label 100 + n caption(code_text + n) at screen across(x + 14 * px), up(y + 8 * px) \
        left noenhanced textcolor rgb dark
}
eval "plot for [n = 1 : code_lines] 'code.dat' using 1:(column(n + 1)):(column(n + 2)) " \
    . "with filledcurves fillcolor rgb code_colour[n] notitle" \
    . (bounds > 0 ? ", 'bounds.dat' using 1:(0):(0):(100) with vectors nohead " \
        . "linewidth 0.8 linecolor rgb background notitle" : "") \
    . (gaps > 0 ? ", 'gaps.dat' using 1:(0):1:2:(0):(100) with boxxyerror " \
        . "fillstyle solid noborder fillcolor rgb background notitle" : "") \
    . marks_over("0", "100")
