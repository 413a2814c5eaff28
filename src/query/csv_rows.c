/* The rows of a table. Lines are split into cells in place; quotes are read as RFC 4180 defines
 * them. If each cell is a single word, tabs are first put between the words. */
#include "rpistat/csv_rows.h"

#include <errno.h>
#include <string.h>
#include <strings.h>

#define LINE_ROOM 4096 /* Initial size of the buffer for a line. */

struct rps_csv_rows {
    struct rps_arena *arena;
    FILE *file;
    const char *path;
    size_t line_max;
    int is_cut;
    char head[RPS_CSV_HEAD_SIZE + 1];
    size_t head_size;
    char block[RPS_CSV_HEAD_SIZE];
    const char *at, *end; /* Bytes that are available; NULL before the first read. */
    int has_odd;          /* 1 if a CR or a NUL is in the available bytes. */
    uint64_t limit, left; /* Bytes to read in total, and bytes left to read. */
    uint64_t line_number, lines_before;
    uint64_t mirror, mirror_after; /* After the line mirror_after, line n has the number mirror -
                                      n. If mirror is 0, all lines have their own numbers. */
    char *line;                    /* Current line, with space for line end and terminating 0. */
    size_t length, line_room;
    int mark; /* Byte that ended the line, such as '\r'. */

    int is_quoted, may_open; /* State at the line's end; may_open: a quote may begin a cell. */
    char **cell;
    size_t count, cell_room;
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
                                       size_t line_max)
{
    struct rps_csv_rows *rows = rps_arena_get(arena, 1, sizeof(*rows));

    rows->arena = arena;
    rows->file = file;
    rows->path = path;
    rows->line_max = line_max;
    rows->limit = UINT64_MAX;
    return rows;
}

static size_t read_bytes(struct rps_csv_rows *rows, char to[RPS_CSV_HEAD_SIZE])
{
    size_t size = rows->left < RPS_CSV_HEAD_SIZE ? (size_t)rows->left : RPS_CSV_HEAD_SIZE;

    size = fread(to, 1, size, rows->file);
    rows->left -= size;
    return size;
}

int rps_csv_rows_begin(struct rps_csv_rows *rows, struct rps_error *err)
{
    rows->line_number = rows->lines_before;
    rows->at = rows->end = NULL;
    rows->mark = rows->is_cut = 0;
    errno = 0;
    rows->left = rows->limit;
    rows->head_size = read_bytes(rows, rows->head);
    /* UTF-8 byte order mark. */
    if (rows->head_size >= 3 && memcmp(rows->head, "\xef\xbb\xbf", 3) == 0)
        memmove(rows->head, rows->head + 3, rows->head_size -= 3);
    rows->head[rows->head_size] = '\0';
    if (strncasecmp(rows->head, "sep=", 4) == 0 && rows->head[4] && strchr("\r\n", rows->head[5])) {
        size_t length =
            5 + strspn(rows->head + 5, "\r\n"); /* "sep=" is for Excel; rpistat detects the
                                                   separator itself. */

        memmove(rows->head, rows->head + length, (rows->head_size -= length) + 1);
        rows->line_number++;
    }
    return ferror(rows->file) ? refuse_reading(rows, err) : 0;
}

const char *rps_csv_rows_head(const struct rps_csv_rows *rows)
{
    return rows->head;
}

uint64_t rps_csv_rows_line(const struct rps_csv_rows *rows)
{
    return rows->mirror > 0 && rows->line_number > rows->mirror_after
               ? rows->mirror - rows->line_number
               : rows->line_number;
}

void rps_csv_rows_limit(struct rps_csv_rows *rows, uint64_t size, uint64_t lines_before)
{
    rows->limit = size;
    rows->lines_before = lines_before;
}

void rps_csv_rows_mirror(struct rps_csv_rows *rows, FILE *file, uint64_t after, uint64_t lines)
{
    rows->file = file;
    rows->mirror_after = after;
    rows->mirror = 2 * after + lines + 1;
}

int rps_csv_rows_is_cut(const struct rps_csv_rows *rows)
{
    return rows->is_cut;
}

/* --- lines ------------------------------------------------------------------------------------ */

/* Make more bytes of the file available: the head first, then block by block. */
static void fill(struct rps_csv_rows *rows)
{
    int is_head = rows->at == NULL;

    rows->at = is_head ? rows->head : rows->block;
    rows->end = rows->at + (is_head ? rows->head_size : read_bytes(rows, rows->block));
    rows->has_odd = memchr(rows->at, '\r', (size_t)(rows->end - rows->at)) ||
                    memchr(rows->at, '\0', (size_t)(rows->end - rows->at));
    if (is_head && rows->head_size == 0)
        fill(rows);
}

/* Allocate more than twice the needed memory, and move the used bytes into the new memory. */
static char *make_room(struct rps_csv_rows *rows, char *old, size_t used, size_t needed,
                       size_t *ret_room)
{
    char *more = rps_arena_get(rows->arena, *ret_room = 2 * needed + LINE_ROOM, 1);

    return used > 0 ? memcpy(more, old, used) : more;
}

static int append_piece(struct rps_csv_rows *rows, const char *from, size_t size,
                        struct rps_error *err)
{
    if (rows->has_odd && memchr(from, '\0', size))
        return refuse(rows, rows->line_number,
                      "there is a NUL byte; check that this is a text file with a table of numbers",
                      err);
    if (size > rows->line_max - rows->length)
        return rps_error_set(err, RPS_FAILED,
                             "%s, line %llu: the line is longer than %zu bytes; check its quotes "
                             "and the number of its columns",
                             rows->path, (unsigned long long)rows->line_number, rows->line_max);
    if (!rows->line || rows->length + size + 2 > rows->line_room)
        rows->line =
            make_room(rows, rows->line, rows->length, rows->length + size + 2, &rows->line_room);
    memcpy(rows->line + rows->length, from, size);
    rows->length += size;
    rows->line[rows->length] = '\0';
    return 0;
}

