/* Tests of matching the phases of runs: alignment in order, costs, phase classes, several runs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "compare/match.h"
#include "support/arena.h"

#define LABELS 26
#define NONE   RPS_MATCH_NONE

/* Make one phase per letter; the letter is the label. A phase is 100 periods long, or d x 100
 * periods if a digit d follows the letter. */
static struct rps_phases phases_of(const char *text)
{
    struct rps_phases phases = {.label_count = LABELS};
    uint64_t at = 0;

    phases.phase = rps_arena_get(arena, strlen(text) + 1, sizeof(*phases.phase));
    assert_non_null(phases.phase);
    for (; *text; text++) {
        uint64_t length = text[1] >= '0' && text[1] <= '9' ? (uint64_t)(text[1] - '0') : 1;

        phases.phase[phases.count++] =
            (struct rps_phase){.first = at, .last = at + 100 * length - 1, .label = text[0] - 'A'};
        at += 100 * length;
        text += text[1] >= '0' && text[1] <= '9';
    }
    return phases;
}

/* Return the distances of labels: the distance of their letters in the alphabet, divided by 25. */
static const double *distance_of(void)
{
    static double distance[LABELS * LABELS];

    for (int x = 0; x < LABELS; x++)
        for (int y = 0; y < LABELS; y++)
            distance[x * LABELS + y] = abs(x - y) / (LABELS - 1.0);
    return distance;
}

static struct rps_match_labels labels_of(void)
{
    return (struct rps_match_labels){LABELS, distance_of()};
}

/* Check the partners of a's phases. Each partner is written as its position in b (digit or letter),
 * or "-" for none. */
static void check_aligned(const char *a, const char *b, const char *expected)
{
    struct rps_phases left = phases_of(a), right = phases_of(b);
    struct rps_match_labels labels = labels_of();
    size_t *partner = calloc(left.count + 1, sizeof(*partner));
    char text[100] = "";

    assert_non_null(partner);
    rps_match_align(&left, &right, &labels, partner);
    for (size_t i = 0; i < left.count; i++)
        text[i] = partner[i] == NONE ? '-' : "0123456789abcdefghij"[partner[i]];
    if (strcmp(text, expected) != 0)
        fail_msg("%s on %s: %s, not %s", b, a, text, expected);
    free(partner);
}

static void test_align(void **state)
{
    (void)state;
    check_aligned("ABCAB", "ABCAB", "01234");
    check_aligned("ABC", "AXC", "012");      /* B is replaced by X */
    check_aligned("ABC", "XYZ", "012");      /* all phases are replaced */
    check_aligned("ABC", "ABXC", "013");     /* X is new */
    check_aligned("ABC", "AC", "0-1");       /* B is missing */
    check_aligned("ABAC", "A9BA9C", "0123"); /* B is longer */
    check_aligned("", "ABC", "");
    check_aligned("ABC", "", "---");
    check_aligned("", "", "");
    check_aligned("A", "A", "0");
    check_aligned("A", "B", "0");
    check_aligned("ABCD", "ACBD", "02-3"); /* B and C are exchanged: one of the two has no
                                              partner */
    check_aligned("ABC", "CAB", "12-");
}

/* Phases of different labels become partners if the match costs less than two phases without
 * partners. The match costs .3 + .4 x distance, against 1.1. The cost is 1.2 if the other run has
 * the label too. */
static void test_costs(void **state)
{
    (void)state;
    check_aligned("A", "Z", "0"); /* the match costs .7 */
    check_aligned("AB", "BX", "-0");
    check_aligned("BA", "XB", "1-");  /* B has a partner, so that A and X have none: cost 1.1 */
    check_aligned("KM", "MKL", "1-"); /* K-K and three phases without partners cost 1.65; M-M
                                         costs 1.65 too */
    check_aligned("AZ", "BYX", "01"); /* the matches cost .316 + .316 + .55 */
    check_aligned("AM", "L", "-0");   /* costs of .316 and .55: the nearer label is matched */
    check_aligned("AM", "B", "0-");
    check_aligned("ACB", "BC", "-1-"); /* cost 1.65; with A-B or B-C (1.2) the cost would be 1.75 */
}

/* Of two alignments with equal cost, the alignment of phases with similar lengths is chosen. */
static void test_ties(void **state)
{
    (void)state;
    check_aligned("A", "A1A9A1", "1");
    check_aligned("A9A1", "A9", "0-");
    check_aligned("A1A9", "A9", "-0");
}

static void test_loop(void **state)
{
    char a[101], b[121];
    struct rps_phases left, right;
    struct rps_match_labels labels = labels_of();
    size_t partner[100], last = 0;

    (void)state;
    for (int i = 0; i < 120; i++)
        a[i < 100 ? i : 99] = b[i] = i % 2 ? 'B' : 'A';
    a[100] = b[120] = '\0';
    left = phases_of(a);
    right = phases_of(b);
    rps_match_align(&left, &right, &labels, partner);
    for (size_t i = 0; i < 100; i++) {
        assert_true(partner[i] != NONE && (i == 0 || partner[i] > last));
        assert_int_equal(right.phase[partner[i]].label, left.phase[i].label);
        last = partner[i];
    }
}

