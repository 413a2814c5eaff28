/* What a command says: filling it, and writing it for programs. */
#include "rpistat/document.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "document_text.h"

#define ROOM_FIRST 16

/* --- memory ----------------------------------------------------------------------------------- */

/* The head of a piece of memory; the piece stands behind it. */
struct piece {
    struct piece *next;
    max_align_t start[];
};

void *rps_document_keep(struct rps_document *document, size_t size)
{
    struct piece *piece = malloc(sizeof(*piece) + size);

    if (!piece) {
        document->no_memory = 1;
        return NULL;
    }
    piece->next = document->memory;
    document->memory = piece;
    return piece->start;
}

static char *keep_text(struct rps_document *document, const char *text)
{
    size_t size = strlen(text) + 1;
    char *kept = rps_document_keep(document, size);

    return kept ? memcpy(kept, text, size) : NULL;
}

static void block_free(struct rps_block *block)
{
    free(block->value);
    free(block->line);
}

void rps_document_free(struct rps_document *document)
{
    for (struct rps_block *block = document->first; block; block = block->next)
        block_free(block);
    block_free(&document->spare);
    for (struct piece *next, *piece = document->memory; piece; piece = next) {
        next = piece->next;
        free(piece);
    }
    *document = (struct rps_document){.first = NULL};
}

/* Room for one more of `size` bytes: the array, which may have moved; NULL without memory. */
static void *grow(struct rps_document *document, void *array, size_t count, size_t *room,
                  size_t size)
{
    size_t more = *room > 0 ? 2 * *room : ROOM_FIRST;
    void *grown;

    if (count < *room)
        return array;
    grown = realloc(array, more * size);
    if (grown)
        *room = more;
    else
        document->no_memory = 1;
    return grown;
}

/* --- filling ---------------------------------------------------------------------------------- */

struct rps_block *rps_document_block(struct rps_document *document, const char *name,
                                     const struct rps_column *column, size_t column_count)
{
    struct rps_block *block = rps_document_keep(document, sizeof(*block));
    struct rps_column *copy = rps_document_keep(document, (column_count + 1) * sizeof(*copy));

    document->spare.document = document;
    if (!block || !copy)
        return &document->spare;
    if (column_count > 0)
        memcpy(copy, column, column_count * sizeof(*copy));
    *block = (struct rps_block){
        .document = document, .name = name, .column = copy, .column_count = column_count};
    if (document->last)
        document->last->next = block;
    else
        document->first = block;
    document->last = block;
    return block;
}

struct rps_block *rps_document_field(struct rps_document *document, const char *name,
                                     enum rps_value_kind kind)
{
    return rps_document_block(document, NULL, &(struct rps_column){.name = name, .kind = kind}, 1);
}

static void put(struct rps_block *block, struct rps_value value)
{
    struct rps_value *grown =
        grow(block->document, block->value, block->value_count, &block->value_room, sizeof(*grown));

    if (!grown)
        return;
    block->value = grown;
    grown[block->value_count++] = value;
}

void rps_put_text(struct rps_block *block, const char *text)
{
    int known = text && text[0] != '\0';

    put(block, (struct rps_value){.known = known,
                                  .text = known ? keep_text(block->document, text) : NULL});
}

void rps_put_int(struct rps_block *block, int64_t number, int known)
{
    put(block, (struct rps_value){.known = known, .number = number});
}

void rps_put_number(struct rps_block *block, double number)
{
    put(block, (struct rps_value){.known = isfinite(number), .real = number});
}

/* A value of `count` texts, as yet NULL. */
static char **put_items(struct rps_block *block, size_t count)
{
    char **item = rps_document_keep(block->document, (count + 1) * sizeof(*item));

    put(block, (struct rps_value){.known = count > 0, .count = item ? count : 0, .item = item});
    return item;
}

