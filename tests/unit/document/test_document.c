/* Documents: one filling, and what it says to people, as JSON and as CSV. */
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
    {"bytes", "SIZE", RPS_VALUE_SIZE, .place = 6},
    {"rate", .kind = RPS_VALUE_NUMBER},
    {"argv", .kind = RPS_VALUE_LIST},
    {NULL, "COUNTED", .place = 7, .drop = 3},
};

static struct rps_block *new_block(struct rps_document *document)
{
    return rps_document_block(document, "runs", columns, sizeof(columns) / sizeof(columns[0]));
}

/* What is not known when `known` is 0. */
static void put(struct rps_block *block, int64_t run, const char *label, const char *host,
                int known)
{
    static char a[] = "a", one[] = "1", b[] = "b", xy[] = "x,y", naive[] = "./naive", n[] = "-n",
                escape[] = "\x1b";
    struct rps_tag tag[] = {{a, one}, {b, xy}};
    char *argv[] = {naive, n, escape};

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

/* Write a document, free it, and compare. */
static void assert_written(struct rps_document *document, enum rps_format format, int terminal,
                           const char *expected)
{
    struct rps_error err;
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    assert_non_null(out);
    assert_int_equal(rps_document_write(document, out, format, terminal, &err), 0);
    fclose(out);
    rps_document_free(document);
    assert_string_equal(text, expected);
    free(text);
}

static void test_people(void **state)
{
    struct rps_document document = {0};
    struct rps_block *block = new_block(&document);

    (void)state;
    put(block, 1, "nightly \x1b", "web", 1);
    put(block, 10, NULL, "web", 0);
    rps_put_words(block, "another");
    assert_written(&document, RPS_FORMAT_TEXT, 0,
                   "RUN  LABEL         TAGS       ELAPSED     SIZE  COUNTED  COMMAND\n"
                   "  1  nightly \\x1b  a=1 b=x,y  1.500 s  1.5 KiB  sim      ./naive\n"
                   " 10  -             -                -        -  another  ./naive\n");
}

static void test_hosts(void **state)
{
    struct rps_document document = {0};
    struct rps_block *block = new_block(&document);

    (void)state;
    put(block, 1, "a", "web", 0);
    put(block, 2, "b", NULL, 0);
    assert_written(&document, RPS_FORMAT_TEXT, 0,
                   "RUN  LABEL  HOST  ELAPSED  SIZE  COUNTED  COMMAND\n"
                   "  1  a      web         -     -  sim      ./naive\n"
                   "  2  b      -           -     -  sim      ./naive\n");
    put(new_block(&document), 1, "a", "web", 1); /* all are of one host, and have tags */
    assert_written(&document, RPS_FORMAT_TEXT, 0,
                   "RUN  LABEL  TAGS       ELAPSED     SIZE  COUNTED  COMMAND\n"
                   "  1  a      a=1 b=x,y  1.500 s  1.5 KiB  sim      ./naive\n");
}

static void test_terminal(void **state)
{
    struct rps_document document = {0};
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
    struct rps_document document = {0};
    struct rps_block *block;

    (void)state;
    rps_put_text(rps_document_field(&document, "store", RPS_VALUE_TEXT), "x.data");
    put(new_block(&document), 1, "a", NULL, 1);
    block = new_block(&document); /* goes on with the table */
    put(block, 2, NULL, NULL, 0);
    rps_block_line(block, 0, "For people.");
    rps_put_int(rps_document_field(&document, "sound", RPS_VALUE_BOOL), 0, 1);
    assert_written(
        &document, RPS_FORMAT_JSON, 0,
        "{\n  \"store\": \"x.data\",\n  \"runs\": [\n"
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
    struct rps_document document = {0};
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
    struct rps_document document = {0};
    struct rps_block *block = rps_document_block(&document, "later", bare, 2);

    (void)state;
    block->place = 1;
    block->has_no_head = 1;
    block->indent = 2;
    rps_block_line(block, RPS_LINE_TITLE, "Later \x1b");
    rps_put_text(block, "cycles");
    rps_put_int(block, 1, 1);
    rps_block_line(block, 4, "%s", "  what a row  means, in 20 columns ");
    rps_put_text(block, "a");
    rps_put_int(block, 0, 1);
    rps_block_line(block, 0, "As long as it is, whatever the terminal.");
    block = rps_document_block(&document, "first", bare, 2);
    rps_block_line(block, RPS_LINE_TITLE, "First");
    assert_written(&document, RPS_FORMAT_TEXT, 20,
                   "First\n\nLater \\x1b\n"
                   "  cycles  yes\n"
                   "    what a row\n    means, in 20\n    columns\n"
                   "  a       no\n"
                   "As long as it is, whatever the terminal.\n");
}

/* The numbers of three rows that were sorted, as a CSV's first column. */
static void assert_sorted(const char *column, int is_descending, const char *expected)
{
    struct rps_document document = {0};
    struct rps_block *block = new_block(&document);
    char got[4] = "";

    put(block, 1, "b", "web", 1);
    put(block, 2, "a", "web", 0);
    put(block, 3, "b", "db", 1);
    block->value[block->column_count + 7].number = -1; /* of the second, elapsed_s */
    rps_block_sort(block, column, is_descending);
    for (size_t i = 0; i < 3; i++)
        got[i] = (char)('0' + block->value[i * block->column_count].number);
    assert_string_equal(got, expected);
    rps_document_free(&document);
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
        cmocka_unit_test(test_people),   cmocka_unit_test(test_hosts),
        cmocka_unit_test(test_terminal), cmocka_unit_test(test_json),
        cmocka_unit_test(test_csv),      cmocka_unit_test(test_lines),
        cmocka_unit_test(test_sorting),
    };

    setlocale(LC_CTYPE, "C.UTF-8");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
