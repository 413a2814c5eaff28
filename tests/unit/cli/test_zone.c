/* Tests of the time zone of a file: the environment is the same afterwards. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "cli/zone.h"

/* An empty TZ means UTC. Without TZ, the zone is that of the system. */
static void test_restored(void **state)
{
    static const char *const before[] = {NULL, "", "EST5EDT"};

    (void)state;
    for (size_t i = 0; i < sizeof(before) / sizeof(before[0]); i++) {
        unsetenv("TZ");
        if (before[i])
            setenv("TZ", before[i], 1);
        for (int has_option = 0; has_option < 2; has_option++) {
            char *zone = rps_zone_enter(has_option ? "+01:00" : NULL);

            assert_int_equal(rps_zone_set("-05:30"), 0);
            assert_string_equal(getenv("TZ"), "ZONE+05:30");
            rps_zone_leave(zone);
            if (before[i])
                assert_string_equal(getenv("TZ"), before[i]);
            else
                assert_null(getenv("TZ"));
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_restored)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
