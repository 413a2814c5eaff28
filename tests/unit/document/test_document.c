/* Tests of documents: one set of values, written as text, JSON and CSV. */
#include "rpistat/arena.h"
#include "rpistat/document.h"

#include <locale.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define S 1000000000LL

static const struct rps_column columns[] = {
    {"run", "RUN", RPS_VALUE_INT, .place = 1},
    {"command", "COMMAND", .place = 9},
    {"label", "LABEL", .place = 2, .width_max = 8},
    {"host", "HOST", .place = 3, .shown = RPS_SHOWN_IF_DIFFERENT, .drop = 2},
    {"tags", "TAGS", RPS_VALUE_TAGS, .place = 4, .shown = RPS_SHOWN_IF_KNOWN},
    {"good", .kind = RPS_VALUE_BOOL},
    {"start", .kind = RPS_VALUE_TIME},
    {"elapsed_s", "ELAPSED", RPS_VALUE_DURATION, .place = 5, .drop = 1},
    {"bytes", "SIZE", RPS_VALUE_BYTES, .place = 6},
    {"rate", .kind = RPS_VALUE_NUMBER},
    {"argv", .kind = RPS_VALUE_BLOCK},
    {NULL, "COUNTED", .place = 7, .drop = 3},
};

static struct rps_block *new_block(struct rps_document *document)
{
    return rps_document_block(document, "runs", columns, sizeof(columns) / sizeof(columns[0]));
}

/* Put a row. If `known` is 0, the optional values are unknown. */
static void put(struct rps_block *block, int64_t run, const char *label, const char *host,
                int known)
{
    static char a[] = "a", one[] = "1", b[] = "b", xy[] = "x,y";
    struct rps_tag tag[] = {{a, one}, {b, xy}};
    const char *argv[] = {"./naive", "-n", "\x1b"};

    rps_put_int(block, run, 1);
    rps_put_text(block, "./naive");
    rps_put_text(block, label);
    rps_put_text(block, host);
    rps_put_tags(block, tag, known ? 2 : 0);
    rps_put_int(block, 1, known);
    rps_put_int(block, 1372259553 * S, known);
    rps_put_int(block, 3 * S / 2, known);
    rps_put_int(block, 1536, known);
    rps_put_number(block, known ? 0.25 : NAN);
    rps_put_list(block, argv, known ? 3 : 0);
    rps_put_text(block, "sim");
}

/* Write a document, begin an empty document, and compare the end. */
static void assert_ends(struct rps_document *document, enum rps_format format, int terminal,
                        const char *expected, int is_all)
{
    static struct rps_arena *arena; /* memory of the empty document, which tests need not free */
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    assert_non_null(out);
    rps_document_write(document, out, format, terminal);
    fclose(out);
    if (arena != document->arena)
        rps_arena_free(arena);
    rps_arena_free(document->arena);
    arena = rps_arena_new();
    *document = (struct rps_document){.arena = arena};
    if (!is_all && size > strlen(expected))
        assert_string_equal(text + size - strlen(expected), expected);
    else
        assert_string_equal(text, expected);
    free(text);
}

static void assert_written(struct rps_document *document, enum rps_format format, int terminal,
                           const char *expected)
{
    assert_ends(document, format, terminal, expected, 1);
}

static void test_human(void **state)
{
    struct rps_document document = {.arena = rps_arena_new()};
    struct rps_block *block = new_block(&document);

    (void)state;
    put(block, 1, "nightly \x1b", "web", 1);
    put(block, 10, NULL, "web", 0);
    rps_put_words(block, "%s", "another");
    assert_written(&document, RPS_FORMAT_TEXT, 0,
                   "RUN  LABEL         TAGS       ELAPSED     SIZE  COUNTED  COMMAND\n"
                   "  1  nightly \\x1b  a=1 b=x,y  1.500 s  1.5 KiB  sim      ./naive\n"
                   " 10  -             -                -        -  another  ./naive\n");
}