static void test_many(void **state)
{
    static char many[RPS_MATCH_MAX + 2];
    struct rps_match_labels labels = labels_of();
    struct rps_phases left, right = phases_of("ABC");
    struct rps_matching matching;
    size_t *partner = calloc(RPS_MATCH_MAX + 1, sizeof(*partner));
    struct rps_error err;

    (void)state;
    assert_non_null(partner);
    memset(many, 'A', RPS_MATCH_MAX);
    left = phases_of(many);
    assert_int_equal(rps_match_check(left.count, &err), 0);
    rps_match_align(&left, &right, &labels, partner);
    many[RPS_MATCH_MAX] = 'A';
    left = phases_of(many);
    assert_int_equal(rps_match_check(left.count, &err), RPS_FAILED);
    assert_int_equal(rps_match_runs(arena, (struct rps_phases[]){left, right}, (int[]){0, 1}, 2,
                                    &labels, &matching, &err),
                     RPS_FAILED);
    assert_int_equal(rps_match_runs(arena, (struct rps_phases[]){right, left}, (int[]){0, 1}, 2,
                                    &labels, &matching, &err),
                     RPS_FAILED);
    free(partner);
}

/* Match runs, with side B after "|". Then check the rows ("AA", "AX", "-X") and the row numbers of
 * each run's phases. */
static void check_runs(const char *const *run, size_t count, const char *expected)
{
    struct rps_phases phases[8] = {{0}};
    int side[8] = {0}, of_b = 0;
    struct rps_match_labels labels = labels_of();
    struct rps_matching matching;
    char text[400] = "", *at = text;
    size_t runs = 0;
    struct rps_error err;

    for (size_t r = 0; r < count; r++) {
        if (strcmp(run[r], "|") == 0) {
            of_b = 1;
            continue;
        }
        side[runs] = of_b;
        phases[runs++] = phases_of(run[r]);
    }
    assert_int_equal(rps_match_runs(arena, phases, side, runs, &labels, &matching, &err), 0);
    for (size_t r = 0; r < matching.row_count; r++) {
        *at++ = (char)(matching.row[r].a < 0 ? '-' : 'A' + matching.row[r].a);
        *at++ = (char)(matching.row[r].b < 0 ? '-' : 'A' + matching.row[r].b);
        *at++ = ' ';
    }
    for (size_t r = 0; r < runs; r++) {
        *at++ = '|';
        for (size_t i = 0; i < phases[r].count; i++) {
            size_t row = matching.row_of[r][i];

            assert_true(row == NONE || row < matching.row_count);
            *at++ = (char)(row == NONE ? '-' : '0' + (int)row);
        }
    }
    if (strcmp(text, expected) != 0)
        fail_msg("%s, not %s", text, expected);
}

#define CHECK_RUNS(expected, ...)                                                                  \
    check_runs((const char *const[]){__VA_ARGS__},                                                 \
               sizeof((const char *const[]){__VA_ARGS__}) / sizeof(const char *), expected)

static void test_rows(void **state)
{
    (void)state;
    CHECK_RUNS("AA BB CC |01201|01201", "ABCAB", "|", "ABCAB");
    CHECK_RUNS("AA BX CC |01201|01201", "ABCAB", "|", "AXCAX");
    CHECK_RUNS("-X AA -Y BB C- |134|0123", "ABC", "|", "XAYB");
    CHECK_RUNS("AA -Z |0|01", "A", "|", "AZ");
    CHECK_RUNS("A- B- |010|", "ABA", "|", "");
    CHECK_RUNS("-A -B ||010", "", "|", "ABA");
    CHECK_RUNS("A- |0", "A");
    CHECK_RUNS("||", "", "|", "");
}

/* A phase without a partner belongs to the class of similar phases. */
static void test_kinds(void **state)
{
    (void)state;
    CHECK_RUNS("AA BB |01010|010", "ABABA", "|", "ABA");
    CHECK_RUNS("AA BB CC DD |0123|0213", "ABCD", "|", "ACBD");
    CHECK_RUNS("AA BX |0101|010", "ABAB", "|", "AXA");
    CHECK_RUNS("AB MN |0101|01", "AMAM", "|", "BN");
}

static void test_several(void **state)
{
    (void)state;
    /* ABCB represents A, because DEFGH has more partners in ABCB than in ABC. */
    CHECK_RUNS("AA BB CC |012|0121-|0121|012|012", "ABC", "DEFGH", "ABCB", "|", "ABC", "ABC");
    /* The middle run represents A, because the first and the third run each differ from it by one
     * phase. */
    CHECK_RUNS("AA BX CC |01|012|12|012|0-12", "AB", "ABC", "BC", "|", "AXC", "AZWC");
    /* One side contains partners with different labels. */
    CHECK_RUNS("AA BB CC |012|012|012|012", "ABC", "AXC", "ABC", "|", "ABC");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_align), cmocka_unit_test(test_costs),   cmocka_unit_test(test_ties),
        cmocka_unit_test(test_loop),  cmocka_unit_test(test_many),    cmocka_unit_test(test_rows),
        cmocka_unit_test(test_kinds), cmocka_unit_test(test_several),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, open_arena, close_arena);
}
