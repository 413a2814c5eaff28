/* The rows of a table. Lines are read one by one, and libcsv splits them into cells. If the cells
 * are words, tabs are put between them first. */
#include "rpistat/csv_rows.h"

#include <csv.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define LINE_ROOM 4096 /* at first */

struct rps_csv_rows {
    struct rps_arena *arena;
    FILE *file;
    const char *path;
    size_t line_max;
    int leaves_cut, is_cut;
    char head[RPS_CSV_HEAD_SIZE + 1];
    size_t head_size, head_at; /* of head: bytes read from the file, and next byte */
    uint64_t line_number;
    char *line; /* with space for its end, and 0 */
    size_t line_room;
    int end; /* the byte that ended the line, '\r', ... */

    /* the row: its cells one after another, each with its 0 */
    struct csv_parser parser;
    int has_parser, is_whole;
    char *text, **cell;
    size_t size, room, count, cell_room;
};

static int refuse(const struct rps_csv_rows *rows, uint64_t line_number, const char *why,
                  struct rps_error *err)
{
    return rps_error_set(err, RPS_FAILED, "%s, line %llu: %s", rows->path,
                         (unsigned long long)line_number, why);
}

static int refuse_reading(const struct rps_csv_rows *rows, struct rps_error *err)
{
    return rps_error_set(err, RPS_FAILED, "cannot read %s: %s", rows->path, strerror(errno));
}

struct rps_csv_rows *rps_csv_rows_open(struct rps_arena *arena, FILE *file, const char *path,
                                       size_t line_max, int leaves_cut)
{
    struct rps_csv_rows *rows = rps_arena_get(arena, 1, sizeof(*rows));

    rows->arena = arena;
    rows->file = file;
    rows->path = path;
    rows->line_max = line_max;
    rows->leaves_cut = leaves_cut;
    return rows;
}

void rps_csv_rows_close(struct rps_csv_rows *rows)
{
    if (rows->has_parser)
        csv_free(&rows->parser);
    rows->has_parser = 0;
}

static void *limited_realloc(void *old, size_t size)
{
    return size > RPS_CSV_CELL_MAX ? NULL : realloc(old, size);
}

int rps_csv_rows_begin(struct rps_csv_rows *rows, struct rps_error *err)
{
    rps_csv_rows_close(rows);
    if (csv_init(&rows->parser, 0) != 0)
        return rps_error_memory(err);
    csv_set_realloc_func(&rows->parser, limited_realloc);
    rows->has_parser = 1;
    rows->line_number = 0;
    rows->head_at = rows->is_cut = 0;
    errno = 0;
    rows->head_size = fread(rows->head, 1, RPS_CSV_HEAD_SIZE, rows->file);
    if (rows->head_size >= 3 && memcmp(rows->head, "\xef\xbb\xbf", 3) == 0) /* a byte order mark */
        memmove(rows->head, rows->head + 3, rows->head_size -= 3);
    rows->head[rows->head_size] = '\0';
    if (strncasecmp(rows->head, "sep=", 4) == 0 && rows->head[4] && strchr("\r\n", rows->head[5])) {
        size_t length =
            5 + strspn(rows->head + 5, "\r\n"); /* for Excel; the separator is detected */

        memmove(rows->head, rows->head + length, (rows->head_size -= length) + 1);
        rows->line_number = 1;
    }
    return ferror(rows->file) ? refuse_reading(rows, err) : 0;
}

const char *rps_csv_rows_head(const struct rps_csv_rows *rows)
{
    return rows->head;
}

uint64_t rps_csv_rows_line(const struct rps_csv_rows *rows)
{
    return rows->line_number;
}

int rps_csv_rows_is_cut(const struct rps_csv_rows *rows)
{
    return rows->is_cut;
}

/* --- lines ------------------------------------------------------------------------------------ */

static int next_byte(struct rps_csv_rows *rows)
{
    return rows->head_at < rows->head_size ? (unsigned char)rows->head[rows->head_at++]
                                           : getc_unlocked(rows->file);
}

/* Move the used bytes into more than twice the needed memory. */
static char *make_room(struct rps_csv_rows *rows, char *old, size_t used, size_t needed,
                       size_t *ret_room)
{
    char *more = rps_arena_get(rows->arena, *ret_room = 2 * needed + LINE_ROOM, 1);

    return used > 0 ? memcpy(more, old, used) : more;
}

/* Read the next line without its end (LF, CR LF, CR). Return 1, 0 at the end, negative on error. */
static int read_text_line(struct rps_csv_rows *rows, struct rps_error *err)
{
    int byte = next_byte(rows);
    size_t length = 0;

    if (rows->line_number++ > 0 && byte == '\n' && rows->end == '\r')
        byte = next_byte(rows);
    for (; byte != EOF && byte != '\n' && byte != '\r'; byte = next_byte(rows)) {
        if (byte == '\0')
            return refuse(rows, rows->line_number,
                          "there is a NUL byte: it is not a text file, as a table of numbers is",
                          err);
        if (length == rows->line_max)
            return rps_error_set(err, RPS_FAILED,
                                 "%s, line %llu: it is longer than %zu bytes: are there so many "
                                 "columns, and do its quotes match?",
                                 rows->path, (unsigned long long)rows->line_number, rows->line_max);
        if (length + 2 >= rows->line_room)
            rows->line = make_room(rows, rows->line, length, length + 2, &rows->line_room);
        rows->line[length++] = (char)byte;
    }
    rows->end = byte;
    if (byte == EOF && ferror(rows->file))
        return refuse_reading(rows, err);
    rows->is_cut = byte == EOF && length > 0;
    if (byte == EOF && (length == 0 || rows->leaves_cut))
        return 0;
    if (!rows->line)
        rows->line = make_room(rows, NULL, 0, 0, &rows->line_room);
    rows->line[length] = '\0';
    return 1;
}