static void test_hosts(void **state)
{
    struct rps_document document = {.arena = rps_arena_new()};
    struct rps_block *block = new_block(&document);

    (void)state;
    put(block, 1, "a", "web", 0);
    put(block, 2, "b", NULL, 0);
    assert_written(&document, RPS_FORMAT_TEXT, 0,
                   "RUN  LABEL  HOST  ELAPSED  SIZE  COUNTED  COMMAND\n"
                   "  1  a      web         -     -  sim      ./naive\n"
                   "  2  b      -           -     -  sim      ./naive\n");
    put(new_block(&document), 1, "a", "web", 1); /* all rows have the same host, and have tags */
    assert_written(&document, RPS_FORMAT_TEXT, 0,
                   "RUN  LABEL  TAGS       ELAPSED     SIZE  COUNTED  COMMAND\n"
                   "  1  a      a=1 b=x,y  1.500 s  1.5 KiB  sim      ./naive\n");
}

static void test_terminal(void **state)
{
    struct rps_document document = {.arena = rps_arena_new()};
    struct rps_block *block;

    (void)state;
    block = new_block(&document);
    put(block, 1, "a long label", "web", 0);
    put(block, 2, "\u6f22\u6f22\u6f22\u6f22\u6f22", "db", 0);
    assert_written(&document, RPS_FORMAT_TEXT, 62,
                   "RUN  LABEL     HOST  SIZE  COUNTED  COMMAND\n"
                   "  1  a lon...  web      -  sim      ./naive\n"
                   "  2  \u6f22\u6f22...   db       -  sim      ./naive\n");
    block = new_block(&document);
    put(block, 1, "a long label", "web", 0);
    put(block, 2, "b", "db", 0);
    assert_written(&document, RPS_FORMAT_TEXT, 20,
                   "RUN  LABEL     SIZE  COMMAND\n"
                   "  1  a lon...     -  ./naive\n"
                   "  2  b            -  ./naive\n");
}

static void test_json(void **state)
{
    struct rps_document document = {.arena = rps_arena_new()};
    struct rps_block *block;

    (void)state;
    rps_put_text(rps_document_field(&document, "store", RPS_VALUE_TEXT), "x.data");
    put(new_block(&document), 1, "a", NULL, 1);
    block = new_block(&document); /* this block continues the table */
    put(block, 2, NULL, NULL, 0);
    rps_block_line(block, "For people.");
    rps_put_int(rps_document_field(&document, "sound", RPS_VALUE_BOOL), 0, 1);
    assert_written(
        &document, RPS_FORMAT_JSON, 0,
        "{\n  \"format\": 1,\n  \"store\": \"x.data\",\n  \"runs\": [\n"
        "    {\"run\": 1, \"command\": \"./naive\", \"label\": \"a\", \"host\": null, "
        "\"tags\": {\"a\": \"1\", \"b\": \"x,y\"}, \"good\": true, "
        "\"start\": \"2013-06-26T15:12:33.000Z\", \"elapsed_s\": 1.5, \"bytes\": 1536, "
        "\"rate\": 0.25, \"argv\": [\"./naive\", \"-n\", \"\\u001b\"]},\n"
        "    {\"run\": 2, \"command\": \"./naive\", \"label\": null, \"host\": null, "
        "\"tags\": {}, \"good\": null, \"start\": null, \"elapsed_s\": null, \"bytes\": null, "
        "\"rate\": null, \"argv\": []}\n  ],\n"
        "  \"sound\": false\n}\n");
}

static void test_csv(void **state)
{
    static const char head[] = "run,command,label,host,tags,good,start,elapsed_s,bytes,rate\n";
    static const struct rps_column other = {.name = "other"};
    struct rps_document document = {.arena = rps_arena_new()};
    char expected[512];

    (void)state;
    rps_put_text(rps_document_field(&document, "store", RPS_VALUE_TEXT), "x.data");
    put(new_block(&document), 1, "=a", NULL, 1);
    put(new_block(&document), 2, NULL, NULL, 0);
    rps_put_text(rps_document_block(&document, "others", &other, 1), "not in a CSV");
    snprintf(
        expected, sizeof(expected), "%s%s", head,
        "1,./naive,\"'=a\",,\"a=1;b=x,y\",true,2013-06-26T15:12:33.000Z,1.500000000,1536,0.25\n"
        "2,./naive,,,,,,,,\n");
    assert_written(&document, RPS_FORMAT_CSV, 0, expected);
    new_block(&document);
    assert_written(&document, RPS_FORMAT_CSV, 0, head);
}

