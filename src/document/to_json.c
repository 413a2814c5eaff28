/* Write a document as JSON. */
#include <math.h>
#include <string.h>

#include "rpistat/document.h"
#include "rpistat/text.h"
#include "to.h"

static void write_block(struct rps_json *json, const char *name, const struct rps_block *block);

static void write_value(struct rps_json *json, const struct rps_column *column,
                        const struct rps_value *value)
{
    const char *name = column->name[0] ? column->name : NULL;
    char text[RPS_TEXT_NUMBER_SIZE];

    if (column->kind == RPS_VALUE_TAGS || column->kind == RPS_VALUE_BLOCK) {
        if (value->block)
            write_block(json, name, value->block);
        else
            rps_json_null(json, name);
        return;
    }
    if (!value->known) {
        rps_json_null(json, name);
        return;
    }
    switch (column->kind) {
    case RPS_VALUE_TEXT:
    case RPS_VALUE_TAGS:
    case RPS_VALUE_BLOCK:
        rps_json_text(json, name, value->text);
        break;
    case RPS_VALUE_JSON:
        rps_json_raw(json, name, value->text);
        break;
    case RPS_VALUE_BOOL:
        rps_json_bool(json, name, value->number != 0);
        break;
    case RPS_VALUE_TIME:
        rps_json_text(json, name, rps_text_utc(text, sizeof(text), value->number));
        break;
    case RPS_VALUE_INT:
    case RPS_VALUE_BYTES:
        rps_json_int64(json, name, value->number);
        break;
    case RPS_VALUE_NUMBER:
    case RPS_VALUE_FIGURE:
    case RPS_VALUE_SHARE:
        if (value->number != 0)
            rps_json_int64(json, name, value->number);
        else
            rps_json_double(json, name, value->real);
        break;
    case RPS_VALUE_DURATION:
    case RPS_VALUE_CLOCK:
        rps_json_seconds(json, name, value->number);
        break;
    }
}

static void write_ends(struct rps_json *json, const struct rps_interval *sure)
{
    rps_json_double(json, "low", rps_interval_end(sure, 0));
    rps_json_double(json, "high", rps_interval_end(sure, 1));
    if (sure->certainty == RPS_CERTAINTY_NONE)
        rps_json_null(json, "certainty");
    else
        rps_json_text(json, "certainty", rps_certainty_name(sure->certainty));
}

/* --- groups ----------------------------------------------------------------------------------- */

/* Write the columns of a group, beginning at column `first`, with the function `write`. */
static void write_group(struct rps_json *json, const char *name, const struct rps_block *block,
                        size_t first, const struct rps_value *row,
                        void (*write)(struct rps_json *, const struct rps_column *,
                                      const struct rps_value *))
{
    rps_json_object(json, name);
    for (size_t c = first; c < block->column_count; c++) {
        const struct rps_column *column = &block->column[c];

        if (column->name && column->group && strcmp(column->group, block->column[first].group) == 0)
            write(json, column, &row[c]);
    }
    rps_json_end(json);
}

static void write_interval(struct rps_json *json, const struct rps_column *column,
                           const struct rps_value *value)
{
    if (value->sure.certainty <= RPS_CERTAINTY_COUNTED)
        return;
    rps_json_object(json, column->name);
    write_ends(json, &value->sure);
    rps_json_end(json);
}

static void write_deviation(struct rps_json *json, const struct rps_column *column,
                            const struct rps_value *value)
{
    rps_json_double(json, column->name, value->deviation);
}

static void write_groups(struct rps_json *json, const struct rps_block *block, size_t first,
                         const struct rps_value *row)
{
    const struct rps_column *column = &block->column[first];

    write_group(json, column->group, block, first, row, write_value);
    if (column->has_interval)
        write_group(json, "intervals", block, first, row, write_interval);
    if (column->has_deviation)
        write_group(json, "spread", block, first, row, write_deviation);
}

/* --- rows ------------------------------------------------------------------------------------- */

static void write_members(struct rps_json *json, const struct rps_block *block, size_t row)
{
    const struct rps_value *value = block->value + row * block->column_count;

    for (size_t c = 0; c < block->column_count; c++) {
        const struct rps_column *column = &block->column[c];
        size_t first = 0;

        if (!column->name)
            continue;
        if (column->group) {
            while (first < c && !(block->column[first].name && block->column[first].group &&
                                  strcmp(block->column[first].group, column->group) == 0))
                first++;
            if (first == c)
                write_groups(json, block, c, value);
            continue;
        }
        write_value(json, column, &value[c]);
        if (column->has_interval) {
            write_ends(json, &value[c].sure);
            rps_json_double(json, "share",
                            value[c].sure.certainty == RPS_CERTAINTY_NONE ? NAN
                                                                          : value[c].sure.share);
        }
    }
}

static void write_first(const struct rps_block *block, struct rps_json *json)
{
    if (rps_block_rows(block) > 0)
        write_members(json, block, 0);
}

static void write_rows(struct rps_json *json, const struct rps_block *block)
{
    for (size_t i = 0; i + block->human_rows < rps_block_rows(block); i++) {
        if (block->column[0].name && !block->column[0].name[0]) {
            write_value(json, &block->column[0], &block->value[i]);
            continue;
        }
        rps_json_object(json, NULL);
        write_members(json, block, i);
        rps_json_end(json);
    }
}

/* Write a block: an array of rows, an array of lines if there are no columns, or an object. */
static void write_block(struct rps_json *json, const char *name, const struct rps_block *block)
{
    if (block->is_object) {
        rps_json_object(json, name);
        write_first(block, json);
    } else {
        rps_json_array(json, name);
        write_rows(json, block);
        for (size_t i = 0; i < block->line_count && block->column_count == 0; i++)
            rps_json_text(json, NULL, block->line[i].text);
    }
    rps_json_end(json);
}

/* --- for a page ------------------------------------------------------------------------------- */

void rps_block_write_grid(const struct rps_block *block, struct rps_json *json)
{
    const struct rps_grid grid = rps_grid_make(block);
    int marks = 0, told = 0;

    rps_json_texts(json, "head", (const char *const *)grid.heading, grid.column_count);
    rps_json_array(json, "right");
    for (size_t c = 0; c < grid.column_count; c++) {
        rps_json_bool(json, NULL, rps_column_is_right(grid.column[c]));
        marks |= grid.marks[c];
    }
    rps_json_end(json);
    rps_json_array(json, "rows");
    for (size_t i = 0; i < grid.row_count; i++)
        rps_json_texts(json, NULL, (const char *const *)grid.cell + i * grid.column_count,
                       grid.column_count);
    rps_json_end(json);
    rps_json_array(json, "notes");
    for (const char *note; (note = rps_document_note(marks, &told));)
        rps_json_text(json, NULL, note);
    rps_json_end(json);
}

void rps_document_to_json(const struct rps_document *document, FILE *out)
{
    struct rps_json json = {.out = out};

    rps_json_object(&json, NULL);
    rps_json_int64(&json, "format", RPS_DOCUMENT_JSON_VERSION);
    for (const struct rps_block *block = document->first; block; block = block->next) {
        if (!block->name) {
            write_first(block, &json);
        } else if (block->is_object || !block->next || !block->next->name ||
                   strcmp(block->next->name, block->name) != 0) {
            write_block(&json, block->name, block);
        } else {
            rps_json_array(&json, block->name);
            write_rows(&json, block);
            while (block->next && block->next->name &&
                   strcmp(block->next->name, block->name) == 0) {
                block = block->next;
                write_rows(&json, block);
            }
            rps_json_end(&json);
        }
    }
    rps_json_end(&json);
}
