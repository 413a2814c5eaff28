/* The output of a command. The output has blocks of typed values. The blocks are filled once, and
 * then written as text for users, JSON, CSV, Markdown or HTML. Code that fills a block does not
 * depend on output formats. Code that writes a block does not depend on runs.
 *
 * A block is a table; for users, it may have lines of text between the rows. A block without
 * columns has only paragraphs. Values are put one by one, row by row, in the order of the columns.
 * Output for programs has the columns in this order; output for users may have another order.
 * Output for users has one block after another, separated by blank lines. Each block has a title,
 * lines and a table. Users do not see a block if no column has a heading, or if the block has
 * neither rows nor lines.
 *
 * Times are ns. Programs read seconds or ISO 8601 in UTC; users read lengths and the clock of their
 * time zone. Shares are 0 ... 1; users read percentages. SAFETY: texts may come from anyone. Only
 * the code that writes an output format makes texts harmless. Everything is copied into the
 * document's arena. Therefore, no function fails, and the caller releases only the arena.
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
 *      rps_document_write(&document, out, RPS_FORMAT_JSON, 0); */
#pragma once

#include <locale.h>
#include <stdint.h>
#include <stdio.h>

#include "rpistat/interval.h"
#include "rpistat/json.h"
#include "rpistat/run.h"

enum rps_format {
    RPS_FORMAT_TEXT,
    RPS_FORMAT_JSON,
    RPS_FORMAT_CSV,
    RPS_FORMAT_MARKDOWN, /* First of the markup formats, which are at the end of the list */
    RPS_FORMAT_HTML,
};

/* The words of enum rps_format for the option --format of a command that writes a document. Markup
 * formats follow `csv`. A new markup format needs a word here and a row in document/to_markup.c. */
#define RPS_DOCUMENT_FORMATS "text json csv markdown html"

/* The member `format` of each JSON object, also in schema/output.schema.json. Increase it when a
 * member is removed or changes its meaning, but not for a new member. */
#define RPS_DOCUMENT_JSON_VERSION 1

enum rps_value_kind {
    RPS_VALUE_TEXT,
    RPS_VALUE_TAGS,  /* Keys and their values, as a JSON object */
    RPS_VALUE_BOOL,  /* Yes or no in text for users */
    RPS_VALUE_TIME,  /* Time in ns since 1970 */
    RPS_VALUE_BLOCK, /* Nested block, only in JSON: an array of rows or of texts */
    RPS_VALUE_JSON,  /* Text that is already JSON, only in JSON; kinds below align right */
    RPS_VALUE_INT,
    RPS_VALUE_NUMBER, /* Number with three digits for users: "12.3 k" */
    RPS_VALUE_FIGURE, /* Number with as many decimals as its size and interval allow */
    RPS_VALUE_SHARE,
    RPS_VALUE_BYTES,
    RPS_VALUE_DURATION, /* Duration in ns */
    RPS_VALUE_CLOCK,    /* Time in ns since the start of the run */
};

struct rps_value {
    int known;         /* 0 if unknown: null in JSON, empty in CSV, "-" for users */
    int doubtful;      /* 1: users see a question mark, and a line that explains it */
    int64_t number;    /* Value of BOOL, TIME, INT, BYTES, DURATION, CLOCK. For programs, also
                          all digits of a real number without a fraction (0: use `real`). */
    double real;       /* Value of NUMBER, FIGURE, SHARE */
    const char *text;  /* Value of TEXT, JSON */
    const char *words; /* Text for users instead of the value (NULL: formatted by kind) */
    struct rps_interval sure; /* Interval of the value (certainty NONE: not needed). Users read
                                 "±0.04", a range, or "*" with one explanation per document. */
    double deviation;         /* Standard deviation (NaN: none), "sd 0.2" for users */
    struct rps_block *block;  /* Value of BLOCK or TAGS; for TAGS, the column names are the keys */
};

/* Condition under which users see a column. */
enum rps_column_shown { RPS_SHOWN_ALWAYS, RPS_SHOWN_IF_KNOWN, RPS_SHOWN_IF_DIFFERENT };

struct rps_column {
    const char *name;    /* Name for programs, with its unit: "elapsed_s" (NULL: only for users) */
    const char *heading; /* Heading for users, in lines of 12 characters (NULL: programs only) */
    enum rps_value_kind kind;
    const char *unit;  /* Unit for users, after the heading (NULL or "": none) */
    const char *group; /* Name of a JSON object that has these columns as members, with intervals
                          in `intervals` and deviations in `spread`. CSV has these columns
                          without a group. If a column NAME already exists, the column of the
                          group is NAME_metric. */
    int has_interval;  /* 1: programs read the interval. In CSV, a column of a group gets the
                          columns NAME_low and NAME_high. After a column without a group, CSV has
                          low, high, certainty and share. */
    int has_deviation; /* 1: programs read the deviation, in CSV as NAME_sd. Only for columns in
                          a group; this flag must be equal in the whole group. */
    int place;         /* Position for users, lowest number first; ties in list order */
    enum rps_column_shown shown;
    int is_id; /* 1: users type the value, such as a run ID: digits are not grouped */
    int drop;  /* If lines are too short, columns with drop above 0 are left out, lowest first. */
    int width_min;
    int width_max; /* Maximum width if lines are limited; longer cells are cut (0: none) */
};