static void test_lines(void **state)
{
    static const struct rps_column bare[] = {{"name", .heading = ""},
                                             {"yes", "", .kind = RPS_VALUE_BOOL}};
    struct rps_document document = {.arena = rps_arena_new()};
    struct rps_block *block = rps_document_block(&document, "later", bare, 2);

    (void)state;
    block->place = 1;
    block->indent = 2;
    rps_block_title(block, "Later \x1b");
    rps_put_text(block, "cycles");
    rps_put_int(block, 1, 1);
    rps_block_wrap(block, 4, 4, "%s", "  what a row  means, in 20 columns (1,153 %) all 3 s ");
    rps_put_text(block, "a");
    rps_put_int(block, 0, 1);
    rps_block_line(block, "As long as it is, but on a terminal.");
    block = rps_document_block(&document, "first", bare, 2);
    rps_block_title(block, "First");
    assert_written(&document, RPS_FORMAT_TEXT, 20,
                   "First\n\nLater \\x1b\n"
                   "  cycles  yes\n"
                   "    what a row\n    means, in 20\n    columns\n    (1,153 %) all\n    3 s\n"
                   "  a       no\n"
                   "As long as it is,\n  but on a terminal.\n");
}

static const struct rps_interval surely = {RPS_CERTAINTY_INTERVAL, 2, 1.96, 2.04, .5};
static const struct rps_interval widely = {RPS_CERTAINTY_INTERVAL, 2, 1.2, 3.8, .5};
static const struct rps_interval exactly = {RPS_CERTAINTY_INTERVAL, 2, 2 - 1e-9, 2 + 1e-9, .5};
static const struct rps_interval rarely = {RPS_CERTAINTY_BURSTS, 2, NAN, NAN, .5};

/* Put two phases of a run with values of all types, and a row that only the text shows. */
static void put_phases(struct rps_document *document)
{
    static const struct rps_column phase_columns[] = {
        {"phase", .kind = RPS_VALUE_INT},
        {"label", "Phase", .place = 1},
        {"start_s", "Start", RPS_VALUE_CLOCK, .place = 2},
        {"length_s", "Length", RPS_VALUE_DURATION, .place = 3},
        {"share", "Share", RPS_VALUE_SHARE, .place = 4},
        {"cpi", "CPI", RPS_VALUE_FIGURE, .group = "figures", .has_interval = 1, .has_deviation = 1,
         .place = 6},
        {"share", "L1 data cache misses", RPS_VALUE_FIGURE, .unit = "%", .group = "figures",
         .has_interval = 1, .has_deviation = 1, .place = 5, .drop = 1},
    };
    struct rps_block *block = rps_document_block(document, "phases", phase_columns, 7);

    document->period_ns = S / 10;
    document->length_ns = 20 * S;
    block->indent = 2;
    block->fixed = 1;
    block->human_rows = 1;
    for (int i = 0; i < 2; i++) {
        rps_put_int(block, i, 1);
        rps_put_text(block, i == 0 ? "A" : "B")->doubtful = i;
        rps_put_int(block, i * 5 * S, 1);
        rps_put_int(block, (5 + 10 * i) * S, 1);
        rps_put_number(block, i == 0 ? .25 : .75);
        rps_put_figure(block, 2, i == 0 ? &surely : &widely);
        rps_put_figure(block, i == 0 ? 12.345 : NAN, &rarely)->deviation = i == 0 ? 0.5 : NAN;
    }
    rps_put_blanks(block, 1);
    rps_put_text(block, "all");
    rps_put_blanks(block, 1);
    rps_put_int(block, 20 * S, 1);
    rps_put_blanks(block, 1);
    rps_put_figure(block, 2, &exactly);
    rps_put_blanks(block, 1);
    rps_block_line(block, "Below.");
}

/* If the fixed columns are too wide, the first column is cut on a terminal. An omitted column does
 * not start another part of the table. */
static void put_narrow(struct rps_document *document)
{
    static const struct rps_column narrow[] = {
        {"label", "Phase", .place = 1},
        {"length_s", "Length", RPS_VALUE_DURATION, .place = 2},
        {"cpi", "CPI", RPS_VALUE_FIGURE, .group = "figures", .place = 3, .drop = 2},
        {"faults", "Faults", RPS_VALUE_FIGURE, .group = "figures", .place = 4, .drop = 1},
    };
    struct rps_block *block = rps_document_block(document, "phases", narrow, 4);

    block->indent = 2;
    block->fixed = 2;
    rps_put_text(block, "A with_a_name_that_is_longer_than_a_line");
    rps_put_int(block, 5 * S, 1);
    rps_put_figure(block, 2, &exactly);
    rps_put_figure(block, 2, &exactly);
}

