/* The text of a file that is imported: its lines, and the rows of a CSV file. */
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "import_parts.h"

/* More cells than this in a row are no table. */
#define CELLS_MAX 100000
#define ROW_MAX   (16 * RPS_IMPORT_LINE_MAX)

int rps_import_refuse(struct rps_import_builder *builder, struct rps_error *err, const char *format,
                      ...)
{
    char sentence[512];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(sentence, sizeof(sentence), format, arguments);
    va_end(arguments);
    if (builder->line_number == 0)
        return rps_error_set(err, RPS_FAILED, "%s: %s", builder->path, sentence);
    return rps_error_set(err, RPS_FAILED, "%s, line %llu: %s", builder->path,
                         (unsigned long long)builder->line_number, sentence);
}

void rps_import_note(const struct rps_import_builder *builder, const char *format, ...)
{
    char sentence[512];
    va_list arguments;

    if (!builder->note || builder->writer)
        return;
    va_start(arguments, format);
    vsnprintf(sentence, sizeof(sentence), format, arguments);
    va_end(arguments);
    builder->note(sentence);
}

const char *rps_import_head(const struct rps_import_builder *builder)
{
    return builder->head;
}

int rps_import_rewind(struct rps_import_builder *builder, struct rps_error *err)
{
    static const char mark[] = "\xef\xbb\xbf"; /* a byte order mark */
    size_t size;

    builder->line_number = 0;
    builder->row.is_whole = 0;
    errno = 0;
    rewind(builder->file);
    size = fread(builder->head, 1, RPS_IMPORT_HEAD_SIZE, builder->file);
    builder->head[size] = '\0';
    if (!ferror(builder->file)) {
        int skip = size >= 3 && memcmp(builder->head, mark, 3) == 0 ? 3 : 0;

        memmove(builder->head, builder->head + skip, size - (size_t)skip + 1);
        if (fseeko(builder->file, skip, SEEK_SET) == 0)
            return 0;
    }
    return rps_error_set(err, RPS_FAILED, "cannot read %s: %s", builder->path, strerror(errno));
}

int rps_import_decimal(const char *text, char mark, int64_t unit, int64_t *ret)
{
    int64_t whole = 0, part = 0, place = unit;
    const char *at = text;

    for (; *at >= '0' && *at <= '9'; at++) {
        if (__builtin_mul_overflow(whole, 10, &whole) ||
            __builtin_add_overflow(whole, *at - '0', &whole))
            return 0;
    }
    if (at == text)
        return 0;
    if (*at == mark) {
        for (at++; *at >= '0' && *at <= '9'; at++) {
            place /= 10;
            part += place * (*at - '0');
        }
    }
    return *at == '\0' && !__builtin_mul_overflow(whole, unit, &whole) &&
           !__builtin_add_overflow(whole, part, ret);
}

/* --- lines ------------------------------------------------------------------------------------ */

/* The next line without its end, until the next call: 1, 0 at the end, negative on error. */
static int read_text_line(struct rps_import_builder *builder, char **ret, struct rps_error *err)
{
    size_t length = 0;
    int byte;

    builder->line_number++;
    while ((byte = getc_unlocked(builder->file)) != EOF && byte != '\n') {
        if (byte == '\0')
            return rps_import_refuse(builder, err, "there is a NUL byte: it is no text file");
        if (length == RPS_IMPORT_LINE_MAX)
            return rps_import_refuse(builder, err, "it is longer than %d bytes: it is no table",
                                     RPS_IMPORT_LINE_MAX);
        builder->line[length++] = (char)byte;
    }
    if (byte == EOF && ferror(builder->file))
        return rps_error_set(err, RPS_FAILED, "cannot read %s: %s", builder->path, strerror(errno));
    if (byte == EOF) {
        if (length > 0 && !builder->is_cut++)
            rps_import_note(builder,
                            "%s, line %llu: the last line has no end and may be cut off, so it is "
                            "left out",
                            builder->path, (unsigned long long)builder->line_number);
        return 0;
    }
    if (length > 0 && builder->line[length - 1] == '\r')
        length--;
    builder->line[length] = '\0';
    *ret = builder->line;
    return 1;
}

/* --- rows ------------------------------------------------------------------------------------- */

static void *limited_realloc(void *old, size_t size)
{
    return size > RPS_IMPORT_LINE_MAX ? NULL : realloc(old, size);
}