void rps_put_list(struct rps_block *block, char *const *text, int count)
{
    char **item = put_items(block, (size_t)count);

    for (int i = 0; i < count && item; i++)
        item[i] = keep_text(block->document, text[i]);
}

void rps_put_tags(struct rps_block *block, const struct rps_tag *tag, int count)
{
    char **item = put_items(block, 2 * (size_t)count);

    for (int i = 0; i < count && item; i++) {
        item[2 * i] = keep_text(block->document, tag[i].key);
        item[2 * i + 1] = keep_text(block->document, tag[i].value);
    }
}

void rps_put_words(struct rps_block *block, const char *words)
{
    if (block->value_count > 0)
        block->value[block->value_count - 1].words = keep_text(block->document, words);
}

void rps_block_line(struct rps_block *block, int indent, const char *format, ...)
{
    struct rps_line *grown =
        grow(block->document, block->line, block->line_count, &block->line_room, sizeof(*grown));
    char *text = NULL;
    va_list args;
    int length;

    va_start(args, format);
    length = vsnprintf(NULL, 0, format, args);
    va_end(args);
    if (length >= 0)
        text = rps_document_keep(block->document, (size_t)length + 1);
    block->line = grown ? grown : block->line;
    if (!text || !grown)
        return;
    va_start(args, format);
    vsnprintf(text, (size_t)length + 1, format, args);
    va_end(args);
    grown[block->line_count++] =
        (struct rps_line){.row = rps_block_rows(block), .indent = indent, .text = text};
}

/* --- sorting ---------------------------------------------------------------------------------- */

struct key {
    const struct rps_value *value;
    size_t row;
    int sign; /* -1: the largest first */
};

static int compare_keys(const void *a, const void *b)
{
    const struct key *one = a, *other = b;
    const struct rps_value *x = one->value, *y = other->value;
    int by = (x->number > y->number) - (x->number < y->number);

    if (by == 0)
        by = (x->real > y->real) - (x->real < y->real);
    if (by == 0)
        by = strcmp(x->text ? x->text : "", y->text ? y->text : "");
    if (by != 0)
        return one->sign * by;
    return (one->row > other->row) - (one->row < other->row);
}

void rps_block_sort(struct rps_block *block, const char *column_name, int is_descending)
{
    size_t count = block->column_count, rows = rps_block_rows(block), at = 0;
    struct rps_value *sorted = calloc(rows * count + 1, sizeof(*sorted));
    struct key *key = calloc(rows + 1, sizeof(*key));

    while (at + 1 < count &&
           (!block->column[at].name || strcmp(block->column[at].name, column_name) != 0))
        at++;
    if (!sorted || !key) {
        block->document->no_memory = 1;
        free(sorted);
        free(key);
        return;
    }
    for (size_t i = 0; i < rows; i++)
        key[i] = (struct key){&block->value[i * count + at], i, is_descending ? -1 : 1};
    qsort(key, rows, sizeof(*key), compare_keys);
    for (size_t i = 0; i < rows; i++)
        memcpy(sorted + i * count, block->value + key[i].row * count, count * sizeof(*sorted));
    free(key);
    free(block->value);
    block->value = sorted;
    block->value_count = rows * count;
    block->value_room = rows * count + 1;
}

/* --- for programs ----------------------------------------------------------------------------- */

char *rps_document_tags(struct rps_document *document, const struct rps_value *value,
                        const char *between)
{
    size_t size = 1;
    char *text, *to;

    for (size_t i = 0; i < value->count; i++)
        size += strlen(value->item[i]) + strlen(between) + 1;
    text = to = rps_document_keep(document, size);
    if (!text)
        return NULL;
    *to = '\0';
    for (size_t i = 0; i < value->count; i += 2) {
        to = stpcpy(to, i > 0 ? between : "");
        to = stpcpy(stpcpy(stpcpy(to, value->item[i]), "="), value->item[i + 1]);
    }
    return text;
}

