/* A child process of naming that does as the module's path says: its limits, and what its parent
 * makes of nonsense. This program's rps_naming_read_elf stands in place of the library's.
 */
#include "code/child.h"
#include "code/naming_child.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define DAMAGED "its file could not be read: too large, or damaged"

static void tell(FILE *out, size_t index, const char *function)
{
    rps_naming_tell(
        out, index,
        &(struct rps_location){.function = function, .file = "", .how = RPS_LOCATION_SYMBOL}, 1);
}

static void tell_limits(FILE *out)
{
    static const int which[] = {RLIMIT_CORE, RLIMIT_CPU, RLIMIT_DATA};
    char text[64];

    for (size_t i = 0; i < 3; i++) {
        struct rlimit limit;

        getrlimit((__rlimit_resource_t)which[i], &limit);
        snprintf(text, sizeof(text), "%" PRIu64 " %d", (uint64_t)limit.rlim_cur,
                 limit.rlim_cur == limit.rlim_max);
        tell(out, i, text);
    }
}

static void eat(void)
{
    for (;;) {
        char *memory = malloc((size_t)1 << 20);

        if (!memory)
            abort();
        memset(memory, 1, (size_t)1 << 20);
    }
}

/* A frame with one location, all of whose numbers are the test's. */
static void tell_raw(FILE *out, const char *numbers)
{
    uint32_t word[6];

    assert_int_equal(
        sscanf(numbers, "raw %" SCNu32 " %" SCNu32 " %" SCNu32 " %" SCNu32 " %" SCNu32 " %" SCNu32,
               &word[0], &word[1], &word[2], &word[3], &word[4], &word[5]),
        6);
    fwrite(word, sizeof(word), 1, out);
    for (int i = 0; i < 20000; i++)
        fputc('x', out);
}

void rps_naming_read_elf(const struct rps_naming_group *group, int opens_paths, int requests,
                         FILE *out)
{
    const char *path = group->module->path;

    (void)requests;
    if (!opens_paths)
        _exit(1);
    if (strcmp(path, "limits") == 0) {
        tell_limits(out);
        return;
    }
    tell(out, 0, "first");
    if (strcmp(path, "twice") == 0)
        tell(out, 0, "second");
    if (strncmp(path, "raw", 3) == 0)
        tell_raw(out, path);
    fflush(out);
    if (strcmp(path, "die") == 0)
        raise(SIGKILL);
    if (strcmp(path, "eat") == 0)
        eat();
    while (strcmp(path, "flood") == 0)
        tell(out, 1, "again");
    if (strcmp(path, "half") == 0)
        assert_int_equal(write(fileno(out), "\1\0\0\0\1\0\0\0\0", 9), 9);
    if (strcmp(path, "bytes") == 0)
        tell(out, 1, "a\xff\x1b");
}

/* Name three frames of a module of that path; frees what the last call gave. */
static const struct rps_location *name(const char *path)
{
    static struct rps_arena *arena;
    static struct rps_code code;
    struct rps_naming_options options = {.opens_paths = 1};
    struct rps_error err = {""};

    rps_arena_free(arena);
    arena = rps_arena_new();
    code = (struct rps_code){.module_count = 1, .frame_count = path ? 3 : 0};
    code.module = rps_arena_get(arena, 1, sizeof(*code.module));
    code.frame = rps_arena_get(arena, 3, sizeof(*code.frame));
    code.module[0] = (struct rps_module){.kind = RPS_MODULE_FILE, .path = path};
    for (int i = 0; i < 3; i++)
        code.frame[i] = (struct rps_frame){i, 0, (uint64_t)i, 0};
    assert_int_equal(rps_naming_name(arena, &code, &options, &err), 0);
    assert_int_equal(code.location_count, code.frame_count);
    if (!path) {
        rps_arena_free(arena);
        arena = NULL;
    }
    return code.location;
}

static void test_limits(void **state)
{
    const struct rps_location *found = name("limits");
    uint64_t bytes = strtoull(found[2].function, NULL, 10);

    (void)state;
    assert_string_equal(found[0].function, "0 1");
    assert_string_equal(found[1].function, "5 1");
    assert_true(bytes >= RPS_CHILD_MEMORY_BYTES);
}

/* What was told before stays, whatever comes then. */
static void expect_first(const char *path)
{
    const struct rps_location *found = name(path);

    assert_string_equal(found[0].function, "first");
    for (int i = 1; i < 3; i++) {
        assert_string_equal(found[i].function, DAMAGED);
        assert_int_equal(found[i].how, RPS_LOCATION_NONE);
    }
}

static void test_deaths(void **state)
{
    (void)state;
    expect_first("die");
    expect_first("nothing more");
    expect_first("half");
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    expect_first("eat"); /* sanitizers have a malloc of their own, which ends in a report */
#endif
}

/* The numbers are: frame, count, line, how, bytes of the function, bytes of the file. */
static void test_nonsense(void **state)
{
    (void)state;
    expect_first("raw 3 1 0 1 5 5");
    expect_first("raw 4294967295 1 0 1 5 5");
    expect_first("raw 1 0 0 1 5 5");
    expect_first("raw 1 49 0 1 5 5");
    expect_first("raw 1 1 4294967295 1 5 5");
    expect_first("raw 1 1 0 4 5 5");
    expect_first("raw 1 1 0 2 5 5");
    expect_first("raw 1 1 0 1 0 5");
    expect_first("raw 1 1 0 1 4097 5");
    expect_first("raw 1 1 0 1 5 4097");
    expect_first("raw 1 1 0 1 4294967295 4294967295");
}

static void test_flood(void **state)
{
    const struct rps_location *found = name("flood");

    (void)state;
    assert_string_equal(found[0].function, "first");
    assert_string_equal(found[1].function, "again");
    assert_string_equal(found[2].function, DAMAGED);
}

static void test_told_again(void **state)
{
    (void)state;
    assert_string_equal(name("twice")[0].function, "second");
    assert_string_equal(name("bytes")[1].function, "a\xef\xbf\xbd\x1b");
    name(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_limits),     cmocka_unit_test(test_deaths),
        cmocka_unit_test(test_nonsense),   cmocka_unit_test(test_flood),
        cmocka_unit_test(test_told_again),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