/* --- rows ------------------------------------------------------------------------------------- */

static void on_cell(void *text, size_t length, void *context)
{
    struct rps_csv_rows *rows = context;

    if (rows->count == rows->cell_room)
        rows->cell =
            rps_arena_grow(rows->arena, rows->cell, rows->cell_room++, sizeof(*rows->cell));
    rows->cell[rows->count++] = rows->text + rows->size;
    if (length > 0)
        memcpy(rows->text + rows->size, text, length);
    rows->text[rows->size + length] = '\0';
    rows->size += length + 1;
}

static void on_row(int terminator, void *context)
{
    struct rps_csv_rows *rows = context;

    (void)terminator;
    rows->is_whole = 1;
}

/* Add the line to the row. Its cells need at most the line's size, a 0 each in place of their
 * separators, and the row's part from earlier lines. */
static int parse_line(struct rps_csv_rows *rows, size_t *before, struct rps_error *err)
{
    size_t length = strlen(rows->line), needed = rows->size + *before + length + 2;
    char *old = rows->text;

    *before += length + 1;
    if (needed > rows->room) {
        rows->text = make_room(rows, old, rows->size, needed, &rows->room);
        for (size_t i = 0; i < rows->count; i++)
            rows->cell[i] = rows->text + (rows->cell[i] - old);
    }
    rows->line[length++] = '\n';
    if (csv_parse(&rows->parser, rows->line, length, on_cell, on_row, rows) != length)
        return refuse(rows, rows->line_number, "a cell is longer than a MiB; do its quotes match?",
                      err);
    if (rows->count > RPS_CSV_COLUMNS_MAX)
        return rps_error_set(err, RPS_FAILED, "%s has more than %d columns: it is no table",
                             rows->path, RPS_CSV_COLUMNS_MAX);
    return 0;
}

/* Return 1 if the two words are one cell: "12:00:01 AM", or a date and a time of day. */
static int is_one_cell(const char *word, size_t length, const char *next)
{
    size_t end = strcspn(next, " \t"), marks = 0;

    if (end == 2 && (strncmp(next, "AM", 2) == 0 || strncmp(next, "PM", 2) == 0))
        return strspn(word, "0123456789:") == length;
    for (size_t i = 0; i < length; i++)
        marks += strchr("-./", word[i]) != NULL;
    return marks == 2 && strspn(word, "0123456789-./") == length && end == 8 && next[2] == ':';
}

/* Put a tab between the cells of a line of fixed width, whose cells are words. A # in a header is
 * not a cell. */
static void set_tabs(char *line)
{
    const char *word = line + strspn(line, " \t");
    char *to = line;

    if (*word == '#')
        word += 1 + strspn(word + 1, " \t");
    while (*word) {
        size_t length = strcspn(word, " \t");
        const char *next = word + length + strspn(word + length, " \t");
        int is_joined = is_one_cell(word, length, next);

        memmove(to, word, length);
        to += length;
        if (*next)
            *to++ = is_joined ? ' ' : '\t';
        word = next;
    }
    *to = '\0';
}

/* Return 1 for a line between rows that is not part of the table. */
static int is_left_out(const char *line, char separator)
{
    return (line[0] == '#' && (separator != ' ' || line[1] != ' ')) ||
           line[strspn(line, " \t")] == '\0';
}

int rps_csv_rows_next(struct rps_csv_rows *rows, char separator, char *const **ret_cell,
                      size_t *ret_count, struct rps_error *err)
{
    uint64_t first = 0;
    size_t before = 0;

    csv_set_delim(&rows->parser, (unsigned char)(separator == ' ' ? '\t' : separator));
    csv_set_quote(&rows->parser, separator == ' ' ? '\0' : '"'); /* no line contains '\0' */
    rows->size = rows->count = 0;
    rows->is_whole = 0;
    while (!rows->is_whole) {
        int result = read_text_line(rows, err);

        if (result == 0 && first > 0)
            return refuse(rows, first, "a quote that begins there is never closed", err);
        if (result <= 0)
            return result;
        if (first == 0 && is_left_out(rows->line, separator))
            continue;
        if (separator == ' ')
            set_tabs(rows->line);
        first = first > 0 ? first : rows->line_number;
        if (parse_line(rows, &before, err) < 0)
            return RPS_FAILED;
    }
    *ret_cell = rows->cell;
    *ret_count = rows->count;
    return 1;
}