static void write_items(struct rps_rows *rows, const struct rps_column *column,
                        const struct rps_value *value)
{
    size_t step = column->kind == RPS_VALUE_TAGS ? 2 : 1;

    if (step == 2)
        rps_json_object(rows->json, column->name);
    else
        rps_json_array(rows->json, column->name);
    for (size_t i = 0; i < value->count; i += step)
        rps_json_text(rows->json, step == 2 ? value->item[i] : NULL, value->item[i + step - 1]);
    rps_json_end(rows->json);
}

static void write_value(struct rps_document *document, struct rps_rows *rows,
                        const struct rps_column *column, const struct rps_value *value)
{
    switch (column->kind) {
    case RPS_VALUE_TEXT:
        rps_rows_text(rows, column->name, value->text);
        break;
    case RPS_VALUE_LIST:
    case RPS_VALUE_TAGS:
        if (rows->json)
            write_items(rows, column, value);
        else if (column->kind == RPS_VALUE_TAGS)
            rps_rows_text(rows, column->name, rps_document_tags(document, value, ";"));
        break;
    case RPS_VALUE_BOOL:
        rps_rows_bool(rows, column->name, value->number != 0, value->known);
        break;
    case RPS_VALUE_TIME:
        rps_rows_time(rows, column->name, value->number, value->known);
        break;
    case RPS_VALUE_INT:
    case RPS_VALUE_SIZE:
        rps_rows_int(rows, column->name, value->number, value->known);
        break;
    case RPS_VALUE_NUMBER:
        rps_rows_double(rows, column->name, value->known ? value->real : NAN);
        break;
    case RPS_VALUE_DURATION:
        rps_rows_seconds(rows, column->name, value->number, value->known);
        break;
    }
}

/* A row, or with value NULL the names of one. */
static void write_values(const struct rps_block *block, const struct rps_value *value,
                         struct rps_rows *rows)
{
    static const struct rps_value none;

    for (size_t c = 0; c < block->column_count; c++) {
        if (block->column[c].name)
            write_value(block->document, rows, &block->column[c], value ? &value[c] : &none);
    }
}

void rps_block_write_row(const struct rps_block *block, size_t row, struct rps_rows *rows)
{
    if (row < rps_block_rows(block))
        write_values(block, block->value + row * block->column_count, rows);
}

/* A table of this block, and of those of its name behind it; returns the last. */
static const struct rps_block *write_table(const struct rps_block *block, struct rps_rows *rows)
{
    const char *name = block->name;

    if (rps_rows_begin(rows, name)) {
        rps_rows_row(rows);
        write_values(block, NULL, rows);
        rps_rows_end_row(rows);
    }
    for (;; block = block->next) {
        for (size_t i = 0; i < rps_block_rows(block); i++) {
            rps_rows_row(rows);
            rps_block_write_row(block, i, rows);
            rps_rows_end_row(rows);
        }
        if (!block->next || !block->next->name || strcmp(block->next->name, name) != 0)
            break;
    }
    rps_rows_end(rows);
    return block;
}

int rps_document_write(struct rps_document *document, FILE *out, enum rps_format format,
                       int columns, struct rps_error *err)
{
    struct rps_rows rows;

    if (document->no_memory)
        return rps_error_memory(err);
    if (format == RPS_FORMAT_TEXT) {
        rps_document_print(document, out, columns);
        return document->no_memory ? rps_error_memory(err) : 0;
    }
    if (rps_rows_open(&rows, out, format, err) < 0)
        return RPS_FAILED;
    for (const struct rps_block *block = document->first; block; block = block->next) {
        if (!block->name)
            rps_block_write_row(block, 0, &rows);
        else
            block = write_table(block, &rows);
        if (format == RPS_FORMAT_CSV && block->name)
            break;
    }
    return rps_rows_close(&rows, document->no_memory ? rps_error_memory(err) : 0, err);
}
