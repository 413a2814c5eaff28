/*
 * What a command says: blocks of typed values, filled once, and written as text for people, JSON,
 * CSV, Markdown or HTML. Who fills a block knows nothing of forms, and who writes it nothing of
 * runs.
 *
 * A block is a table (columns, and values put one by one, row by row, in the columns' order, which
 * is that of programs), with lines for people between its rows; a block without columns is
 * paragraphs. People read blocks behind one another with a blank line between, each with its title,
 * its lines and its table, whose columns have an order of their own. A block that says nothing to
 * people, since no column has a heading or since it has neither rows nor lines, is not seen.
 *
 * Times are ns: programs read seconds or ISO 8601 in UTC, people lengths and the clock of their
 * zone. Shares are 0 ... 1, people read per cent. Texts may be anybody's: each form makes them
 * harmless here, and nowhere else. All is copied, into the document's arena: nothing fails, and
 * nothing is to be released but that.
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
    RPS_FORMAT_MARKDOWN, /* and what follows: the markups */
};

/* The words of enum rps_format for --format of a command that writes a document. Behind `csv` stand
 * markups: a further one is a word here and a row in document/to_markup.c. */
#define RPS_DOCUMENT_FORMATS "text json csv markdown html"

enum rps_value_kind {
    RPS_VALUE_TEXT,
    RPS_VALUE_TAGS,  /* keys and their values: an object of JSON */
    RPS_VALUE_BOOL,  /* people read yes and no */
    RPS_VALUE_TIME,  /* ns since 1970 */
    RPS_VALUE_BLOCK, /* a block of its own: JSON alone, an array of rows or of texts */
    RPS_VALUE_JSON,  /* text that is JSON already; JSON alone. Those below stand at the right */
    RPS_VALUE_INT,
    RPS_VALUE_NUMBER, /* people read three digits of it: "12.3 k" */
    RPS_VALUE_FIGURE, /* people read as many decimals as its size and its interval allow */
    RPS_VALUE_SHARE,
    RPS_VALUE_BYTES,
    RPS_VALUE_DURATION, /* ns */
    RPS_VALUE_CLOCK,    /* ns since the run's start */
};

struct rps_value {
    int known;      /* 0: null in JSON, empty in CSV, "-" for people */
    int doubtful;   /* 1: people read a question mark behind it; the filler says why in a line */
    int64_t number; /* BOOL, TIME, INT, BYTES, DURATION, CLOCK; where it is real and whole, all its
                          digits for programs, 0: `real` */
    double real;    /* NUMBER, FIGURE, SHARE */
    const char *text;         /* TEXT, JSON */
    const char *words;        /* what people read in its place; NULL: what follows of the kind */
    struct rps_interval sure; /* certainty NONE: nobody asks. People read "±0.04", a range or "*",
                                 and below the table, once a document, what these mean */
    double deviation;         /* standard deviation; NaN: none. People read "sd 0.2" */
    struct rps_block *block;  /* BLOCK, TAGS (its names are the keys) */
};

/* When people see a column. */
enum rps_column_shown { RPS_SHOWN_ALWAYS, RPS_SHOWN_IF_KNOWN, RPS_SHOWN_IF_DIFFERENT };

struct rps_column {
    const char *name;    /* for programs, with its unit: "elapsed_s"; NULL: for people alone */
    const char *heading; /* for people, broken into lines of 12; NULL: for programs alone */
    enum rps_value_kind kind;
    const char *unit;  /* for people, behind the heading; NULL or "": none */
    const char *group; /* in JSON its columns are members of an object of that name, intervals of
                            one called `intervals`, deviations of `spread`; in CSV they are columns,
                            NAME_metric where a plain one has that name already */
    int has_interval;  /* 1: programs read the interval: of a group NAME_low and NAME_high in CSV,
                            of a plain column low, high, certainty and share behind it */
    int has_deviation; /* 1: programs read it, NAME_sd in CSV; in groups alone, whose columns
                            are alike in both */
    int place;         /* people's order, the least first, then as they stand */
    enum rps_column_shown shown;
    int is_id; /* 1: users type it, as a run or a process: its digits are not grouped */
    int drop;  /* the least above 0 is left out first where lines are short (text alone) */
    int width_min;
    int width_max; /* where lines have a width: longer cells are cut; 0: as wide as it is */
};

/* A line for people, before the row of that number. */
struct rps_line {
    size_t row;
    int indent, hang; /* of the first line and of the others; hang -1: it is not broken */
    char *text;
};

struct rps_document;

