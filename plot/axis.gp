# The axis of time or cycles, and what lies on it: phases, boundaries, gaps and marks. Loaded behind
# common.gp by pictures that have such an axis.

x_tics = "unset xtics; set xtics scale 0.6 nomirror offset 0, 0.3 ('' x_from) textcolor rgb dark; " \
    . "do for [i = 1 : words(x_places)] { set xtics add (word(x_names, i) real(word(x_places, i))) }"
x_tics_bare = "unset xtics; set xtics scale 0.6 nomirror ('' x_from); " \
    . "do for [i = 1 : words(x_places)] { set xtics add ('' real(word(x_places, i))) }"

# Rows between title and panels, from top to bottom.
words_top = head_px + (exists("legend_rows") ? legend_rows * row_px : 0)
note_top = words_top + (exists("words_rows") ? words_rows * row_px : 0)
label_top = note_top + note_rows * row_px
strip_top = label_top + (phase_legend > 0 ? row_px : 0)
finer_top = strip_top + strip * strip_px
legend_floor = strip_top
head = (finer_top + (finer > 0 ? finer_px : 0)) * px

# Clauses of a plot command that shade a panel from y = a to y = b.
shade(a, b) = \
    (phases > 0 ? sprintf("'phases.dat' using 1:(%s):1:2:(%s):(%s):(int(strcol(3))) with boxxyerror " \
        . "fillstyle solid noborder fillcolor rgb variable notitle, " \
        . "'phases.dat' using 1:($5 > 0 ? %s : NaN):1:2:(%s):(%s) with boxxyerror " \
        . "fillstyle transparent pattern 4 noborder fillcolor rgb faint notitle, ", \
        a, a, b, a, a, b) : "") . \
    (edges > 0 ? sprintf("'edges.dat' using 1:(%s):1:2:(%s):(%s) with boxxyerror " \
        . "fillstyle transparent pattern 5 noborder fillcolor rgb faint notitle, ", \
        a, a, b) : "") . \
    (bounds > 0 ? sprintf("'bounds.dat' using 1:(%s):(0):((%s) - (%s)) with vectors nohead " \
        . "linewidth 0.6 linecolor rgb veiled(64, axis) notitle, ", a, b, a) : "") . \
    (gaps > 0 ? sprintf("'gaps.dat' using 1:(%s):1:2:(%s):(%s) with boxxyerror " \
        . "fillstyle solid noborder fillcolor rgb background notitle, " \
        . "'gaps.dat' using 1:(%s):1:2:(%s):(%s) with boxxyerror " \
        . "fillstyle transparent pattern 2 noborder fillcolor rgb faint notitle, ", \
        a, a, b, a, a, b) : "")

# Clauses that draw a strip of phases from y = 0 to y = 1; its files' names begin with `before`.
phase_strip(before, bounds, labels) = \
    sprintf("'%sphases.dat' using 1:(0):1:2:(0):(1):(int(strcol(4))) with boxxyerror " \
        . "fillstyle solid noborder fillcolor rgb variable notitle, " \
        . "'%sphases.dat' using 1:($5 > 0 ? 0 : NaN):1:2:(0):(1) with boxxyerror " \
        . "fillstyle transparent pattern 4 noborder fillcolor rgb '#FFFFFF' notitle", \
        before, before) . \
    (bounds > 0 ? sprintf(", '%sbounds.dat' using 1:(0):(0):(1) with vectors nohead " \
        . "linewidth 0.8 linecolor rgb background notitle", before) : "") . \
    (labels > 0 ? sprintf(", '%slabels.dat' using 1:(0.5):2 with labels center noenhanced " \
        . "textcolor rgb '#101010' notitle", before) : "")
marks_over(a, b) = \
    marks > 0 ? sprintf(", 'marks.dat' using 1:(%s):(0):((%s) - (%s)) with vectors nohead " \
        . "linewidth 1 dashtype 3 linecolor rgb dark notitle", a, b, a) : ""
