/* Write a document as CSV: the table that the document selects, or its first table with a name. */
#include <math.h>
#include <string.h>

#include "rpistat/arena.h"
#include "rpistat/csv_writer.h"
#include "rpistat/document.h"
#include "rpistat/text.h"
#include "to.h"

static int has_cell(const struct rps_column *column)
{
    return column->name && column->kind != RPS_VALUE_BLOCK && column->kind != RPS_VALUE_JSON;
}

/* Return the suffix of a group's column: NAME_metric if a plain column already has the name. */
static const char *suffix_of(const struct rps_block *block, const struct rps_column *column)
{
    for (size_t c = 0; c < block->column_count && column->group; c++) {
        const struct rps_column *other = &block->column[c];

        if (other->name && !other->group && strcmp(other->name, column->name) == 0)
            return "_metric";
    }
    return "";
}

static void write_name(struct rps_csv_writer *csv, const struct rps_block *block,
                       const struct rps_column *column, const char *suffix)
{
    rps_csv_text(csv, rps_arena_print(block->document->arena, "%s%s", column->name, suffix));
}

static void write_value(struct rps_csv_writer *csv, const struct rps_column *column,
                        const struct rps_value *value)
{
    char text[RPS_TEXT_NUMBER_SIZE], *tags;

    if (!value->known) {
        rps_csv_empty(csv);
        return;
    }
    switch (column->kind) {
    case RPS_VALUE_TEXT:
    case RPS_VALUE_BLOCK:
    case RPS_VALUE_JSON:
        rps_csv_text(csv, value->text);
        break;
    case RPS_VALUE_TAGS:
        tags = rps_document_tags_text(value->block, ";");
        if (tags)
            rps_csv_text(csv, tags);
        else
            rps_csv_empty(csv);
        break;
    case RPS_VALUE_BOOL:
        rps_csv_text(csv, value->number ? "true" : "false");
        break;
    case RPS_VALUE_TIME:
        rps_csv_text(csv, rps_text_utc(text, sizeof(text), value->number));
        break;
    case RPS_VALUE_INT:
    case RPS_VALUE_BYTES:
        rps_csv_int64(csv, value->number);
        break;
    case RPS_VALUE_NUMBER:
    case RPS_VALUE_FIGURE:
    case RPS_VALUE_SHARE:
        if (value->number != 0)
            rps_csv_int64(csv, value->number);
        else
            rps_csv_double(csv, value->real);
        break;
    case RPS_VALUE_DURATION:
    case RPS_VALUE_CLOCK:
        rps_csv_seconds(csv, value->number);
        break;
    }
}

/* Write the ends of a value's interval, or the names of their columns if `value` is NULL. */
static void write_ends(struct rps_csv_writer *csv, const struct rps_block *block,
                       const struct rps_column *column, const struct rps_value *value)
{
    if (value) {
        rps_csv_double(csv, rps_interval_end(&value->sure, 0));
        rps_csv_double(csv, rps_interval_end(&value->sure, 1));
    } else {
        write_name(csv, block, column, "_low");
        write_name(csv, block, column, "_high");
    }
}

/* Write the uncertainty of a value that is in no group: low, high, certainty, share. */
static void write_sure(struct rps_csv_writer *csv, const struct rps_value *value)
{
    const struct rps_interval *sure = &value->sure;

    rps_csv_double(csv, rps_interval_end(sure, 0));
    rps_csv_double(csv, rps_interval_end(sure, 1));
    if (sure->certainty == RPS_CERTAINTY_NONE)
        rps_csv_empty(csv);
    else
        rps_csv_text(csv, rps_certainty_name(sure->certainty));
    rps_csv_double(csv, sure->certainty == RPS_CERTAINTY_NONE ? NAN : sure->share);
}

/* Write a row (NULL: column names). A group's interval ends and the deviations are at the end. */
static void write_row(struct rps_csv_writer *csv, const struct rps_block *block,
                      const struct rps_value *row)
{
    static const char *const sure[] = {"low", "high", "certainty", "share"};

    for (size_t c = 0; c < block->column_count; c++) {
        const struct rps_column *column = &block->column[c];
        int is_sure = has_cell(column) && !column->group && column->has_interval;

        if (has_cell(column) && row)
            write_value(csv, column, &row[c]);
        else if (has_cell(column))
            write_name(csv, block, column, suffix_of(block, column));
        if (is_sure && row)
            write_sure(csv, &row[c]);
        for (int i = 0; i < 4 && is_sure && !row; i++)
            rps_csv_text(csv, sure[i]);
    }
    for (size_t c = 0; c < block->column_count; c++) {
        if (has_cell(&block->column[c]) && block->column[c].group && block->column[c].has_interval)
            write_ends(csv, block, &block->column[c], row ? &row[c] : NULL);
    }
    for (size_t c = 0; c < block->column_count; c++) {
        if (!has_cell(&block->column[c]) || !block->column[c].has_deviation)
            continue;
        if (row)
            rps_csv_double(csv, row[c].deviation);
        else
            write_name(csv, block, &block->column[c], "_sd");
    }
    rps_csv_end_row(csv);
}

void rps_document_to_csv(const struct rps_document *document, FILE *out)
{
    static const struct rps_csv_dialect dialect = {.separator = ',', .decimal = '.'};
    struct rps_csv_writer *csv = rps_arena_get(document->arena, 1, sizeof(*csv));
    const struct rps_block *block = document->first;
    const char *name;

    while (block && (!block->name || (document->csv && strcmp(block->name, document->csv) != 0)))
        block = block->next;
    if (!block || rps_csv_begin(document->arena, csv, out, &dialect, NULL) < 0)
        return;
    name = block->name;
    write_row(csv, block, NULL);
    for (; block && block->name && strcmp(block->name, name) == 0; block = block->next) {
        for (size_t i = 0; i + block->human_rows < rps_block_rows(block); i++)
            write_row(csv, block, block->value + i * block->column_count);
    }
    rps_csv_flush(csv);
}
