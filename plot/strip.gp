# Draws what stands between title and panels: texts of marks, the legend of labels, the strip of
# phases and the band of finer ones. Loaded inside a multiplot, behind title.gp; note_text is the line of the first
# text of regions and marks.

set xrange [x_from : x_to]
set yrange [0 : 1]
set lmargin at screen across(left)
set rmargin at screen across(right)
set tmargin at screen up((strip_top + 1) * px)
set bmargin at screen up((strip_top + (strip ? strip_px - 5 : 1.5)) * px)

# Regions: when anybody was in one, a row each.
if (regions > 0) {
    set tmargin at screen up(note_top * px)
    set bmargin at screen up(label_top * px)
    set yrange [note_rows : 0]
    plot 'regions.dat' using 1:($3 + 0.15):1:2:($3 + 0.15):($3 + 0.9) with boxxyerror \
        fillstyle solid noborder fillcolor rgb veiled(192, dark) notitle
    set yrange [0 : 1]
    set tmargin at screen up((strip_top + 1) * px)
    set bmargin at screen up((strip_top + (strip ? strip_px - 5 : 1.5)) * px)
}
do for [n = 1 : notes] {
    note_y = note_top + note_in[n] * row_px
    set arrow n from first note_at[n], screen up((note_y + 4) * px) \
        to first note_at[n], screen up((note_y + 15) * px) nohead linewidth 1 linecolor rgb dark
    set label n caption(note_text + n - 1) at first note_at[n], screen up((note_y + 9) * px) \
        left noenhanced offset character 0.5, 0 font small_font textcolor rgb dark
}
load "labels.gp"
if (strip) {
    set label 300 "Phases" at screen across(left - 7 * px), \
        up((strip_top + strip_px / 2 - 2) * px) right textcolor rgb quiet
}
if (phases > 0) {
    eval "plot " . phase_strip("", bounds, labels) \
        . (gaps > 0 ? ", 'gaps.dat' using 1:(0):1:2:(0):(1) with boxxyerror " \
            . "fillstyle solid noborder fillcolor rgb background notitle" : "")
} else {
    plot NaN notitle
}
if (finer > 0) {
    unset label
    unset arrow
    unset object
    set tmargin at screen up((finer_top - 3) * px)
    set bmargin at screen up((finer_top + finer_px - 5) * px)
    set label 1 sprintf("%d finer", finer) at screen across(left - 7 * px), \
        up((finer_top + 1) * px) right font small_font textcolor rgb quiet
    eval "plot 'finer.dat' using 1:(0):1:2:(0):(1):(int(strcol(3))) with boxxyerror " \
        . "fillstyle solid noborder fillcolor rgb variable notitle" \
        . (gaps > 0 ? ", 'gaps.dat' using 1:(0):1:2:(0):(1) with boxxyerror " \
            . "fillstyle solid noborder fillcolor rgb background notitle" : "")
}
unset label
unset arrow
unset object