struct rps_block {
    struct rps_document *document;
    struct rps_block *next;
    const char *name;  /* in JSON; NULL: the first row's values are members of the object around */
    const char *title; /* rps_block_title */
    int place;  /* from 0, among the blocks, for people: the least first, then as they were made */
    int indent; /* of the table, for people */
    int fixed;  /* n > 0: a table that is too wide is broken into several, which all begin with
                   people's first n columns; 0: its last column of text without a width_max is cut,
                   down to 20 */
    int head_first;     /* 1: the first row's lines stand below the headings, not above the table */
    int is_object;      /* 1: an object of JSON, of the first row, and no array */
    int is_folded;      /* 1: Markdown and HTML show the title, and the rest when it is opened */
    size_t people_rows; /* last rows that are for people alone: "all" */
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
    const char *csv; /* name of the table that a CSV is; NULL: the first that has a name */
    int width;       /* of tables where there is no terminal; 0: as wide as they are */
    int64_t
        period_ns; /* of the run that is spoken of: times have decimals to tell periods apart, */
    int64_t length_ns; /* and hours where it has them; 0: none, lengths are said as they are */
    locale_t locale;   /* of numbers for people; (locale_t)0: the thread's */
};

/* A new block. `name` is constant, the columns are copied (what they point to is not). Blocks of
 * one name and columns behind one another are one table for programs. */
struct rps_block *rps_document_block(struct rps_document *document, const char *name,
                                     const struct rps_column *column, size_t column_count);

/* A further column, before the first value; its texts are copied. */
void rps_block_column(struct rps_block *block, struct rps_column column);

/* A member of JSON's outer object, for programs alone: a block whose only value is put next. */
struct rps_block *rps_document_field(struct rps_document *document, const char *name,
                                     enum rps_value_kind kind);

/* Put the next value, of a column of the right kind. Not known: NULL and "", NaN, `known` 0. What
 * is returned can be changed until the next one is put. */
struct rps_value *rps_put_text(struct rps_block *block, const char *text);
struct rps_value *rps_put_int(struct rps_block *block, int64_t number, int known); /* all whole */
struct rps_value *rps_put_number(struct rps_block *block, double number); /* all that are real */
struct rps_value *rps_put_figure(struct rps_block *block, double number,
                                 const struct rps_interval *sure);
struct rps_value *rps_put_tags(struct rps_block *block, const struct rps_tag *tag, int count);
void rps_put_texts(struct rps_block *block, int count, ...); /* const char * each */
/* So many that are not known, and of which people see nothing. */
void rps_put_blanks(struct rps_block *block, int count);

/* Put a block as a value: to be filled before the document is written, behind further values or
 * before. A column with the name "" makes it an array of values. */
struct rps_block *rps_put_block(struct rps_block *block, const struct rps_column *column,
                                size_t column_count);
/* The same, of texts. */
void rps_put_list(struct rps_block *block, const char *const *text, size_t count);

/* What people read in place of the last value (printf style). */
void rps_put_words(struct rps_block *block, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Rows from the next value on stand so much deeper in people's last column of text: a tree. */
void rps_block_depth(struct rps_block *block, int depth);

/* For people (printf style): what stands above all of the block; a line below the rows so far, as
 * it is but for what a terminal would break; the same broken to the terminal's width, or 96 columns,
 * with these indents of its first line and of the others. */
void rps_block_title(struct rps_block *block, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void rps_block_line(struct rps_block *block, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void rps_block_wrap(struct rps_block *block, int indent, int hang, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* A paragraph for people: a block of one line, broken. */
void rps_document_say(struct rps_document *document, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Print words, which are printable, in lines of at most `width` columns of a terminal: the first
 * behind `indent` blanks, the others behind `hang`. "53 %" is one word. */
void rps_document_break(FILE *out, const char *text, int width, int indent, int hang);

static inline size_t rps_block_rows(const struct rps_block *block)
{
    return block->column_count > 0 ? block->value_count / block->column_count : 0;
}

/* Put the rows, which have no lines between them, into the order of a column, and those that are
 * equal into that of the first. */
void rps_block_sort(struct rps_block *block, const char *column_name, int is_descending);

/* Times as the document says them, in its arena: "00:03.2", and "42.0 s"; decimals of seconds. */
char *rps_document_clock(const struct rps_document *document, int64_t ns);
char *rps_document_duration(const struct rps_document *document, int64_t ns);
int rps_document_decimals(const struct rps_document *document);

/* Write the table as people read it into an object of JSON, for a page that makes its own of it:
 * `head`, the headings; `right`, which columns are numbers; `rows`, the words of the cells; `notes`,
 * what marks in them mean. */
void rps_block_write_grid(const struct rps_block *block, struct rps_json *json);

/* Write it; the stream is to be asked whether all could be. `columns` are those of the terminal
 * that people's text goes to; 0: none. */
void rps_document_write(const struct rps_document *document, FILE *out, enum rps_format format,
                        int columns);

#endif