/* Append the next line without its end (LF, CR LF, CR). Return 1, 0 at the end, or negative. */
static int read_text_line(struct rps_csv_rows *rows, struct rps_error *err)
{
    const char *stop = NULL;
    size_t before = rows->length;

    rows->line_number++;
    while (!stop) {
        size_t size;
        const char *cr;

        if (rows->at == rows->end)
            fill(rows);
        if (rows->at == rows->end)
            break;
        if (rows->mark == '\r' && *rows->at == '\n') { /* The LF of a CR LF. */
            rows->at++;
            rows->mark = '\n';
            continue;
        }
        rows->mark = '\n';
        stop = memchr(rows->at, '\n', (size_t)(rows->end - rows->at));
        size = (size_t)((stop ? stop : rows->end) - rows->at);
        if (rows->has_odd && (cr = memchr(rows->at, '\r', size))) {
            stop = cr;
            size = (size_t)(cr - rows->at);
        }
        if (append_piece(rows, rows->at, size, err) < 0)
            return RPS_FAILED;
        rows->at += size + (stop != NULL);
        rows->mark = stop ? *stop : rows->mark;
    }
    if (!stop && ferror(rows->file))
        return refuse_reading(rows, err);
    rows->is_cut = !stop && rows->length > before;
    return stop != NULL;
}

/* --- rows ------------------------------------------------------------------------------------- */

/* Return 1 if a quote is open at the end of the line. Only the bytes from index `from` on are new.
 */
static int has_open_quote(struct rps_csv_rows *rows, size_t from, char separator)
{
    for (const char *at = rows->line + from; at < rows->line + rows->length; at++) {
        if (*at == '"' && (rows->is_quoted || rows->may_open))
            rows->is_quoted = !rows->is_quoted;
        else if (!rows->is_quoted && *at != ' ' && *at != '\t')
            rows->may_open = *at == separator;
        else if (!rows->is_quoted && *at == separator)
            rows->may_open = 1;
    }
    return rows->is_quoted;
}

/* Move the text of a quoted cell to the beginning of the cell. Return the new end of the cell;
 * *ret_next: the rest of the line. */
static char *unquote(char *cell, const char *end, char **ret_next)
{
    char *to = cell, *from = cell + 1;

    while (from < end && (*from != '"' || from[1] == '"')) {
        from += *from == '"';
        *to++ = *from++;
    }
    *ret_next = from + (from < end);
    return to;
}

static int is_blank(char c)
{
    return c == ' ' || c == '\t';
}

/* Split the line into cells in place, without the blanks around them. */
static void split_line(struct rps_csv_rows *rows, char separator, int has_quotes)
{
    char *end = rows->line + rows->length, *next = rows->line;

    while (next) {
        char *cell = next, *to, *least, *last; /* memchr is slower for such short texts. */

        while (is_blank(*cell) && *cell != separator)
            cell++;
        to = next = cell;
        if (has_quotes && *cell == '"')
            to = unquote(cell, end, &next);
        least = to;
        for (last = next; *last != separator && last < end; last++)
            ;
        if (to != next)
            memmove(to, next, (size_t)(last - next));
        to += last - next;
        next = last < end ? last + 1 : NULL;
        while (to > least && is_blank(to[-1]))
            to--;
        *to = '\0';
        if (rows->count == rows->cell_room)
            rows->cell =
                rps_arena_grow(rows->arena, rows->cell, rows->cell_room++, sizeof(*rows->cell));
        rows->cell[rows->count++] = cell;
    }
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

/* Put a tab between the cells of a line with fixed column widths, in which each word is a cell. A #
 * in a header is not a cell. */
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
    if (line[0] > '#')
        return 0;
    return (line[0] == '#' && (separator != ' ' || line[1] != ' ')) ||
           line[strspn(line, " \t")] == '\0';
}

int rps_csv_rows_next(struct rps_csv_rows *rows, char separator, char *const **ret_cell,
                      size_t *ret_count, struct rps_error *err)
{
    uint64_t first = 0;
    size_t before = 0;

    rows->count = rows->length = 0;
    rows->is_quoted = 0;
    rows->may_open = 1;
    for (;;) {
        int result = read_text_line(rows, err);

        if (result < 0 || (result == 0 && first == 0 && !rows->is_cut))
            return result;
        if (first > 0 || !is_left_out(rows->line, separator)) {
            first = first > 0 ? first : rows->line_number;
            if (separator == ' ' || (!rows->is_quoted && !memchr(rows->line, '"', rows->length)) ||
                !has_open_quote(rows, before, separator))
                break;
            if (result == 0)
                return first == rows->line_number
                           ? 0
                           : refuse(rows, first,
                                    "a quote that begins here is never closed; close it", err);
            rows->line[rows->length++] = '\n';
        } else {
            rows->length = 0;
        }
        before = rows->length;
    }
    if (separator == ' ') {
        set_tabs(rows->line);
        rows->length = strlen(rows->line);
    }
    split_line(rows, separator == ' ' ? '\t' : separator, separator != ' ');
    if (rows->count > RPS_CSV_COLUMNS_MAX)
        return rps_error_set(err, RPS_FAILED,
                             "%s has more than %d columns; check that it is a table", rows->path,
                             RPS_CSV_COLUMNS_MAX);
    *ret_cell = rows->cell;
    *ret_count = rows->count;
    return 1;
}
