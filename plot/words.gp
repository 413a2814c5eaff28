# Draws what sets the labels of phases apart, in words: rows from words_top on. words_text is the line
# of the first entry. Loaded inside a multiplot, behind title.gp.

set lmargin at screen across(left)
set rmargin at screen across(right)
set tmargin at screen up(words_top * px)
set bmargin at screen up((words_top + 1) * px)
set xrange [0 : 1]
set yrange [0 : 1]
do for [n = 1 : words] {
    x = words_left + ((n - 1) % words_columns) * words_entry
    y = words_top + int((n - 1) / words_columns) * row_px
    set object n rectangle from screen across(x * px), up((y + 3) * px) \
        to screen across((x + 10) * px), up((y + 13) * px) \
        fillcolor rgb band_colour(words_label[n]) fillstyle solid noborder front
    if (words_label[n] >= 9) {
        set object 100 + n rectangle from screen across(x * px), up((y + 3) * px) \
            to screen across((x + 10) * px), up((y + 13) * px) \
            fillcolor rgb "#FFFFFF" fillstyle transparent pattern 4 noborder front
    }
    set label n caption(words_text + n - 1) at screen across((x + 14) * px), up((y + 8) * px) \
        left noenhanced textcolor rgb dark
}
if (words > 0) {
    plot NaN notitle
}
unset label
unset object