static void test_narrow(void **state)
{
    struct rps_document document = {.arena = rps_arena_new()};

    (void)state;
    put_narrow(&document);
    assert_written(&document, RPS_FORMAT_TEXT, 36,
                   "  Phase                       Length\n"
                   "  A with_a_name_that_is_...  5.000 s\n");
}

/* Without a terminal, nothing is cut, and the same columns are omitted. */
static void test_file(void **state)
{
    static const struct rps_column function[] = {
        {"self", "Self", RPS_VALUE_INT, .place = 1, .drop = 1},
        {"module", "Module", .place = 2, .width_max = 8},
        {"name", "Function", .place = 3},
    };
    struct rps_document document = {.arena = rps_arena_new(), .width = 36};
    struct rps_block *block;

    (void)state;
    block = rps_document_block(&document, "code", function, 3);
    rps_put_int(block, 5, 1);
    rps_put_text(block, "libsomething.so");
    rps_put_text(block, "a_name_that_is_longer_than_a_line_of_36");
    assert_written(&document, RPS_FORMAT_TEXT, 0,
                   "Self  Module           Function\n"
                   "   5  libsomething.so  a_name_that_is_longer_than_a_line_of_36\n");
    document = (struct rps_document){.arena = rps_arena_new(), .width = 36};
    put_narrow(&document);
    assert_written(&document, RPS_FORMAT_TEXT, 0,
                   "  Phase                                      Length\n"
                   "  A with_a_name_that_is_longer_than_a_line  5.000 s\n");
}

static void test_figures(void **state)
{
    struct rps_document document = {.arena = rps_arena_new()};

    (void)state;
    put_phases(&document);
    rps_document_print(&document, "The end.");
    assert_written(
        &document, RPS_FORMAT_TEXT, 0,
        "                                          L1 data\n"
        "                                     cache misses\n"
        "  Phase    Start  Length   Share              (%)             CPI\n"
        "  A      00:00.0   5.0 s  25.0 %  12.35 * sd 0.50      2.00 \u00b10.04\n"
        "  B?     00:05.0  15.0 s  75.0 %                -  2.00 (1.2-3.8)\n"
        "  all             20.0 s                             2.000 \u00b10.001\n"
        "Below.\n"
        "\n\u00b1 and ranges: 95 % intervals of metrics that were counted in rotation\n"
        "\n*: counted in rotation, without an interval: too rare, in too few periods, or "
        "not at the start of the run\n"
        "\nThe end.\n");
    put_phases(&document);
    assert_written(
        &document, RPS_FORMAT_TEXT, 30,
        "  Phase    Start  Length\n"
        "  A      00:00.0   5.0 s\n"
        "  B?     00:05.0  15.0 s\n"
        "  all             20.0 s\n"
        "\n"
        "  Phase   Share\n"
        "  A      25.0 %\n"
        "  B?     75.0 %\n"
        "  all\n"
        "\n"
        "  Phase             CPI\n"
        "  A          2.00 \u00b10.04\n"
        "  B?     2.00 (1.2-3.8)\n"
        "  all      2.000 \u00b10.001\n"
        "Below.\n"
        "\n\u00b1 and ranges: 95 % intervals of metrics that were counted in rotation\n");
}

/* A column without known values is not shown, even if it has texts. */
static void test_unknown(void **state)
{
    static const struct rps_column unknown[] = {
        {"name", "Name", .kind = RPS_VALUE_TEXT},
        {"never", "Never", RPS_VALUE_NUMBER, .shown = RPS_SHOWN_IF_KNOWN},
        {"rarely", "Rarely", RPS_VALUE_NUMBER, .shown = RPS_SHOWN_IF_KNOWN}};
    struct rps_document document = {.arena = rps_arena_new()};
    struct rps_block *block = rps_document_block(&document, "rows", unknown, 3);

    (void)state;
    rps_put_text(block, "a");
    rps_put_number(block, NAN);
    rps_put_number(block, NAN);
    rps_put_text(block, "all");
    rps_put_blanks(block, 1);
    rps_put_number(block, 2);
    block->human_rows = 1;
    assert_written(&document, RPS_FORMAT_TEXT, 0, "Name  Rarely\na          -\nall        2\n");
}

