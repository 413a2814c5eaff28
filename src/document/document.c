/* What a command says: filling it, and writing it for programs. */
#include "rpistat/document.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "document_text.h"
#include "rpistat/clock.h"
#include "rpistat/text.h"

#define ROOM_FIRST 16

/* --- memory ----------------------------------------------------------------------------------- */

/* The head of a piece of memory; the piece stands behind it. */
struct piece {
    struct piece *next;
    max_align_t start[];
};

static void *keep(struct rps_document *document, size_t size)
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
    char *kept = keep(document, size);

    return kept ? memcpy(kept, text, size) : NULL;
}

static char *keep_printable(struct rps_document *document, const char *text)
{
    size_t size = 4 * strlen(text) + 1; /* \xHH for a byte */
    char *kept = keep(document, size);

    return kept ? rps_text_printable(kept, size, text) : NULL;
}

void rps_document_free(struct rps_document *document)
{
    free(document->spare.line);
    for (struct rps_block *block = document->first; block; block = block->next) {
        free(block->value);
        free(block->line);
    }
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
    struct rps_block *block = keep(document, sizeof(*block));
    struct rps_column *copy = keep(document, column_count * sizeof(*copy));

    document->spare.document = document;
    if (!block || !copy)
        return &document->spare;
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

/* The clock in the reader's zone: "2026-11-21 14:30". */
static const char *format_clock(char *ret, size_t size, int64_t realtime_ns)
{
    time_t seconds = (time_t)(realtime_ns / RPS_NS_PER_S);
    struct tm local;

    if (localtime_r(&seconds, &local) == NULL || strftime(ret, size, "%Y-%m-%d %H:%M", &local) == 0)
        snprintf(ret, size, "?");
    return ret;
}

/* What a value that is known says to people; made in `ret` where it is not its text. */
static const char *say(enum rps_value_kind kind, const struct rps_value *value, char *ret,
                       size_t size)
{
    switch (kind) {
    case RPS_VALUE_BOOL:
        return value->number ? "yes" : "no";
    case RPS_VALUE_TIME:
        return format_clock(ret, size, value->number);
    case RPS_VALUE_INT:
        snprintf(ret, size, "%" PRId64, value->number);
        return ret;
    case RPS_VALUE_NUMBER:
        return rps_text_number(ret, size, value->real);
    case RPS_VALUE_SIZE:
        return rps_text_size(ret, size, (uint64_t)value->number);
    case RPS_VALUE_DURATION:
        return rps_text_duration(ret, size, value->number);
    default:
        return value->text ? value->text : "";
    }
}

static void put(struct rps_block *block, struct rps_value value)
{
    const struct rps_column *column;
    struct rps_value *grown;
    char made[RPS_TEXT_NUMBER_SIZE];

    if (block->column_count == 0)
        return; /* the spare one */
    column = &block->column[block->value_count % block->column_count];
    grown =
        grow(block->document, block->value, block->value_count, &block->value_room, sizeof(*grown));
    if (!grown)
        return;
    block->value = grown;
    grown[block->value_count++] = value;
    if (column->heading)
        rps_put_words(block, value.known ? say(column->kind, &value, made, sizeof(made))
                                         : RPS_WORDS_UNKNOWN);
}

void rps_put_words(struct rps_block *block, const char *words)
{
    if (block->value_count > 0)
        block->value[block->value_count - 1].words = keep_printable(block->document, words);
}

void rps_put_text(struct rps_block *block, const char *text)
{
    int known = text && text[0] != '\0';

    put(block, (struct rps_value){.known = known,
                                  .text = known ? keep_text(block->document, text) : NULL});
}

void rps_put_texts(struct rps_block *block, int count, ...)
{
    va_list args;

    va_start(args, count);
    for (int i = 0; i < count; i++)
        rps_put_text(block, va_arg(args, const char *));
    va_end(args);
}

void rps_put_int(struct rps_block *block, int64_t number, int known)
{
    put(block, (struct rps_value){.known = known, .number = number});
}

void rps_put_number(struct rps_block *block, double number)
{
    put(block, (struct rps_value){.known = isfinite(number), .real = number});
}

void rps_put_list(struct rps_block *block, char *const *text, int count)
{
    char **item = keep(block->document, ((size_t)count + 1) * sizeof(*item));

    for (int i = 0; i < count && item; i++)
        item[i] = keep_text(block->document, text[i]);
    put(block, (struct rps_value){.known = count > 0, .item = item, .count = (size_t)count});
}

/* "a=1;b=2", "" of none; NULL without memory. */
static char *join_tags(struct rps_document *document, const struct rps_tag *tag, int count,
                       const char *between)
{
    size_t size = 1;
    char *text, *to;

    for (int i = 0; i < count; i++)
        size += strlen(tag[i].key) + strlen(tag[i].value) + 2;
    text = to = keep(document, size);
    for (int i = 0; i < count && to; i++)
        to += sprintf(to, "%s%s=%s", i > 0 ? between : "", tag[i].key, tag[i].value);
    if (to)
        *to = '\0';
    return text;
}

void rps_put_tags(struct rps_block *block, const struct rps_tag *tag, int count)
{
    struct rps_value value = {.known = count > 0, .count = 2 * (size_t)count};
    const char *words = join_tags(block->document, tag, count, " ");

    value.text = join_tags(block->document, tag, count, ";");
    value.item = keep(block->document, (value.count + 1) * sizeof(*value.item));
    for (int i = 0; i < count && value.item; i++) {
        value.item[2 * i] = keep_text(block->document, tag[i].key);
        value.item[2 * i + 1] = keep_text(block->document, tag[i].value);
    }
    put(block, value);
    if (count > 0 && words)
        rps_put_words(block, words);
}

void rps_block_line(struct rps_block *block, int indent, const char *format, ...)
{
    struct rps_line *grown =
        grow(block->document, block->line, block->line_count, &block->line_room, sizeof(*grown));
    char *text = NULL;
    va_list args;

    if (!grown)
        return;
    block->line = grown;
    va_start(args, format);
    if (vasprintf(&text, format, args) < 0)
        text = NULL;
    va_end(args);
    if (text)
        grown[block->line_count++] =
            (struct rps_line){rps_block_rows(block), indent, keep_printable(block->document, text)};
    else
        block->document->no_memory = 1;
    free(text);
}

/* --- sorting ---------------------------------------------------------------------------------- */

struct order {
    size_t column;
    int sign; /* -1: the largest first */
};

static int compare_values(const struct rps_value *a, const struct rps_value *b)
{
    int by = (a->number > b->number) - (a->number < b->number);

    if (by == 0)
        by = (a->real > b->real) - (a->real < b->real);
    return by != 0 ? by : strcmp(a->text ? a->text : "", b->text ? b->text : "");
}

static int compare_rows(const void *a, const void *b, void *context)
{
    const struct rps_value *one = a, *other = b;
    const struct order *order = context;
    int by = compare_values(one + order->column, other + order->column);

    return by != 0 ? order->sign * by : compare_values(one, other);
}

void rps_block_sort(struct rps_block *block, const char *column_name, int is_descending)
{
    struct order order = {0, is_descending ? -1 : 1};

    for (size_t c = 0; c < block->column_count; c++) {
        if (block->column[c].name && strcmp(block->column[c].name, column_name) == 0)
            order.column = c;
    }
    if (block->value_count > 0)
        qsort_r(block->value, rps_block_rows(block), block->column_count * sizeof(*block->value),
                compare_rows, &order);
}

/* --- for programs ----------------------------------------------------------------------------- */

static void write_items(struct rps_json *json, const struct rps_column *column,
                        const struct rps_value *value)
{
    if (column->kind == RPS_VALUE_TAGS)
        rps_json_object(json, column->name);
    else
        rps_json_array(json, column->name);
    for (size_t i = 0; i < value->count; i++) {
        const char *name = column->kind == RPS_VALUE_TAGS ? value->item[i++] : NULL;

        rps_json_text(json, name, value->item[i]);
    }
    rps_json_end(json);
}

static void write_value(struct rps_rows *rows, const struct rps_column *column,
                        const struct rps_value *value)
{
    switch (column->kind) {
    case RPS_VALUE_LIST:
    case RPS_VALUE_TAGS:
        if (rows->json)
            write_items(rows->json, column, value);
        else if (column->kind == RPS_VALUE_TAGS)
            rps_rows_text(rows, column->name, value->text);
        break;
    case RPS_VALUE_TEXT:
        rps_rows_text(rows, column->name, value->text);
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

void rps_block_write_row(const struct rps_block *block, size_t row, struct rps_rows *rows)
{
    static const struct rps_value none;

    for (size_t c = 0; c < block->column_count; c++) {
        size_t at = row * block->column_count + c;

        if (block->column[c].name)
            write_value(rows, &block->column[c],
                        at < block->value_count ? &block->value[at] : &none);
    }
}

static void write_row(const struct rps_block *block, size_t row, struct rps_rows *rows)
{
    rps_rows_row(rows);
    rps_block_write_row(block, row, rows);
    rps_rows_end_row(rows);
}

/* A table of this block, and of those of its name behind it; returns the last. */
static const struct rps_block *write_table(const struct rps_block *block, struct rps_rows *rows)
{
    const char *name = block->name;

    if (rps_rows_begin(rows, name))
        write_row(block, rps_block_rows(block), rows); /* of the names */
    for (;; block = block->next) {
        for (size_t i = 0; i < rps_block_rows(block); i++)
            write_row(block, i, rows);
        if (!block->next || !block->next->name || strcmp(block->next->name, name) != 0)
            break;
    }
    rps_rows_end(rows);
    return block;
}

int rps_document_write(const struct rps_document *document, FILE *out, enum rps_format format,
                       int columns, struct rps_error *err)
{
    struct rps_rows rows;

    if (document->no_memory)
        return rps_error_memory(err);
    if (format == RPS_FORMAT_TEXT) {
        rps_document_print(document, out, columns);
        return 0;
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
    return rps_rows_close(&rows, 0, err);
}
