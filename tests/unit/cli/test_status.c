/* Tests of the status line of a recording: the time until --max-size is reached. This program has
 * rps_writer_status and the functions of terminal_line.c itself. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "cli/record.h"
#include "cli/terminal_line.h"
#include "rpistat/clock.h"
#include "rpistat/plan.h"
#include "rpistat/store.h"

#define MIB    (UINT64_C(1) << 20)
#define HOUR_S (3600 * (int64_t)1)

static rps_terminal_line_compose *compose_line;
static void *compose_context;
static uint64_t file_bytes;

int rps_terminal_line_start(struct rps_terminal_line **ret, int fd,
                            rps_terminal_line_compose *compose, void *context,
                            struct rps_error *err)
{
    (void)fd;
    (void)err;
    *ret = NULL;
    compose_line = compose;
    compose_context = context;
    return 0;
}

void rps_terminal_line_stop(struct rps_terminal_line *line)
{
    (void)line;
}

int rps_status_text_add(struct rps_status_text *line, const char *format, ...)
{
    size_t used = strlen(line->text);
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(line->text + used, sizeof(line->text) - used, format, arguments);
    va_end(arguments);
    strncat(line->text, ";", sizeof(line->text) - strlen(line->text) - 1);
    return 1;
}

int rps_status_text_add_figure(struct rps_status_text *line, const char *label, double value,
                               const char *unit)
{
    (void)value;
    return rps_status_text_add(line, "%s %s", label, unit);
}

void rps_writer_status(struct rps_writer *writer, struct rps_writer_status *ret)
{
    (void)writer;
    *ret = (struct rps_writer_status){.file_bytes = file_bytes, .size_bytes = file_bytes};
}

/* Draw the line at time_s, when the store's file has this size. The line has the time that
 * --max-size lasts, or (NULL) does not have it. */
static void expect_lasts(struct rps_status *status, int64_t time_s, uint64_t bytes,
                         const char *expected)
{
    const int64_t second = RPS_NS_PER_S;
    const struct rps_period period = {.start_ns = (time_s - 1) * second, .length_ns = second};
    struct rps_status_text line = {0};
    char field[64];

    rps_status_period(status, &period, 1);
    file_bytes = bytes;
    compose_line(compose_context, &line);
    assert_non_null(strstr(line.text, ";1 periods;"));
    if (!expected) {
        assert_null(strstr(line.text, "--max-size"));
        return;
    }
    snprintf(field, sizeof(field), ";--max-size lasts %s;", expected);
    if (!strstr(line.text, field))
        fail_msg("no %s in %s", field, line.text);
}

static struct rps_status *start(struct rps_plan **ret_plan, uint64_t max_bytes)
{
    struct rps_status *status = NULL;
    struct rps_error err;

    assert_int_equal(rps_plan_load("arm1176", ret_plan, &err), 0);
    assert_int_equal(rps_status_start(&status, 2, *ret_plan, NULL, max_bytes, &err), 0);
    return status;
}

/* The file grows by 1 MiB per hour. The time is from the last growth, and is kept when the file is
 * nearly full. */
static void test_max_size(void **state)
{
    struct rps_plan *plan;
    struct rps_status *status = start(&plan, 501 * MIB);

    (void)state;
    expect_lasts(status, 1, 1 * MIB, NULL);
    expect_lasts(status, 59, 2 * MIB, NULL);
    expect_lasts(status, 10 * HOUR_S, 11 * MIB, "20 d 20 h");
    expect_lasts(status, 14 * HOUR_S, 11 * MIB, "20 d 20 h");
    expect_lasts(status, 20 * HOUR_S, 11 * MIB + MIB / 2, "39 d 16 h");
    expect_lasts(status, 100 * HOUR_S, 101 * MIB, "20 d 20 h");
    expect_lasts(status, 200 * HOUR_S, 376 * MIB, "20 d 20 h");
    rps_status_stop(status);
    rps_plan_free(plan);
}

static void test_no_max_size(void **state)
{
    struct rps_plan *plan;
    struct rps_status *status = start(&plan, 0);

    (void)state;
    expect_lasts(status, 1, 1 * MIB, NULL);
    expect_lasts(status, 10 * HOUR_S, 11 * MIB, NULL);
    rps_status_stop(status);
    rps_plan_free(plan);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_max_size),
        cmocka_unit_test(test_no_max_size),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