/* The printed interval contains the exact interval, and never begins above the value. */
static void test_outwards(void **state)
{
    static const struct rps_interval near = {RPS_CERTAINTY_INTERVAL, 2, 1.98999, 2.0001, .5};
    static const struct rps_interval wide = {RPS_CERTAINTY_INTERVAL, 2, 1.2399, 3.8401, .5};
    static const struct rps_interval large = {RPS_CERTAINTY_INTERVAL, 1234567891, 1234567889.5,
                                              1234567891.5, .5};
    static const struct rps_interval begun = {RPS_CERTAINTY_START, 2, 1.5, NAN, .5};
    static const struct rps_interval none = {RPS_CERTAINTY_START, 0, 0, NAN, .5};
    static const struct rps_column figure[] = {
        {"value", "Value", RPS_VALUE_FIGURE, .has_interval = 1}};
    static const struct rps_interval *const interval[] = {&near, &wide, &large, &begun};
    struct rps_document document = {.arena = rps_arena_new()};
    char text[RPS_INTERVAL_TEXT_SIZE];

    (void)state;
    for (int turn = 0; turn < 2; turn++) {
        struct rps_block *block = rps_document_block(&document, "rows", figure, 1);

        for (size_t i = 0; i < 4; i++)
            rps_put_figure(block, interval[i]->value, interval[i])->number =
                interval[i] == &large ? 1234567891 : 0;
        if (turn == 0)
            assert_written(&document, RPS_FORMAT_CSV, 0,
                           "value,low,high,certainty,share\n"
                           "2,1.98999,2.0001,interval,0.5\n"
                           "2,1.2399,3.8401,interval,0.5\n"
                           "1234567891,1.23456788e+09,1.2345679e+09,interval,0.5\n"
                           "2,1.5,,start not counted,0.5\n");
    }
    assert_written(
        &document, RPS_FORMAT_TEXT, 0,
        "           Value\n"
        "      2.00 \u00b10.02\n"
        "2.00 (1.23-3.85)\n"
        "      1.2e+09 \u00b12\n"
        "         2.000 *\n"
        "\n\u00b1 and ranges: 95 % intervals of metrics that were counted in rotation\n"
        "\n*: counted in rotation, without an interval: too rare, in too few periods, or not at "
        "the start of the run\n");
    assert_string_equal(rps_interval_percent(text, &near), "\u00b1 0.51 %");
    assert_string_equal(rps_interval_words(text, &begun), "its start was not counted");
    assert_string_equal(rps_interval_words(text, &none), "none seen; its start was not counted");
    assert_true(rps_interval_round(1239, 3, 0, 0) == 1230 &&
                rps_interval_round(1239, 3, 0, 1) == 1240);
    assert_true(rps_interval_round(1240, 3, 0, 0) == 1240 &&
                rps_interval_round(1240, 3, 0, 1) == 1240);
    assert_false(signbit(rps_interval_round(1e-12, 15, 3, 1))); /* no "±-0" is printed */
    assert_true(rps_interval_round(7.5, 3, 0, 0) == 7 && rps_interval_round(-7.5, 3, 0, 0) == -8);
    assert_true(rps_interval_round(0, 3, 0, 0) == 0 && isnan(rps_interval_round(NAN, 3, 0, 0)));
}