/* A line for users, printed before row number `row`. */
struct rps_line {
    size_t row;
    int indent, hang; /* Indent of the first line, and of others (hang -1: unbroken) */
    char *text;
};

struct rps_document;

struct rps_block {
    struct rps_document *document;
    struct rps_block *next;
    const char *name;  /* Name in JSON (NULL: the outer object has the first row's values) */
    const char *title; /* Title of the block, from rps_block_title */
    int place;         /* Position for users, from 0, lowest first; ties by creation */
    int indent;        /* Indent of the table for users */
    int fixed;      /* n > 0: split a table that is too wide; each part repeats the first n columns.
                  0: cut the last text column without a width_max, down to 20 characters. */
    int head_first; /* 1: lines before the first row are below the headings, not above them */
    int is_object;  /* 1: in JSON, the block is an object made of the first row, not an array */
    int is_folded;  /* 1: Markdown and HTML show the title; a click shows the rest */
    size_t human_rows; /* Number of rows at the end that only users see, such as a row "all" */
    size_t column_count, value_count, line_count;
    struct rps_column *column;
    struct rps_value *value; /* Values of the table: value[row * column_count + column] */
    int *depth;              /* Depth of each row, from rps_block_depth (NULL: all 0) */
    struct rps_line *line;
};

#define RPS_DOCUMENT_WIDTH 100

/* A document; {.arena = ...} is empty. The caller's arena must live as long as the document. */
struct rps_document {
    struct rps_arena *arena;
    struct rps_block *first, *last;
    const char *title;   /* Title of the page (NULL: "rpistat") */
    const char *csv;     /* Name of the table for CSV (NULL: the first table with a name) */
    const char *picture; /* An <svg> element for HTML, below the first block (NULL: none) */
    int width;           /* Width of tables without a terminal (0: no limit) */
    int64_t period_ns;   /* Period of the run. Times get enough decimals to distinguish periods. */
    int64_t length_ns; /* Length of the run, which decides if times show hours (0: plain lengths) */
    locale_t locale;   /* Locale of numbers for users; (locale_t)0: the thread's locale */
};

/* Add a block. `name` is constant. The columns are copied, but the texts to which they point are
 * borrowed. For programs, successive blocks with equal names and columns are one table. */
struct rps_block *rps_document_block(struct rps_document *document, const char *name,
                                     const struct rps_column *column, size_t column_count);

/* Add a column before the first value. The texts of the column are copied. */
void rps_block_column(struct rps_block *block, struct rps_column column);

/* Add a member to JSON's outer object, only for programs. The next value put is the member's. */
struct rps_block *rps_document_field(struct rps_document *document, const char *name,
                                     enum rps_value_kind kind);

/* Put the next value. The function must fit the kind of the value's column. NULL, "", NaN and
 * `known` 0 are unknown values. The caller may change the returned value until the next call. */
struct rps_value *rps_put_text(struct rps_block *block, const char *text);
struct rps_value *rps_put_int(struct rps_block *block, int64_t number, int known); /* Integers */
struct rps_value *rps_put_number(struct rps_block *block, double number);          /* Reals */
struct rps_value *rps_put_figure(struct rps_block *block, double number,
                                 const struct rps_interval *sure);
struct rps_value *rps_put_tags(struct rps_block *block, const struct rps_tag *tag, int count);
void rps_put_texts(struct rps_block *block, int count, ...); /* Each argument is a const char *. */
/* Put `count` unknown values that users do not see. */
void rps_put_blanks(struct rps_block *block, int count);

/* Put a block as a value. The new block can be filled until the document is written, also after
 * further values. In JSON, a block whose column has the name "" is an array of values. */
struct rps_block *rps_put_block(struct rps_block *block, const struct rps_column *column,
                                size_t column_count);
/* Put an array of texts as a value. */
void rps_put_list(struct rps_block *block, const char *const *text, size_t count);

