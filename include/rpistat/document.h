/*
 * The output of a command: blocks of typed values, filled once, and written as text for users,
 * JSON, CSV, Markdown or HTML. Code that fills a block does not depend on forms, and code that
 * writes it does not depend on runs.
 *
 * A block is a table, with lines for users between its rows; without columns it is paragraphs.
 * Values are put one by one, row by row, in the order of the columns, which is that of programs.
 * Users read one block after another with a blank line between, each with its title, its lines and
 * its table. Its columns have an order of their own for users. Users do not see a block if no
 * column has a heading, or if it has neither rows nor lines.
 *
 * Times are ns. Programs read seconds or ISO 8601 in UTC, users lengths and the clock of their
 * zone. Shares are 0 ... 1; users read percentages. SAFETY: texts may be anyone's. Only the forms
 * here make them harmless. Everything is copied into the document's arena, so nothing fails, and
 * only the arena is released.
 *
 *      struct rps_document document = {.arena = cli->arena, .width = RPS_DOCUMENT_WIDTH};
 *      static const struct rps_column columns[] = {
 *          {"phase", .kind = RPS_VALUE_INT},
 *          {"label", "Phase", .place = 1},
 *          {"cpi", "CPI", RPS_VALUE_FIGURE, .group = "figures", .has_interval = 1, .place = 2},
 *      };
 *      struct rps_block *block = rps_document_block(&document, "phases", columns, 3);
 *
 *      rps_put_int(block, 0, 1);
 *      rps_put_text(block, "A")->doubtful = 1;
 *      rps_put_figure(block, interval.value, &interval);
 *      rps_document_write(&document, out, RPS_FORMAT_JSON, 0);
 */
#ifndef RPISTAT_DOCUMENT_H
#define RPISTAT_DOCUMENT_H

#include <locale.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "rpistat/arena.h"
#include "rpistat/interval.h"
#include "rpistat/json.h"
#include "rpistat/run.h"

enum rps_format {
    RPS_FORMAT_TEXT,
    RPS_FORMAT_JSON,
    RPS_FORMAT_CSV,
    RPS_FORMAT_MARKDOWN, /* and all after it: the markups */
};

/* The words of enum rps_format for --format of a command that writes a document. Markups follow
 * `csv`: a new one is a word here and a row in document/to_markup.c. */
#define RPS_DOCUMENT_FORMATS "text json csv markdown html"

enum rps_value_kind {
    RPS_VALUE_TEXT,
    RPS_VALUE_TAGS,  /* keys and their values: an object of JSON */
    RPS_VALUE_BOOL,  /* users read yes and no */
    RPS_VALUE_TIME,  /* ns since 1970 */
    RPS_VALUE_BLOCK, /* a block of its own: only in JSON, an array of rows or of texts */
    RPS_VALUE_JSON,  /* text that is JSON already; only in JSON. Those below are aligned right */
    RPS_VALUE_INT,
    RPS_VALUE_NUMBER, /* users read three digits of it: "12.3 k" */
    RPS_VALUE_FIGURE, /* users read as many decimals as its size and its interval allow */
    RPS_VALUE_SHARE,
    RPS_VALUE_BYTES,
    RPS_VALUE_DURATION, /* ns */
    RPS_VALUE_CLOCK,    /* ns since the run's start */
};

struct rps_value {
    int known;         /* 0: null in JSON, empty in CSV, "-" for users */
    int doubtful;      /* 1: users read a question mark after it; a line from the filler says why */
    int64_t number;    /* BOOL, TIME, INT, BYTES, DURATION, CLOCK; of a real that is whole, all its
                          digits for programs, 0: use `real` */
    double real;       /* NUMBER, FIGURE, SHARE */
    const char *text;  /* TEXT, JSON */
    const char *words; /* text that users read instead; NULL: that of the kind */
    struct rps_interval sure; /* certainty NONE: not needed. Users read "±0.04", a range or "*", and
                                 their meaning below the table, once per document */
    double deviation;         /* standard deviation; NaN: none. Users read "sd 0.2" */
    struct rps_block *block;  /* BLOCK, TAGS (its names are the keys) */
};

/* When users see a column. */
enum rps_column_shown { RPS_SHOWN_ALWAYS, RPS_SHOWN_IF_KNOWN, RPS_SHOWN_IF_DIFFERENT };

struct rps_column {
    const char *name;    /* for programs, with its unit: "elapsed_s"; NULL: only for users */
    const char *heading; /* for users, broken into lines of 12; NULL: only for programs */
    enum rps_value_kind kind;
    const char *unit;  /* for users, after the heading; NULL or "": none */
    const char *group; /* JSON: columns are members of an object of that name, intervals of
                          `intervals`, deviations of `spread`; CSV: they are columns, NAME_metric if
                          a plain one has that name */
    int has_interval;  /* 1: programs read the interval: in CSV, of a group NAME_low and NAME_high,
                          of a plain column low, high, certainty and share after it */
    int has_deviation; /* 1: programs read it, NAME_sd in CSV; only in groups, whose columns are
                          alike in both */
    int place;         /* order for users, lowest first, then as listed */
    enum rps_column_shown shown;
    int is_id; /* 1: users type it, as a run or a process: its digits are not grouped */
    int drop;  /* the lowest above 0 is left out first if lines are short (only text) */
    int width_min;
    int width_max; /* if lines have a width: longer cells are cut; 0: as wide as it is */
};

/* A line for users, before the row of that number. */
struct rps_line {
    size_t row;
    int indent, hang; /* of the first line and of the others; hang -1: not broken */
    char *text;
};

