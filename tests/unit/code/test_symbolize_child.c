/* Tests of the symbolization child: its limits, and the parent's handling of malformed answers. The
 * child acts by the module's path. A function of this test replaces the library's
 * rps_symbolize_read_elf. */
#include "code/child.h"
#include "code/symbolize_child.h"
#include "code/opener.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define DAMAGED "its file could not be read: too large, or damaged"

static void tell(FILE *out, size_t index, const char *function)
{
    rps_symbolize_send(
        out, index,
        &(struct rps_location){.function = function, .file = "", .how = RPS_LOCATION_SYMBOL}, 1);
}

static void send_limits(FILE *out)
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

/* Write a text of `bytes` bytes with its end. At most 20,000 bytes are written, more than a message
 * may have. */
static void tell_text(FILE *out, uint32_t bytes, char end)
{
    for (uint32_t i = 1; i < bytes && i < 20000; i++)
        fputc('x', out);
    if (bytes > 0)
        fputc(end, out);
}

/* Send a frame with locations, all numbers from `path`. The texts have no end if `path` begins with
 * "end". */
static void send_raw(FILE *out, const char *path)
{
    const char end = path[0] == 'r' ? '\0' : 'x';
    uint32_t word[6];

    assert_int_equal(
        sscanf(path + 4, "%" SCNu32 " %" SCNu32 " %" SCNu32 " %" SCNu32 " %" SCNu32 " %" SCNu32,
               &word[0], &word[1], &word[2], &word[3], &word[4], &word[5]),
        6);
    fwrite(word, 2 * sizeof(word[0]), 1, out);
    for (uint32_t i = 0; i < word[1]; i++) {
        fwrite(&word[2], 4 * sizeof(word[0]), 1, out);
        tell_text(out, word[4], end);
        tell_text(out, word[5], end);
    }
}

/* Send requests whose texts have no end, with one descriptor each. Then send the number of answers.
 */
static void request(int requests, FILE *out)
{
    struct rps_symbolize_request request;
    struct rps_symbolize_answer answer;
    int answers = 0, fd;

    memset(&request, 'f', sizeof(request));
    request.wanted = RPS_SYMBOLIZE_DEBUG;
    request.candidate = 0;
    for (int i = 0; i < 3; i++) {
        rps_opener_pass(requests, &request, sizeof(request), requests);
        answers += rps_opener_receive(requests, &answer, sizeof(answer), 0, &fd) == sizeof(answer);
    }
    tell(out, 1, answers == 3 ? "three" : "fewer");
}

void rps_symbolize_read_elf(const struct rps_symbolize_group *group, int opens_paths, int requests,
                         FILE *out)
{
    const char *path = group->module->path;

    if (!opens_paths)
        _exit(1);
    if (strcmp(path, "limits") == 0) {
        send_limits(out);
        return;
    }
    tell(out, 0, "first");
    if (strcmp(path, "twice") == 0)
        tell(out, 0, "second");
    if (strcmp(path, "request") == 0)
        request(requests, out);
    if (strncmp(path, "raw ", 4) == 0 || strncmp(path, "end ", 4) == 0)
        send_raw(out, path);
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

/* Name three frames of a module of that path. Frees the result of the previous call. */
static const struct rps_location *name(const char *path)
{
    static struct rps_arena *arena;
    static struct rps_code code;
    struct rps_symbolize_options options = {.opens_paths = 1};
    struct rps_error err = {""};

    rps_arena_free(arena);
    arena = rps_arena_new();
    code = (struct rps_code){.module_count = 1, .frame_count = path ? 3 : 0};
    code.module = rps_arena_get(arena, 1, sizeof(*code.module));
    code.frame = rps_arena_get(arena, 3, sizeof(*code.frame));
    code.module[0] = (struct rps_module){.kind = RPS_MODULE_FILE, .path = path};
    for (int i = 0; i < 3; i++)
        code.frame[i] = (struct rps_frame){i, 0, (uint64_t)i, 0};
    assert_int_equal(rps_symbolize(arena, &code, &options, &err), 0);
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

/* Check that the first answer is kept, whatever follows. */
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
    expect_first("eat"); /* the malloc of sanitizers ends in a report instead */
#endif
}

/* Malformed numbers are rejected. The numbers in a path are: frame, count, line, how, bytes of the
 * function, bytes of the file. */
static void test_nonsense(void **state)
{
    (void)state;
    /* later cases differ from this case in one number */
    assert_string_equal(name("raw 1 1 0 1 5 5")[1].function, "xxxx");
    assert_string_equal(name("raw 2 1 7 1 4097 4097")[2].file + 4090, "xxxxxx");
    expect_first("end 1 1 0 1 5 5");
    expect_first("raw 3 1 0 1 5 5");
    expect_first("raw 4294967295 1 0 1 5 5");
    expect_first("raw 1 0 0 1 5 5");
    expect_first("raw 1 49 0 1 5 5");
    expect_first("raw 1 1 4294967295 1 5 5");
    expect_first("raw 1 1 0 4 5 5");
    expect_first("raw 1 1 0 2 5 5");
    expect_first("raw 1 1 0 1 0 5");
    expect_first("raw 1 1 0 1 4098 5");
    expect_first("raw 1 1 0 1 5 4098");
    expect_first("raw 1 1 0 1 4294967295 4294967295");
}

static int count_descriptors(void)
{
    int count = 0;

    for (int fd = 0; fd < 1024; fd++)
        count += fcntl(fd, F_GETFD) >= 0;
    return count;
}

static void test_requests(void **state)
{
    int before;

    (void)state;
    assert_string_equal(name("request")[1].function, "three");
    before = count_descriptors();
    assert_string_equal(name("request")[1].function, "three");
    assert_int_equal(count_descriptors(), before);
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
        cmocka_unit_test(test_requests),   cmocka_unit_test(test_told_again),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
