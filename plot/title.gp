# Draws title and second line; loaded inside a multiplot of a picture.

unset border
unset xtics
unset ytics
unset key
unset grid
set lmargin at screen across(left)
set rmargin at screen across(right)
set tmargin at screen up(1)
set bmargin at screen up(2)
set xrange [0 : 1]
set yrange [0 : 1]
set label 1 caption(1) at screen across(14 * px), up(17 * px) left noenhanced \
    font title_font textcolor rgb dark
set label 2 caption(2) at screen across(14 * px), up(36 * px) left noenhanced textcolor rgb quiet
do for [n = 1 : zeros] {
    set label 2 + n caption(|$text| - zeros + n) at screen across(14 * px), \
        up(height - ((zeros - n) * row_px + 9) * px) left noenhanced textcolor rgb quiet
}
plot NaN notitle
unset label
