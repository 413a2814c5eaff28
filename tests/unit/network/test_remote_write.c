/* Remote-write requests are compared byte for byte. */
#include "network/push_parts.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

/* Expected request, encoded by hand from remote.proto and types.proto. Field 1 is a label, field 2
 * is a sample. */
static const uint8_t expected[] = {
    /* clang-format off */
    0x0a, 0x25, /* a series of 37 bytes */
    0x0a, 0x0d, 0x0a, 0x08, '_', '_', 'n', 'a', 'm', 'e', '_', '_', 0x12, 0x01, 'm',
    0x0a, 0x06, 0x0a, 0x01, 'a', 0x12, 0x01, 'b',
    /* value 1.5 at time 2000 ms */
    0x12, 0x0c, 0x09, 0, 0, 0, 0, 0, 0, 0xf8, 0x3f, 0x10, 0xd0, 0x0f,
    /* clang-format on */
};

static void test_series(void **state)
{
    static const struct rps_time_label label = {"a", "b"};
    static const struct rps_time_series series = {0, "m", 1, &label};
    static const struct rps_remote_sample sample = {2000, 1.5};
    struct rps_protobuf request = {0};

    (void)state;
    rps_remote_write_add(&request, &series, &sample, 1);
    assert_false(request.failed);
    assert_int_equal(request.size, sizeof(expected));
    assert_memory_equal(request.data, expected, sizeof(expected));
    rps_protobuf_free(&request);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_series)};

    return cmocka_run_group_tests_name("network/remote_write", tests, NULL, NULL);
}