/* Room for the cell, and its number; -1 without memory. */
static int make_room_for_cell(struct rps_import_row *row, size_t length)
{
    size_t room = 2 * (row->size + length) + 256, cells = 2 * row->count + 64;
    char **cell, *text;
    size_t *offset;

    if (row->size + length > ROW_MAX)
        return -1;
    if (row->size + length + 1 > row->room) {
        if (!(text = realloc(row->text, room)))
            return -1;
        row->text = text;
        row->room = room;
    }
    if (row->count == row->cell_room) {
        if (!(cell = realloc(row->cell, cells * sizeof(*cell))))
            return -1;
        row->cell = cell;
        if (!(offset = realloc(row->offset, cells * sizeof(*offset))))
            return -1;
        row->offset = offset;
        row->cell_room = cells;
    }
    return 0;
}

static void on_cell(void *text, size_t length, void *context)
{
    struct rps_import_row *row = context;

    if (row->failed || row->count == CELLS_MAX || make_room_for_cell(row, length) < 0) {
        row->failed = row->failed ? row->failed : row->count == CELLS_MAX ? 1 : 2;
        return;
    }
    row->offset[row->count++] = row->size;
    if (length > 0)
        memcpy(row->text + row->size, text, length);
    row->text[row->size + length] = '\0';
    row->size += length + 1;
}

static void on_row(int terminator, void *context)
{
    struct rps_import_row *row = context;

    (void)terminator;
    row->is_whole = 1;
}

static int open_row(struct rps_import_row *row, char separator, struct rps_error *err)
{
    if (row->is_open)
        csv_free(&row->parser);
    row->is_open = csv_init(&row->parser, CSV_APPEND_NULL) == 0;
    if (!row->is_open)
        return rps_error_memory(err);
    csv_set_delim(&row->parser, (unsigned char)(separator == ' ' ? '\t' : separator));
    if (separator == ' ')
        csv_set_quote(&row->parser, '\0'); /* no line has one */
    csv_set_realloc_func(&row->parser, limited_realloc);
    row->size = row->count = 0;
    row->is_whole = row->failed = 0;
    return 0;
}

/* Add a line to the row. */
static int parse_line(struct rps_import_builder *builder, char *line, struct rps_error *err)
{
    struct rps_import_row *row = &builder->row;
    size_t length = strlen(line);

    line[length++] = '\n';
    if (csv_parse(&row->parser, line, length, on_cell, on_row, row) != length || row->failed == 2)
        return rps_import_refuse(builder, err,
                                 "a cell is longer than %d bytes, or memory is short; do its "
                                 "quotes match?",
                                 RPS_IMPORT_LINE_MAX);
    if (row->failed)
        return rps_import_refuse(builder, err, "there are more than %d cells: it is no table",
                                 CELLS_MAX);
    return 0;
}

/* 1 when the two words are one cell: "12:00:01 AM", and a date with a time of the day. */
static int is_one_cell(const char *word, size_t length, const char *next)
{
    size_t end = strcspn(next, " \t"), marks = 0;

    if (end == 2 && (strncmp(next, "AM", 2) == 0 || strncmp(next, "PM", 2) == 0))
        return strspn(word, "0123456789:") == length;
    for (size_t i = 0; i < length; i++)
        marks += strchr("-./", word[i]) != NULL;
    return marks == 2 && strspn(word, "0123456789-./") == length && end == 8 && next[2] == ':';
}

/* A line of a table of fixed width with a tab between its cells, which are words. Where # is a part
 * of the header, it is none of its cells. */
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

int rps_import_cells(struct rps_import_builder *builder, char separator, char *const **ret_cell,
                     size_t *ret_count, struct rps_error *err)
{
    struct rps_import_row *row = &builder->row;
    uint64_t first = 0;
    char *line = NULL;
    int result = open_row(row, separator, err);

    while (result == 0 && !row->is_whole) {
        result = read_text_line(builder, &line, err);
        if (result == 0 && first > 0)
            return rps_error_set(err, RPS_FAILED,
                                 "%s, line %llu: a quote that begins there is never closed",
                                 builder->path, (unsigned long long)first);
        if (result <= 0)
            return result;
        result = 0;
        if (first == 0 && ((line[0] == '#' && (separator != ' ' || line[1] != ' ')) ||
                           line[strspn(line, " \t")] == '\0'))
            continue;
        if (separator == ' ')
            set_tabs(line);
        first = first > 0 ? first : builder->line_number;
        result = parse_line(builder, line, err);
    }
    if (result < 0)
        return result;
    for (size_t i = 0; i < row->count; i++)
        row->cell[i] = row->text + row->offset[i];
    *ret_cell = row->cell;
    *ret_count = row->count;
    return 1;
}
