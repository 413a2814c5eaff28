/* Tests of the parts of `push`: batches, pauses, selectors, URLs, and the state of pushed data. */
#include "network/push_parts.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "rpistat/clock.h"
#include "rpistat/store.h"

/* --- batches ---------------------------------------------------------------------------------- */

static const struct rps_time_label label[] = {{"a", "b"}, {"c", "\"\\\nd"}};
static const struct rps_time_series few = {1, "few", 0, NULL}, many = {40, "many", 2, label};

static void put(struct rps_push_batch *batch, const struct rps_time_series *series, int64_t ms,
                double value)
{
    assert_int_equal(rps_push_batch_put(batch, series, ms, value, NULL), 0);
}

static void test_batch(void **state)
{
    struct rps_push_batch batch = {0};
    struct rps_protobuf body = {0}, expected = {0}, request = {0};
    struct rps_remote_sample sample[100];

    (void)state;
    for (int i = 0; i < 100; i++) {
        sample[i] = (struct rps_remote_sample){1000 + i, i};
        put(&batch, &many, sample[i].time_ms, sample[i].value);
        if (i == 50)
            put(&batch, &few, 7, 0.5);
    }
    assert_int_equal(batch.count, 101);
    rps_remote_write_add(&request, &few, &(struct rps_remote_sample){7, 0.5}, 1);
    rps_remote_write_add(&request, &many, sample, 100);
    assert_int_equal(rps_remote_write_body(&request, &expected, NULL), 0);
    assert_int_equal(rps_push_batch_body(&batch, &body, NULL), 0);
    assert_int_equal(body.size, expected.size);
    assert_memory_equal(body.data, expected.data, body.size);
    rps_push_batch_clear(&batch);
    assert_int_equal(batch.count, 0);
    assert_int_equal(batch.series[40].count, 0);
    rps_push_batch_free(&batch);
    rps_protobuf_free(&body);
    rps_protobuf_free(&expected);
    rps_protobuf_free(&request);
}

static void test_text(void **state)
{
    char *text = rps_time_series_text(&many);

    (void)state;
    assert_string_equal(text, "many{a=\"b\",c=\"\\\"\\\\\\nd\"}");
    free(text);
}

/* --- sending ---------------------------------------------------------------------------------- */

static void test_pauses(void **state)
{
    static const struct {
        int attempts;
        int64_t retry_after_s, ms;
    } cases[] = {
        {1, -1, 1000},  {2, -1, 2000},  {6, -1, 32000},        {7, -1, 60000}, {1000, -1, 60000},
        {1, 0, 10},     {2, 0, 20},     {1000, 0, 60000},      {1, 1, 1000},   {9, 1, 2560},
        {1, 59, 59000}, {1, 61, 60000}, {1, INT32_MAX, 60000},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        assert_int_equal(rps_push_pause_ns(cases[i].attempts, cases[i].retry_after_s),
                         cases[i].ms * RPS_NS_PER_MS);
}

static void test_urls(void **state)
{
    static const struct {
        const char *text, *request, *shown, *user;
    } cases[] = {
        {"http://h:8428", "http://h:8428/p", "http://h:8428/p", NULL},
        {"https://h/", "https://h/p", "https://h/p", NULL},
        {"http://a%3a:b%20c@h/x?token=1#y", "http://h/x?token=1", "http://h/x", "a::b c"},
        {"http://a@[::1]:1/x/", "http://[::1]:1/x/", "http://[::1]:1/x/", "a:"},
        {"ftp://h/", NULL, NULL, NULL},
        {"h:8428", NULL, NULL, NULL},
        {"http://h:99999/", NULL, NULL, NULL},
        {"http://:secret", NULL, NULL, NULL},
        {"", NULL, NULL, NULL},
    };
    const struct rps_http_client_options options = {.timeout_ns = RPS_NS_PER_S};
    struct rps_arena *arena = rps_arena_new();
    struct rps_http_client *client = NULL;

    (void)state;
    assert_int_equal(rps_http_open(arena, &client, &options, NULL), 0);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct rps_http_url url = {0};
        struct rps_error err = {""};

        if (!cases[i].request) {
            assert_int_equal(rps_http_url_parse(client, cases[i].text, "/p", &url, &err),
                             RPS_USAGE);
            assert_null(strstr(err.message, "secret"));
            continue;
        }
        assert_int_equal(rps_http_url_parse(client, cases[i].text, "/p", &url, &err), 0);
        assert_string_equal(url.request, cases[i].request);
        assert_string_equal(url.shown, cases[i].shown);
        assert_int_equal(url.user != NULL, cases[i].user != NULL);
        if (url.user)
            assert_string_equal(url.user, cases[i].user);
    }
    rps_http_close(client);
    rps_arena_free(arena);
}

/* --- what was pushed -------------------------------------------------------------------------- */

static int64_t noted(struct rps_pushed *pushed, const char *url, const char *uuid, int64_t cpu)
{
    int64_t period = -1;
    int result = rps_pushed_get(pushed, url, uuid, cpu, &period, NULL);

    assert_int_equal(result, period >= 0);
    return period;
}

static void test_pushed(void **state)
{
    static const struct rps_pushed_position first[] = {{-1, 5}, {3, 0}}, later = {-1, 7};
    char path[] = "/tmp/rpistat-pushed-XXXXXX";
    struct rps_pushed *pushed = NULL, *other = NULL;
    struct rps_error err;
    int fd = mkstemp(path);
    FILE *file;

    (void)state;
    assert_true(fd >= 0);
    close(fd);
    assert_int_equal(rps_pushed_open(&pushed, path, &err), 0);
    assert_int_equal(noted(pushed, "u", "a", -1), -1);
    assert_int_equal(rps_pushed_set(pushed, "u", "a", first, 2, &err), 0);
    assert_int_equal(rps_pushed_open(&other, path, &err), 0);
    assert_int_equal(rps_pushed_set(other, "u", "a", &later, 1, &err), 0);
    assert_int_equal(rps_pushed_set(other, "v", "a", &later, 1, &err), 0);
    assert_int_equal(noted(pushed, "u", "a", -1), 7);
    assert_int_equal(noted(pushed, "u", "a", 3), 0);
    assert_int_equal(noted(pushed, "u", "b", -1), -1);
    assert_int_equal(rps_pushed_forget(pushed, "u", "a", &err), 0);
    assert_int_equal(noted(other, "u", "a", 3), -1);
    assert_int_equal(noted(other, "v", "a", -1), 7);
    rps_pushed_close(pushed);
    rps_pushed_close(other);

    file = fopen(path, "r+");
    assert_non_null(file);
    assert_int_equal(fseek(file, 100, SEEK_SET), 0); /* a byte after the file header */
    fputs("damage", file);
    fclose(file);
    assert_int_equal(rps_pushed_open(&pushed, path, &err), RPS_FAILED);
    assert_non_null(strstr(err.message, "is damaged"));
    assert_non_null(strstr(err.message, "delete it"));

    file = fopen(path, "w");
    assert_non_null(file);
    fputs("somebody's text, which is longer than the header of a database is, that is one hundred "
          "bytes",
          file);
    fclose(file);
    assert_int_equal(rps_pushed_open(&pushed, path, &err), RPS_FAILED);
    assert_non_null(strstr(err.message, "--state"));
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_batch), cmocka_unit_test(test_text),   cmocka_unit_test(test_pauses),
        cmocka_unit_test(test_urls),  cmocka_unit_test(test_pushed),
    };

    return cmocka_run_group_tests_name("network/push", tests, NULL, NULL);
}
