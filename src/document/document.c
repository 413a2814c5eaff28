/* Build the contents of a document. */
#include "rpistat/arena.h"
#include "rpistat/document.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "to.h"

/* --- blocks ----------------------------------------------------------------------------------- */

static struct rps_block *new_block(struct rps_document *document, const char *name,
                                   const struct rps_column *column, size_t column_count)
{
    struct rps_block *block = rps_arena_get(document->arena, 1, sizeof(*block));

    block->document = document;
    block->name = name;
    for (; block->column_count < column_count; block->column_count++) {
        block->column = rps_arena_grow(document->arena, block->column, block->column_count,
                                       sizeof(*block->column));
        block->column[block->column_count] = column[block->column_count];
    }
    return block;
}

struct rps_block *rps_document_block(struct rps_document *document, const char *name,
                                     const struct rps_column *column, size_t column_count)
{
    struct rps_block *block = new_block(document, name, column, column_count);

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

void rps_block_column(struct rps_block *block, struct rps_column column)
{
    struct rps_arena *arena = block->document->arena;

    column.name = rps_arena_text(arena, column.name);
    column.heading = rps_arena_text(arena, column.heading);
    column.unit = rps_arena_text(arena, column.unit);
    block->column =
        rps_arena_grow(arena, block->column, block->column_count, sizeof(*block->column));
    block->column[block->column_count++] = column;
}

/* --- values ----------------------------------------------------------------------------------- */

static struct rps_value *put(struct rps_block *block, struct rps_value value)
{
    struct rps_arena *arena = block->document->arena;
    size_t row = rps_block_rows(block);

    if (block->depth && block->value_count % block->column_count == 0) {
        block->depth = rps_arena_grow(arena, block->depth, row + 1, sizeof(*block->depth));
        block->depth[row + 1] = block->depth[row];
    }
    value.deviation = NAN;
    block->value = rps_arena_grow(arena, block->value, block->value_count, sizeof(value));
    block->value[block->value_count] = value;
    return &block->value[block->value_count++];
}

struct rps_value *rps_put_text(struct rps_block *block, const char *text)
{
    int known = text && text[0] != '\0';

    return put(block, (struct rps_value){
                          .known = known,
                          .text = known ? rps_arena_text(block->document->arena, text) : NULL});
}

struct rps_value *rps_put_int(struct rps_block *block, int64_t number, int known)
{
    return put(block, (struct rps_value){.known = known, .number = number});
}

struct rps_value *rps_put_number(struct rps_block *block, double number)
{
    return put(block, (struct rps_value){.known = isfinite(number), .real = number});
}

struct rps_value *rps_put_figure(struct rps_block *block, double number,
                                 const struct rps_interval *sure)
{
    struct rps_value *value = rps_put_number(block, number);

    value->sure = *sure;
    return value;
}

struct rps_value *rps_put_tags(struct rps_block *block, const struct rps_tag *tag, int count)
{
    struct rps_block *tags = new_block(block->document, NULL, NULL, 0);

    for (int i = 0; i < count; i++)
        rps_block_column(tags, (struct rps_column){.name = tag[i].key});
    for (int i = 0; i < count; i++)
        rps_put_text(tags, tag[i].value);
    tags->is_object = 1;
    return put(block, (struct rps_value){.known = count > 0, .block = tags});
}

void rps_put_texts(struct rps_block *block, int count, ...)
{
    va_list args;

    va_start(args, count);
    for (int i = 0; i < count; i++)
        rps_put_text(block, va_arg(args, const char *));
    va_end(args);
}

void rps_put_blanks(struct rps_block *block, int count)
{
    for (int i = 0; i < count; i++)
        put(block, (struct rps_value){.words = ""});
}

struct rps_block *rps_put_block(struct rps_block *block, const struct rps_column *column,
                                size_t column_count)
{
    struct rps_block *inner = new_block(block->document, NULL, column, column_count);

    put(block, (struct rps_value){.known = 1, .block = inner});
    return inner;
}

void rps_put_list(struct rps_block *block, const char *const *text, size_t count)
{
    struct rps_block *list = rps_put_block(block, &(struct rps_column){.name = ""}, 1);

    for (size_t i = 0; i < count; i++)
        rps_put_text(list, text[i]);
}

/* --- words ------------------------------------------------------------------------------------ */

void rps_put_words(struct rps_block *block, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    block->value[block->value_count - 1].words =
        rps_arena_vprint(block->document->arena, format, args);
    va_end(args);
}

void rps_block_depth(struct rps_block *block, int depth)
{
    struct rps_arena *arena = block->document->arena;

    if (!block->depth)
        for (size_t i = 0; i <= rps_block_rows(block); i++)
            block->depth = rps_arena_grow(arena, block->depth, i, sizeof(*block->depth));
    block->depth[rps_block_rows(block)] = depth;
}

void rps_block_title(struct rps_block *block, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    block->title = rps_arena_vprint(block->document->arena, format, args);
    va_end(args);
}

__attribute__((format(printf, 4, 0))) static void
add_line(struct rps_block *block, int indent, int hang, const char *format, va_list args)
{
    block->line = rps_arena_grow(block->document->arena, block->line, block->line_count,
                                 sizeof(*block->line));
    block->line[block->line_count++] =
        (struct rps_line){rps_block_rows(block), indent, hang,
                          rps_arena_vprint(block->document->arena, format, args)};
}

void rps_block_line(struct rps_block *block, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    add_line(block, 0, -1, format, args);
    va_end(args);
}

void rps_block_wrap(struct rps_block *block, int indent, int hang, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    add_line(block, indent, hang, format, args);
    va_end(args);
}

void rps_document_print(struct rps_document *document, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    add_line(rps_document_block(document, NULL, NULL, 0), 0, 0, format, args);
    va_end(args);
}

/* --- sorting ---------------------------------------------------------------------------------- */

struct order {
    size_t column;
    int sign; /* 1: smallest value first; -1: largest value first */
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

/* --- writing ---------------------------------------------------------------------------------- */

static void write_for_humans(const struct rps_document *document, FILE *out, enum rps_format format,
                             int columns)
{
    locale_t before = uselocale(document->locale); /* uselocale with (locale_t)0 changes nothing */

    if (format == RPS_FORMAT_TEXT)
        rps_document_to_text(document, out, columns);
    else
        rps_document_to_markup(document, out, format - RPS_FORMAT_MARKDOWN);
    uselocale(before);
}

void rps_document_write(const struct rps_document *document, FILE *out, enum rps_format format,
                        int columns)
{
    if (format == RPS_FORMAT_JSON)
        rps_document_to_json(document, out);
    else if (format == RPS_FORMAT_CSV)
        rps_document_to_csv(document, out);
    else
        write_for_humans(document, out, format, columns);
}
