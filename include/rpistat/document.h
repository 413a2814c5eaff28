/*
 * What a command says: blocks of typed values, filled once, and written as text for people, as JSON
 * or as CSV. Who fills a block knows nothing of forms, and who writes it nothing of runs.
 *
 * Values are put one by one, row by row, in the order of the block's columns, which is that of
 * programs; people have an order of their own. Times are ns: programs read seconds or ISO 8601 in
 * UTC, people lengths and the clock of their zone. Texts may be anybody's: each form makes them
 * harmless here, and nowhere else. All is copied. Without memory nothing is lost but the document:
 * rps_document_write says so.
 */
#ifndef RPISTAT_DOCUMENT_H
#define RPISTAT_DOCUMENT_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "rpistat/error.h"
#include "rpistat/rows.h"
#include "rpistat/run.h"

enum rps_value_kind {
    RPS_VALUE_TEXT,
    RPS_VALUE_LIST, /* texts; JSON alone */
    RPS_VALUE_TAGS, /* keys and their values: an object of JSON */
    RPS_VALUE_BOOL, /* people read yes and no */
    RPS_VALUE_TIME, /* ns since 1970; the last kind that people read aligned to the left */
    RPS_VALUE_INT,
    RPS_VALUE_NUMBER,   /* people read three digits of it */
    RPS_VALUE_SIZE,     /* bytes */
    RPS_VALUE_DURATION, /* ns */
};

struct rps_value {
    int known;      /* 0: null in JSON, empty in CSV, "-" for people */
    int64_t number; /* BOOL, TIME, INT, SIZE, DURATION */
    double real;    /* NUMBER */
    char *text;     /* TEXT; TAGS: "a=1;b=2" */
    char *words;    /* what people read, printable; NULL where they do not see the column */
    size_t count;   /* LIST, TAGS: texts, of TAGS a key and its value each */
    char **item;
};

/* When people see a column. */
enum rps_column_shown { RPS_SHOWN_ALWAYS, RPS_SHOWN_IF_KNOWN, RPS_SHOWN_IF_DIFFERENT };

struct rps_column {
    const char *name;    /* for programs, with its unit: "elapsed_s"; NULL: for people alone */
    const char *heading; /* for people; NULL: for programs alone */
    enum rps_value_kind kind;
    int place; /* people's order, the least first */
    enum rps_column_shown shown;
    int width_min;
    int width_max; /* on a terminal, where longer cells are cut; 0: as wide as it is */
    int drop;      /* the least above 0 is left out first where a terminal is narrow */
};

/* A line for people, before the row of that number. */
struct rps_line {
    size_t row;
    int indent;
    char *text;
};

struct rps_document;

/* A table, or with name NULL the members of JSON's outer object, in one row. */
struct rps_block {
    struct rps_document *document;
    struct rps_block *next;
    const char *name;
    int place;  /* from 0, among the blocks, for people: the least first, then as they were made */
    int indent; /* of its rows, for people */
    int has_no_head; /* 1: people see no headings, and rows are as wide as they are */
    size_t column_count, value_count, value_room, line_count, line_room;
    struct rps_column *column;
    struct rps_value *value;
    struct rps_line *line;
};

/* All zero: empty. Free it in any case. */
struct rps_document {
    struct rps_block *first, *last;
    void *memory;
    int no_memory;
    struct rps_block spare; /* what is made without memory */
};

void rps_document_free(struct rps_document *document);

/* A new block. `name` is constant, the columns are copied. Blocks of one name behind one another
 * are one table for programs; the first table is what a CSV holds. */
struct rps_block *rps_document_block(struct rps_document *document, const char *name,
                                     const struct rps_column *column, size_t column_count);

/* A member of JSON's outer object, for programs alone: a block whose only value is put next. */
struct rps_block *rps_document_field(struct rps_document *document, const char *name,
                                     enum rps_value_kind kind);

/* Put the next value, of a column of the right kind. Not known: NULL and "", NaN, `known` 0. */
void rps_put_text(struct rps_block *block, const char *text);
void rps_put_texts(struct rps_block *block, int count, ...);          /* const char * each */
void rps_put_int(struct rps_block *block, int64_t number, int known); /* all that are whole */
void rps_put_number(struct rps_block *block, double number);
void rps_put_list(struct rps_block *block, char *const *text, int count);
void rps_put_tags(struct rps_block *block, const struct rps_tag *tag, int count);

/* What people read in place of the last value. */
void rps_put_words(struct rps_block *block, const char *words);

/* A line for people below the rows so far (printf style). Indented it is broken to the terminal's
 * width, or 96 columns; 0: as it is; RPS_LINE_TITLE: as it is, behind a blank line
 * in all blocks but the first that people read. */
#define RPS_LINE_TITLE (-1)
void rps_block_line(struct rps_block *block, int indent, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static inline size_t rps_block_rows(const struct rps_block *block)
{
    return block->column_count > 0 ? block->value_count / block->column_count : 0;
}

/* Put the rows, which have no lines between them, into the order of a column, and those that are
 * equal into that of the first. */
void rps_block_sort(struct rps_block *block, const char *column_name, int is_descending);

/* One row (beyond the last: of what is not known), within a row of another table or an object. */
void rps_block_write_row(const struct rps_block *block, size_t row, struct rps_rows *rows);

/*
 * Write it. `columns` are those of the terminal that people's text goes to; 0: none. RPS_FAILED
 * without memory, when nothing was written; the stream is to be asked whether all could be.
 */
int rps_document_write(const struct rps_document *document, FILE *out, enum rps_format format,
                       int columns, struct rps_error *err);

#endif
