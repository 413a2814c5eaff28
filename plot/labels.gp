# The legend of labels above y = legend_floor; loaded inside a multiplot, before a plot command.

do for [n = 1 : phase_legend] {
    x = left_px + (n - 1) * label_entry
    set object n rectangle from screen across(x * px), up((legend_floor - 14) * px) \
        to screen across((x + 10) * px), up((legend_floor - 4) * px) \
        fillcolor rgb band_colour(legend_label[n]) fillstyle solid noborder front
    if (legend_label[n] >= 9) {
        set object 100 + n rectangle from screen across(x * px), up((legend_floor - 14) * px) \
            to screen across((x + 10) * px), up((legend_floor - 4) * px) \
            fillcolor rgb "#FFFFFF" fillstyle transparent pattern 4 noborder front
    }
    set label 200 + n label_name[n] at screen across((x + 14) * px), up((legend_floor - 9) * px) \
        left noenhanced textcolor rgb dark
}