struct rps_document;

struct rps_block {
    struct rps_document *document;
    struct rps_block *next;
    const char *name;  /* in JSON; NULL: the first row's values are members of the outer object */
    const char *title; /* rps_block_title */
    int place;         /* from 0, among the blocks, for users: lowest first, then as created */
    int indent;        /* of the table, for users */
    int fixed; /* n > 0: a table that is too wide is split into several, each with users' first n
                  columns; 0: its last column of text without a width_max is cut, down to 20 */
    int head_first;     /* 1: the first row's lines are below the headings, not above the table */
    int is_object;      /* 1: a JSON object, of the first row, not an array */
    int is_folded;      /* 1: Markdown and HTML show the title, and the rest when it is opened */
    size_t people_rows; /* last rows that are only for users: "all" */
    size_t column_count, value_count, line_count;
    struct rps_column *column;
    struct rps_value *value; /* value[row * column_count + column] */
    int *depth;              /* of each row, NULL: all 0. rps_block_depth */
    struct rps_line *line;
};

#define RPS_DOCUMENT_WIDTH 100

/* {.arena = ...}: empty. The arena is the caller's, and must live as long. */
struct rps_document {
    struct rps_arena *arena;
    struct rps_block *first, *last;
    const char *csv;   /* name of the table for CSV; NULL: the first that has a name */
    int width;         /* of tables without a terminal; 0: as wide as they are */
    int64_t period_ns; /* of the run described: times get decimals to distinguish periods, */
    int64_t length_ns; /* and hours if it has them; 0: none, lengths are printed as they are */
    locale_t locale;   /* of numbers for users; (locale_t)0: the thread's */
};

/* Add a block. `name` is constant; columns are copied, but not the data that they point to.
 * Successive blocks of one name and columns are one table for programs. */
struct rps_block *rps_document_block(struct rps_document *document, const char *name,
                                     const struct rps_column *column, size_t column_count);

/* Add a column, before the first value; its texts are copied. */
void rps_block_column(struct rps_block *block, struct rps_column column);

/* Add a member to JSON's outer object, only for programs: a block whose only value is put next. */
struct rps_block *rps_document_field(struct rps_document *document, const char *name,
                                     enum rps_value_kind kind);

/* Put the next value, in a column of the right kind. NULL and "", NaN, `known` 0 are not known. The
 * result can be changed until the next one is put. */
struct rps_value *rps_put_text(struct rps_block *block, const char *text);
struct rps_value *rps_put_int(struct rps_block *block, int64_t number, int known); /* whole kinds */
struct rps_value *rps_put_number(struct rps_block *block, double number);          /* real kinds */
struct rps_value *rps_put_figure(struct rps_block *block, double number,
                                 const struct rps_interval *sure);
struct rps_value *rps_put_tags(struct rps_block *block, const struct rps_tag *tag, int count);
void rps_put_texts(struct rps_block *block, int count, ...); /* const char * each */
/* Put so many unknown values, of which users see nothing. */
void rps_put_blanks(struct rps_block *block, int count);

/* Put a block as a value. It can be filled until the document is written, also after further
 * values. A column with the name "" makes it an array of values. */
struct rps_block *rps_put_block(struct rps_block *block, const struct rps_column *column,
                                size_t column_count);
/* Put an array of texts in the same way. */
void rps_put_list(struct rps_block *block, const char *const *text, size_t count);

/* Set the text that users read instead of the last value (printf style). */
void rps_put_words(struct rps_block *block, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Indent rows from the next value on so much deeper in users' last column of text: a tree. */
void rps_block_depth(struct rps_block *block, int depth);

/* Add text for users (printf style): a title above the whole block, or a line below the rows so
 * far. A plain line is broken only if it is wider than the terminal. Wrapped lines fit the
 * terminal, or 96 columns, with indents of the first line and of the others. */
void rps_block_title(struct rps_block *block, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void rps_block_line(struct rps_block *block, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void rps_block_wrap(struct rps_block *block, int indent, int hang, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* Add a paragraph for users: a block of one line, broken. */
void rps_document_say(struct rps_document *document, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Print words, which are printable, in lines of at most `width` columns of a terminal: the first
 * after `indent` blanks, the others after `hang`. "53 %" is one word. */
void rps_document_break(FILE *out, const char *text, int width, int indent, int hang);

static inline size_t rps_block_rows(const struct rps_block *block)
{
    return block->column_count > 0 ? block->value_count / block->column_count : 0;
}

/* Sort the rows, which have no lines between them, by a column; ties by the first column. */
void rps_block_sort(struct rps_block *block, const char *column_name, int is_descending);

/* Format times as the document does, in its arena: "00:03.2", and "42.0 s"; decimals of seconds. */
char *rps_document_clock(const struct rps_document *document, int64_t ns);
char *rps_document_duration(const struct rps_document *document, int64_t ns);
int rps_document_decimals(const struct rps_document *document);

/* Write the table as users read it into an object of JSON, for a page that builds its own. Members:
 * `head`, the headings; `right`, which columns are numbers; `rows`, the text of the cells; `notes`,
 * the meaning of marks in them. */
void rps_block_write_grid(const struct rps_block *block, struct rps_json *json);

/* Write the document; check the stream for write errors. `columns` is the width of the terminal
 * that users' text goes to; 0: none. */
void rps_document_write(const struct rps_document *document, FILE *out, enum rps_format format,
                        int columns);

#endif
