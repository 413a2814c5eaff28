/* The order of rows and the gaps between them.
 *
 * A row usually covers the time since the previous row. If the distance to the previous row is much
 * longer than usual, the row covers only the row's own interval. Otherwise one row after a night
 * without records would outweigh the day before. If the time of a row is not later than that of the
 * last row, the row follows a gap of unknown length. Its length is then one interval. */
#include <stdio.h>
#include <stdlib.h>

#include "import_build.h"
#include "import_table.h"
#include "rpistat/arena.h"
#include "rpistat/text.h"

/* Times are regular if at least this share of distances is within this tolerance of the median. */
#define REGULAR_SHARE     0.9
#define REGULAR_TOLERANCE 0.2

/* Minimum number and share of rows that have the same time as the row before. If there are more
 * such rows, times are rounded, or do not identify rows. */
#define SAME_MIN      4
#define ROWS_PER_SAME 8

/* A gap precedes a row whose distance is more than GAP_MEDIANS medians, if rows are regular, or
 * exceeds the row's own interval by more than GAP_JITTER, the jitter of recorders. */
#define GAP_MEDIANS 3
#define GAP_JITTER  1.2

RPS_ARRAY_ORDER(compare_distances, int64_t, )

void rps_order_end(struct rps_import_order *order)
{
    size_t near = 0;

    if (order->count > 0) {
        qsort(order->distance, order->count, sizeof(*order->distance), compare_distances);
        order->median_ns = order->distance[(order->count - 1) / 2];
    }
    for (size_t i = 0; i < order->count; i++)
        near += llabs(order->distance[i] - order->median_ns) <=
                REGULAR_TOLERANCE * (double)order->median_ns;
    order->is_regular = order->count > 1 && (double)near >= REGULAR_SHARE * (double)order->count;
}

int64_t rps_order_length(struct rps_import_order *order, int64_t distance_ns, int64_t own_ns,
                         int is_restart, uint64_t line)
{
    int64_t usual_ns = own_ns > 0 ? own_ns : order->median_ns;
    int is_gap = own_ns > 0 ? (double)distance_ns > GAP_JITTER * (double)own_ns
                            : order->is_regular && distance_ns > GAP_MEDIANS * order->median_ns;

    if ((!is_gap && !is_restart) || usual_ns <= 0 || distance_ns <= usual_ns)
        return distance_ns;
    if (order->holes++ == 0)
        order->hole_line = line;
    order->hole_ns += distance_ns - usual_ns;
    return usual_ns;
}

int rps_order_check(const struct rps_import_builder *builder, const struct rps_import_order *order,
                    uint64_t rows, struct rps_error *err)
{
    if (order->same < SAME_MIN || order->same * ROWS_PER_SAME < rows)
        return 0;
    return rps_error_set(
        err, RPS_FAILED,
        "%s: %llu of %llu rows have the time of the row before; name a column that "
        "identifies rows with --map COLUMN=key, or read one row per second with "
        "--map TIME=skip",
        builder->path, (unsigned long long)order->same, (unsigned long long)rows);
}

void rps_order_note(const struct rps_import_builder *builder, const struct rps_import_order *order)
{
    char length[RPS_TEXT_NUMBER_SIZE];

    if (order->holes > 0)
        rps_import_note(builder,
                        "%s: rows are missing in %llu gap%s of %s in total; the first is before "
                        "line %llu",
                        builder->path, (unsigned long long)order->holes,
                        order->holes == 1 ? "" : "s",
                        rps_text_duration(length, sizeof(length), order->hole_ns),
                        (unsigned long long)order->hole_line);
    if (order->backs > 0)
        rps_import_note(builder,
                        "%s: %llu row%s not later than the row before, the first in line %llu; "
                        "each follows a gap of one interval. If a column identifies such rows, "
                        "name it with --map COLUMN=key",
                        builder->path, (unsigned long long)order->backs,
                        order->backs == 1 ? " is" : "s are", (unsigned long long)order->back_line);
}

/* --- newest first ----------------------------------------------------------------------------- */

/* Copy the line at that offset of the file. If it has no line end, add one if is_kept is 1;
 * otherwise write a comment instead. */
static int copy_line(FILE *from, off_t at, int is_kept, char **line, size_t *room, FILE *to)
{
    ssize_t size = fseeko(from, at, SEEK_SET) == 0 ? getline(line, room, from) : -1;

    if (size <= 0)
        return -1;
    if ((*line)[size - 1] != '\n') {
        size = is_kept ? size : 1;
        (*line)[0] = is_kept ? (*line)[0] : '#';
        (*line)[size++] = '\n'; /* replaces the 0 at the end */
    }
    return fwrite(*line, 1, (size_t)size, to) == (size_t)size ? 0 : -1;
}

/* Copy the lines after line `after` in reverse order, and the lines up to `after` unchanged. */
static int copy_mirrored(FILE *from, FILE *to, uint64_t after, int is_kept, uint64_t *ret_lines)
{
    char *line = NULL;
    off_t *start = NULL, at = 0;
    size_t room = 0, count = 0, head;
    ssize_t size;
    int result = 0;

    rewind(from);
    while (result == 0 && (size = getline(&line, &room, from)) > 0) {
        if (!rps_array_add(&start, count, sizeof(*start)))
            rps_arena_exhausted();
        start[count++] = at;
        at += size;
    }
    head = count < after ? count : (size_t)after;
    for (size_t i = 0; i < head && result == 0; i++)
        result = copy_line(from, start[i], is_kept, &line, &room, to);
    for (size_t i = count; i > head && result == 0; i--) /* the C library buffers this block */
        result = copy_line(from, start[i - 1], is_kept, &line, &room, to);
    *ret_lines = count - head;
    free(line);
    free(start);
    return result == 0 && fflush(to) == 0 && !ferror(from) ? 0 : -1;
}

int rps_order_mirror(struct rps_import_builder *builder, uint64_t after, struct rps_error *err)
{
    FILE *copy = tmpfile();
    uint64_t lines = 0;

    if (!copy || copy_mirrored(builder->file, copy, after, builder->is_kept, &lines) < 0) {
        if (copy)
            fclose(copy);
        return rps_error_set(err, RPS_FAILED, "cannot copy %s into a temporary file",
                             builder->path);
    }
    builder->mirror = builder->file = copy;
    rps_csv_rows_mirror(builder->rows, copy, after, lines);
    rps_import_note(builder,
                    "%s has its newest rows first; they are read from the last to the first",
                    builder->path);
    return 0;
}