static void test_groups(void **state)
{
    struct rps_document document = {.arena = rps_arena_new()};

    (void)state;
    put_phases(&document);
    assert_written(
        &document, RPS_FORMAT_JSON, 0,
        "{\n  \"format\": 1,\n  \"phases\": [\n    {\"phase\": 0, \"label\": \"A\", \"start_s\": "
        "0, "
        "\"length_s\": 5, \"share\": 0.25, \"figures\": {\"cpi\": 2, \"share\": 12.345}, "
        "\"intervals\": {\"cpi\": {\"low\": 1.96, \"high\": 2.04, \"certainty\": "
        "\"interval\"}, \"share\": {\"low\": null, \"high\": null, \"certainty\": "
        "\"rare bursts\"}}, \"spread\": {\"cpi\": null, \"share\": 0.5}},\n"
        "    {\"phase\": 1, \"label\": \"B\", \"start_s\": 5, "
        "\"length_s\": 15, \"share\": 0.75, \"figures\": {\"cpi\": 2, \"share\": null}, "
        "\"intervals\": {\"cpi\": {\"low\": 1.2, \"high\": 3.8, \"certainty\": "
        "\"interval\"}, \"share\": {\"low\": null, \"high\": null, \"certainty\": "
        "\"rare bursts\"}}, \"spread\": {\"cpi\": null, \"share\": null}}\n  ]\n}\n");
    put_phases(&document);
    assert_written(&document, RPS_FORMAT_CSV, 0,
                   "phase,label,start_s,length_s,share,cpi,share_metric,cpi_low,cpi_high,"
                   "share_low,share_high,cpi_sd,share_sd\n"
                   "0,A,0.000000000,5.000000000,0.25,2,12.345,1.96,2.04,,,,0.5\n"
                   "1,B,5.000000000,15.000000000,0.75,2,,1.2,3.8,,,,\n");
}

/* Nested values are written: intervals, an object, named paragraphs, a tree. */
static void test_nested(void **state)
{
    static const struct rps_column outer[] = {
        {"name", .heading = "Name"},
        {"value", .kind = RPS_VALUE_NUMBER, .has_interval = 1},
        {"inner", .kind = RPS_VALUE_BLOCK},
        {"given", .kind = RPS_VALUE_JSON}};
    static const struct rps_column number[] = {{"", .kind = RPS_VALUE_INT}};
    struct rps_document document = {.arena = rps_arena_new()};

    (void)state;
    for (int turn = 0; turn < 3; turn++) {
        struct rps_block *block = rps_document_block(&document, "rows", outer, 4), *inner;

        rps_put_text(block, "top");
        rps_put_figure(block, 2, &surely);
        inner = rps_put_block(block, number, 1);
        rps_put_text(block, "[1]");
        rps_put_int(inner, 7, 1);
        rps_put_int(inner, 8, 1);
        rps_block_depth(block, 1);
        rps_put_text(block, "below");
        rps_put_number(block, NAN);
        rps_put_block(block, outer, 1);
        rps_put_text(block, NULL);
        rps_document_block(&document, "remarks", NULL, 0);
        rps_block_line(document.last, "One.");
        rps_document_block(&document, "run", outer, 1)->is_object = 1;
        rps_put_text(document.last, "x");
        document.last->column[0].heading = NULL;
        if (turn == 0)
            assert_written(
                &document, RPS_FORMAT_JSON, 0,
                "{\n  \"format\": 1,\n  \"rows\": [\n    {\"name\": \"top\", \"value\": 2, "
                "\"low\": 1.96, "
                "\"high\": 2.04, \"certainty\": \"interval\", \"share\": 0.5, "
                "\"inner\": [7, 8], \"given\": [1]},\n"
                "    {\"name\": \"below\", \"value\": null, \"low\": null, \"high\": null, "
                "\"certainty\": null, \"share\": null, \"inner\": [], \"given\": null}\n  ],\n"
                "  \"remarks\": [\"One.\"],\n  \"run\": {\n    \"name\": \"x\"\n  }\n}\n");
        else if (turn == 1)
            assert_written(&document, RPS_FORMAT_CSV, 0,
                           "name,value,low,high,certainty,share\ntop,2,1.96,2.04,interval,0.5\n"
                           "below,,,,,\n");
        else
            assert_written(&document, RPS_FORMAT_TEXT, 0, "Name\ntop\n  below\n\nOne.\n");
    }
}

static void put_markup(struct rps_document *document)
{
    static const struct rps_column two[] = {{"a", .heading = "A_b"},
                                            {"n", "N", RPS_VALUE_INT, .unit = "<s>"}};
    struct rps_block *block = rps_document_block(document, "a", two, 2);

    rps_block_title(block, "Of &x");
    rps_block_line(block, "One.");
    rps_block_line(block, "@two");
    rps_put_text(block, "  in|side");
    rps_put_int(block, 1, 1);
    rps_block_line(block, "between");
    rps_put_text(block, "<b>");
    rps_put_int(block, 2, 0);
    block = rps_document_block(document, NULL, NULL, 0);
    block->is_folded = 1;
    rps_block_title(block, "More");
    rps_block_line(block, "Last \x1b");
}