/* Set the text that users read in place of the last value (printf style). */
void rps_put_words(struct rps_block *block, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* From the next value on, indent users' last text column by `depth`, to show a tree. */
void rps_block_depth(struct rps_block *block, int depth);

/* Add text for users (printf style): a title above the whole block, or a line below the rows so
 * far. A line from rps_block_line is broken only if it is wider than the terminal. A line from
 * rps_block_wrap is broken to fit the terminal or 96 columns, and has indents. */
void rps_block_title(struct rps_block *block, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void rps_block_line(struct rps_block *block, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void rps_block_wrap(struct rps_block *block, int indent, int hang, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* Add a paragraph for users, as a block with one wrapped line. */
void rps_document_print(struct rps_document *document, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Print printable words in lines of at most `width` columns of a terminal. The first line begins
 * after `indent` blanks, the other lines after `hang` blanks. "53 %" is one word. */
void rps_document_break(FILE *out, const char *text, int width, int indent, int hang);

static inline size_t rps_block_rows(const struct rps_block *block)
{
    return block->column_count > 0 ? block->value_count / block->column_count : 0;
}

/* Sort the rows by a column, and ties by the first column. No lines may be between rows. */
void rps_block_sort(struct rps_block *block, const char *column_name, int is_descending);

/* Format a time as the document does, in the document's arena ("00:03.2", "42.0 s").
 * rps_document_decimals returns the number of decimals. */
char *rps_document_clock(const struct rps_document *document, int64_t ns);
char *rps_document_duration(const struct rps_document *document, int64_t ns);
int rps_document_decimals(const struct rps_document *document);

/* Write the table as users read it into a JSON object, for a page that builds its own table.
 * Members are `head` (headings), `right` (which columns are numbers), `rows` (texts of the cells),
 * and `notes` (meaning of marks in the cells). */
void rps_block_write_grid(const struct rps_block *block, struct rps_json *json);

/* Write the document. The caller checks the stream for write errors. `columns` is the width of the
 * terminal for users' text (0: no terminal). */
void rps_document_write(const struct rps_document *document, FILE *out, enum rps_format format,
                        int columns);

/* Macros for tables in which a column and its cell are one row of a list:
 *
 *      #define COLUMNS(CELL, BY)                                           \
 *          CELL(INT, (run->run_id, 1), "run", "RUN", .place = 1)           \
 *          CELL(TEXT, (run->uuid), "uuid")                                 \
 *          BY(TIME, put_start(block, run), "start", "START", .place = 4)
 *
 * A row of the list has the kind of the values, the cell, and members of struct rps_column. From
 * the list, macros make the columns, and the calls that put a row of the table:
 *
 *      static const struct rps_column columns[] = {COLUMNS(RPS_COLUMN, RPS_COLUMN)};
 *      COLUMNS(RPS_PUT, RPS_PUT_BY)
 *
 * CELL takes the arguments of the rps_put function for the kind, except the block, which is the
 * variable `block`. A cell that does not fit the kind does not compile. BY takes any call. */

#define RPS_COLUMN(value_kind, cell, ...) {__VA_ARGS__, .kind = RPS_VALUE_##value_kind},
#define RPS_PUT(value_kind, cell, ...)    RPS_PUT_##value_kind cell;
#define RPS_PUT_BY(value_kind, call, ...) call;

#define RPS_PUT_TEXT(text)              rps_put_text(block, text)
#define RPS_PUT_TAGS(tag, count)        rps_put_tags(block, tag, count)
#define RPS_PUT_BOOL(number, known)     rps_put_int(block, number, known)
#define RPS_PUT_TIME(number, known)     rps_put_int(block, number, known)
#define RPS_PUT_INT(number, known)      rps_put_int(block, (int64_t)(number), known)
#define RPS_PUT_BYTES(number, known)    rps_put_int(block, number, known)
#define RPS_PUT_DURATION(number, known) rps_put_int(block, number, known)
#define RPS_PUT_NUMBER(number)          rps_put_number(block, number)
#define RPS_PUT_SHARE(number)           rps_put_number(block, number)
#define RPS_PUT_FIGURE(number, sure)    rps_put_figure(block, number, sure)

/* Formats of intervals for users. */

#define RPS_INTERVAL_TEXT_SIZE 96

/* Return 1 if the interval is within a fifth of the value. Such an interval is printed as "± x",
 * and any other interval with both ends. */
int rps_interval_is_narrow(const struct rps_interval *interval);

/* Round an end of an interval for printing to `digits` significant digits and at most `decimals`
 * decimals. The end is rounded outwards, so that the printed interval contains the computed one. */
double rps_interval_round(double end, int digits, int decimals, int is_high);

/* Round an end of an interval to nine digits, for JSON and CSV. Return NaN if there is no end. */
double rps_interval_end(const struct rps_interval *interval, int is_high);

/* Format the distance from the value to the farther end of the interval, in % of the value:
 * "± 2.1 %". ret has RPS_INTERVAL_TEXT_SIZE bytes. */
char *rps_interval_percent(char *ret, const struct rps_interval *interval);

/* Format a share: "12 %", or near 1 "99.95 %", never 100. ret has RPS_INTERVAL_TEXT_SIZE bytes. */
char *rps_interval_share(char *ret, double share);

/* Format the reason why an interval is missing: "rare bursts", "none seen in 26 % of the time", ...
 * Format "" if no interval is missing. Return ret (RPS_INTERVAL_TEXT_SIZE bytes). */
char *rps_interval_words(char *ret, const struct rps_interval *interval);