static void test_markup(void **state)
{
    struct rps_document document = {.arena = rps_arena_new()};

    (void)state;
    put_markup(&document);
    assert_written(&document, RPS_FORMAT_MARKDOWN, 0,
                   "### Of \\&x\n\n- One.\n- @<!-- -->two\n\n"
                   "| A\\_b | N (\\<s\\>) |\n| :-- | --: |\n"
                   "| &nbsp;&nbsp;in\\|side | 1 |\n| between |\n| \\<b\\> | - |\n\n"
                   "<details><summary>More</summary>\n\nLast \\\\x1b\n\n</details>\n");
    put_markup(&document);
    assert_ends(
        &document, RPS_FORMAT_MARKDOWN + 1, 0,
        "<h2>Of &amp;x</h2>\n\n<ul>\n<li>One.</li>\n<li>@two</li>\n</ul>\n\n"
        "<div tabindex=\"0\"><table>\n<tr><th>A_b</th><th class=\"n\">N (&lt;s&gt;)</th></tr>\n"
        "<tr><td>&nbsp;&nbsp;in|side</td><td class=\"n\">1</td></tr>\n"
        "<tr><td colspan=\"99\">between</td></tr>\n"
        "<tr><td>&lt;b&gt;</td><td class=\"n\">-</td></tr>\n</table></div>\n\n"
        "<details><summary>More</summary>\n\n<p>Last \\x1b</p>\n\n</details>\n"
        "</main></body></html>\n",
        0);
}

/* Screen readers announce an empty <th> as a heading without a name. */
static void test_heading_empty(void **state)
{
    static const struct rps_column two_columns[] = {{"a", "A", .place = 1}, {"b", "", .place = 2}};
    struct rps_document document = {.arena = rps_arena_new()};

    (void)state;
    for (int format = RPS_FORMAT_MARKDOWN; format <= RPS_FORMAT_MARKDOWN + 1; format++) {
        struct rps_block *block = rps_document_block(&document, NULL, two_columns, 2);

        rps_put_text(block, "one");
        rps_put_text(block, "two");
        assert_ends(&document, format, 0,
                    format == RPS_FORMAT_MARKDOWN
                        ? "| A |  |\n| :-- | :-- |\n| one | two |\n"
                        : "<tr><th>A</th><td></td></tr>\n<tr><td>one</td><td>two</td></tr>\n"
                          "</table></div>\n</main></body></html>\n",
                    0);
    }
}

/* Check the order of three sorted rows. `expected` lists the numbers in the first column. */
static void assert_sorted(const char *column, int is_descending, const char *expected)
{
    struct rps_document document = {.arena = rps_arena_new()};
    struct rps_block *block = new_block(&document);
    char got[4] = "";

    put(block, 1, "b", "web", 1);
    put(block, 2, "a", "web", 0);
    put(block, 3, "b", "db", 1);
    block->value[block->column_count + 7].number = -1; /* elapsed_s of the second row */
    rps_block_sort(block, column, is_descending);
    for (size_t i = 0; i < 3; i++)
        got[i] = (char)('0' + block->value[i * block->column_count].number);
    assert_string_equal(got, expected);
    rps_arena_free(document.arena);
}

static void test_sorting(void **state)
{
    (void)state;
    assert_sorted("run", 0, "123");
    assert_sorted("run", 1, "321");
    assert_sorted("label", 0, "213");
    assert_sorted("label", 1, "132");
    assert_sorted("host", 0, "312");
    assert_sorted("elapsed_s", 0, "213");
    assert_sorted("elapsed_s", 1, "132");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_human),    cmocka_unit_test(test_hosts),
        cmocka_unit_test(test_terminal), cmocka_unit_test(test_json),
        cmocka_unit_test(test_csv),      cmocka_unit_test(test_lines),
        cmocka_unit_test(test_sorting),  cmocka_unit_test(test_narrow),
        cmocka_unit_test(test_file),     cmocka_unit_test(test_figures),
        cmocka_unit_test(test_groups),   cmocka_unit_test(test_nested),
        cmocka_unit_test(test_markup),   cmocka_unit_test(test_heading_empty),
        cmocka_unit_test(test_unknown),  cmocka_unit_test(test_outwards),
    };

    setlocale(LC_CTYPE, "C.UTF-8");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
