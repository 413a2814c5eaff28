/* Tests of loops in labels: loops are found even with broken iterations, and are not found in
 * random labels. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "rpistat/loops.h"

#define PHASES_MAX 4096

/* Phases with these labels. The length of a phase depends on its letter: usual[letter - 'A']. */
struct sequence {
    struct rps_phases phases;
    struct rps_phase phase[PHASES_MAX];
};

static void add(struct sequence *of, char letter, uint64_t length)
{
    struct rps_phase *phase = &of->phase[of->phases.count];

    assert_true(of->phases.count < PHASES_MAX);
    *phase = (struct rps_phase){.label = letter - 'A'};
    phase->first = of->phases.count > 0 ? phase[-1].last + 1 : 0;
    phase->last = phase->first + length - 1;
    of->phases.phase = of->phase;
    of->phases.count++;
    if (phase->label >= of->phases.label_count)
        of->phases.label_count = phase->label + 1;
}

static void add_all(struct sequence *of, const char *letters)
{
    static const uint64_t usual[] = {50, 40, 8, 4, 5, 60};

    for (; *letters; letters++)
        add(of, *letters, usual[(*letters - 'A') % 6]);
}

static struct sequence *begin(void)
{
    struct sequence *of = calloc(1, sizeof(*of));

    assert_non_null(of);
    return of;
}

static size_t fold(struct sequence *of)
{
    return rps_loops_fold(&of->phases, 0, of->phases.count);
}

static uint64_t chance(uint64_t *random, uint64_t below)
{
    *random = *random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (*random >> 33) % below;
}

static void check(const struct rps_phase *phase, int loop, int turn, int part)
{
    assert_int_equal(phase->loop, loop);
    assert_int_equal(phase->turn, turn);
    assert_int_equal(phase->part, part);
}

static void a_loop_between_other_phases(void **state)
{
    struct rps_arena *arena = rps_arena_new();
    struct sequence *of = begin();
    struct rps_loops loops;

    (void)state;
    add_all(of, "A");
    for (int k = 0; k < 60; k++)
        add_all(of, "BCDE");
    add_all(of, "F");
    assert_int_equal(fold(of), 6);
    check(&of->phase[0], 0, 0, 0);
    check(&of->phase[1], 1, 1, 1);
    check(&of->phase[4], 1, 1, 4);
    check(&of->phase[5], 1, 2, 1);
    check(&of->phase[240], 1, 60, 4);
    check(&of->phase[241], 0, 0, 0);
    loops = rps_loops_of(arena, &of->phases);
    assert_int_equal(loops.count, 1);
    assert_int_equal(loops.loop[0].part_count, 4);
    assert_int_equal(loops.loop[0].first, 1);
    assert_int_equal(loops.loop[0].count, 240);
    assert_int_equal(loops.loop[0].iteration_count, 60);
    assert_int_equal(loops.loop[0].outlier_count, 0);
    assert_true(fabs(loops.loop[0].length - 57) < 1e-9 && loops.loop[0].deviation < 1e-6);
    assert_int_equal(loops.loop[0].part[1].label, 2);
    assert_true(fabs(loops.loop[0].part[1].length - 8) < 1e-9);
    assert_true(fabs(loops.loop[0].part[1].total - 480) < 1e-9);
    free(of);
    rps_arena_free(arena);
}

/* Iterations may have a missing part, an additional part, or twice the duration. */
static void iterations_are_odd(void **state)
{
    static const enum rps_iteration_kind kinds[] = {RPS_ITERATION_UNLIKE, RPS_ITERATION_UNLIKE,
                                                    RPS_ITERATION_LONG, RPS_ITERATION_SHORT};
    static const size_t counts[] = {3, 5, 4, 4}, places[] = {4, 9, 14, 19};
    struct rps_arena *arena = rps_arena_new();
    struct sequence *of = begin();
    struct rps_loops loops;

    (void)state;
    for (int k = 0; k < 24; k++) {
        if (k == 4)
            add_all(of, "BCE");
        else if (k == 9)
            add_all(of, "BCFDE");
        else if (k == 14 || k == 19)
            add(of, 'B', k == 14 ? 80 : 20);
        else
            add_all(of, "BCDE");
        if (k == 14 || k == 19)
            add_all(of, "CDE");
    }
    assert_int_equal(fold(of),
                     4 + 3); /* an additional part may be the end of an iteration, or the start */
    loops = rps_loops_of(arena, &of->phases);
    assert_int_equal(loops.count, 1);
    assert_int_equal(loops.loop[0].iteration_count, 24);
    assert_int_equal(loops.loop[0].outlier_count, 4);
    for (size_t k = 0; k < 4; k++) {
        const struct rps_iteration *turn = &loops.loop[0].turn[places[k]];

        assert_int_equal(turn->kind, kinds[k]);
        assert_int_equal(turn->count, counts[k]);
        assert_int_equal(of->phase[turn->first].turn, (int)places[k] + 1);
    }
    assert_int_equal(of->phase[loops.loop[0].turn[4].first].part, 0);
    assert_true(fabs(loops.loop[0].length - 57) < 1e-9);
    free(of);
    rps_arena_free(arena);
}

/* Check the loops of the letters: the parts as text, the first loop's iterations and outliers, and
 * the rows of all loops. */
static void check_text(const char *letters, const char *text, size_t turns, size_t odd, size_t rows)
{
    struct rps_arena *arena = rps_arena_new();
    struct sequence *of = begin();
    struct rps_loops loops;
    char got[256] = "";

    add_all(of, letters);
    assert_int_equal(fold(of), rows);
    loops = rps_loops_of(arena, &of->phases);
    for (size_t k = 0; k < loops.count; k++) {
        strcat(got, k > 0 ? "; " : "");
        strcat(got, rps_loop_parts(arena, &loops.loop[k], "x", RPS_LOOPS_PARTS_MAX));
    }
    assert_string_equal(got, text);
    assert_int_equal(loops.count > 0 ? loops.loop[0].iteration_count : 0, turns);
    assert_int_equal(loops.count > 0 ? loops.loop[0].outlier_count : 0, odd);
    free(of);
    rps_arena_free(arena);
}

#define TWICE(text)  text text
#define THRICE(text) text text text
#define FIVE(text)   TWICE(text) THRICE(text)
#define EIGHT(text)  FIVE(text) THRICE(text)
#define TURN         "B" EIGHT("CD") "E"
#define THREE_DEEP   "F" FIVE("A" THRICE("BC") "D") "E"

static void loops_in_loops(void **state)
{
    (void)state;
    check_text("A" FIVE(TURN) "A", "B, 8 x (C D), E", 5, 0, 1 + 5 + 1);
    check_text(TWICE(TURN), "B, 8 x (C D), E", 2, 0, 5);
    check_text(FIVE(EIGHT("CD") "E"), "8 x (C D), E", 5, 0, 4);
    check_text(EIGHT("A" TWICE("BC") "D"), "A, 2 x (B C), D", 8, 0, 5);
    check_text(EIGHT(FIVE("AB") EIGHT("CD")), "5 x (A B), 8 x (C D)", 8, 0, 6);
    check_text(FIVE("F" FIVE("A" THRICE("BC") "D") "E"), "F, 5 x (A, 3 x (B C), D), E", 5, 0, 8);
    check_text(FIVE(TURN) "A" FIVE("A" FIVE("DEF")), "B, 8 x (C D), E; A, 5 x (D E F)", 5, 0, 11);
}

/* Inner loops have their actual number of iterations, even if the run ends within a loop. */
static void inner_iterations_vary(void **state)
{
    (void)state;
    check_text(TWICE("B" EIGHT("CD") "E"
                                     "B" FIVE("CD") THRICE("CD") "CDE"
                                                                 "BCDCD" FIVE("CD") "E"),
               "B, 7 to 9 x (C D), E", 6, 0, 5);
    check_text("A" FIVE(TURN) "BCDCDCD", "B, 8 x (C D), E", 6, 1, 1 + 5 + 1);
    /* the first D and the last C begin no iteration */
    check_text("D" FIVE(TURN) "C", "B, 8 x (C D), E", 5, 0, 1 + 5 + 1);
    check_text("D" FIVE("A" EIGHT("CD") "E"), "A, 8 x (C D), E", 5, 0, 1 + 5);
    check_text("DCDE" FIVE(TURN), "1 to 8 x (C D), E, B", 7, 3, 5 + 2);
    check_text(FIVE(TURN) "A" FIVE(TURN), "B, 8 x (C D), E", 10, 1, 5 + 1);
    check_text(FIVE("B" EIGHT("CD") "CE"), "B, 8 x (C D), C, E", 5, 0, 6);
    check_text(FIVE(TURN "B" EIGHT("CD") "CE"), "B, 8 to 9 x (C D), E", 10, 0, 5);
    check_text(FIVE(TURN) "BCDCDCDFCDCDE" FIVE(TURN), "B, 8 x (C D), E", 11, 1, 5 + 2);
}

/* If the run ends within an iteration, the iteration counts. This holds after two whole iterations
 * and within an inner loop too. */
static void the_end_cuts_an_iteration(void **state)
{
    (void)state;
    check_text("A" TWICE(TURN) "BCDCDCD", "B, 8 x (C D), E", 3, 1, 1 + 5 + 1);
    check_text("A" TWICE(TURN) "B", "B, 8 x (C D), E", 3, 1, 1 + 5 + 1);
    /* one iteration and a start are not enough for the outer loop */
    check_text("A" TURN "BCDCDCD", "C D", 11, 1, 2 + 2 + 1);
    check_text(THREE_DEEP THREE_DEEP "F" TWICE("A" THRICE("BC") "D") "ABC",
               "F, 5 x (A, 3 x (B C), D), E", 3, 1, 8 + 1);
    check_text(THRICE("A" EIGHT("CD")) "ACDCD", "A, 2 to 8 x (C D)", 4, 1, 4);
    check_text(TWICE("A" EIGHT("CD")) "ACDCD", "C D", 18, 2, 1 + 2 + 2);
}

#define LONG "BCDEFGHIJKLM"

/* Long inner loops are found in few iterations with one or two other parts. */
static void few_iterations_of_long_words(void **state)
{
    (void)state;
    check_text(TWICE("A" THRICE(LONG) "N"), "A, 3 x (B C D E F G H I J K L M), N", 2, 0, 15);
    check_text(THRICE("A" THRICE(LONG)), "A, 3 x (B C D E F G H I J K L M)", 3, 0, 14);
    check_text(TWICE("A" THRICE(LONG)), "B C D E F G H I J K L M", 6, 1, 1 + 12 + 1);
    check_text("A" THRICE(LONG) "A" TWICE(LONG) "A" FIVE(LONG), "B C D E F G H I J K L M", 10, 2,
               1 + 12 + 2);
}

/* Occasional pauses or missing parts make no outer loop. */
static void interruptions_are_no_iterations(void **state)
{
    (void)state;
    check_text(FIVE("CD") "F" EIGHT("CD") "F" EIGHT(THRICE("CD")) "F" FIVE("CD"), "C D", 42, 3, 5);
    check_text(FIVE("BCD") "BC" EIGHT("BCD") "BC" EIGHT(THRICE("BCD")) "BC" FIVE("BCD"), "B C D",
               45, 3, 6);
}

/* Check the loop fields of each phase of the third iteration, and the lengths. */
static void inner_iterations_are_numbered(void **state)
{
    struct rps_arena *arena = rps_arena_new();
    struct sequence *of = begin();
    const struct rps_loop *loop, *inner;
    const struct rps_phase *phase;
    struct rps_loops loops;

    (void)state;
    add_all(of, "A" FIVE(TURN));
    fold(of);
    phase = &of->phase[1 + 2 * 18];
    check(&phase[0], 1, 3, 1);
    assert_int_equal(phase[0].inner[0].turn, 0);
    for (int k = 1; k <= 16; k++) {
        check(&phase[k], 1, 3, k + 1);
        assert_int_equal(phase[k].inner[0].run, 2);
        assert_int_equal(phase[k].inner[0].turn, (k + 1) / 2);
        assert_int_equal(phase[k].inner[0].part, 2 - k % 2);
        assert_int_equal(phase[k].inner[1].turn, 0);
    }
    check(&phase[17], 1, 3, 18);
    loops = rps_loops_of(arena, &of->phases);
    loop = &loops.loop[0];
    inner = loop->part[1].loop;
    assert_non_null(inner);
    assert_int_equal(loop->depth, 1);
    assert_int_equal(inner->depth, 2);
    assert_int_equal(inner->iteration_count, 40);
    assert_int_equal(loop->part[1].iterations_min, 8);
    assert_true(fabs(loop->part[1].length - 96) < 1e-9 && fabs(inner->length - 12) < 1e-9);
    assert_true(fabs(inner->part[1].total - 160) < 1e-9);
    free(of);
    rps_arena_free(arena);
}

/* A sleep between two iterations is no iteration. The iteration before the sleep is an outlier. */
static void a_nap_is_no_iteration(void **state)
{
    struct rps_arena *arena = rps_arena_new();
    struct sequence *of = begin();
    struct rps_loops loops;

    (void)state;
    for (int k = 0; k < 12; k++)
        add_all(of, k % 4 == 3 && k < 11 ? "BCDF" : "BCD");
    fold(of);
    loops = rps_loops_of(arena, &of->phases);
    assert_int_equal(loops.loop[0].iteration_count, 12);
    assert_int_equal(loops.loop[0].outlier_count, 2);
    assert_int_equal(loops.loop[0].turn[3].kind, RPS_ITERATION_UNLIKE);
    assert_int_equal(loops.loop[0].turn[3].count, 4);
    check(&of->phase[12], 1, 4, 0);
    check(&of->phase[13], 1, 5, 1);
    free(of);
    rps_arena_free(arena);
}

/* Loops before and after a loop are found. Iterations are numbered through all three. */
static void a_run_has_three_loops(void **state)
{
    struct sequence *of = begin();

    (void)state;
    for (int k = 0; k < 12; k++)
        add_all(of, "ABC");
    for (int k = 0; k < 30; k++)
        add_all(of, "DEFB");
    for (int k = 0; k < 9; k++)
        add_all(of, "AC");
    assert_int_equal(fold(of), 9);
    check(&of->phase[173], 3, 51, 2);
    check(&of->phase[35], 1, 12, 3);
    check(&of->phase[36], 2, 13, 1);
    check(&of->phase[155], 2, 42, 4);
    free(of);
}

/* Three iterations of equal lengths are a loop if they are most of the run. The first iteration may
 * have another label in less than half of its parts. */
static void three_iterations(void **state)
{
    static const uint64_t lengths[] = {10, 10, 10, 20, 20, 20, 40, 40, 40};
    struct sequence *of = begin();

    (void)state;
    check_text("ABCDEBCDEBCDEF", "B C D E", 3, 0, 1 + 4 + 1);
    check_text("ABCABCABCD", "A B C", 3, 0, 3 + 1);
    check_text("KBCDEBCDEBCD", "E B C D", 3, 1, 4 + 1);
    check_text("FKBCDEBCDEBCDF", "E B C D", 3, 1, 1 + 4 + 1 + 1);
    check_text("KHCDEBCDEBCD", "", 0, 0, 12);            /* two of four parts differ */
    check_text("BCDEBCDEF", "", 0, 0, 9);                /* two iterations */
    check_text("ABCDEFBAEDFCADABCABCABC", "", 0, 0, 23); /* a small part of the run */
    for (size_t k = 0; k < 9; k++)
        add(of, (char)('A' + k % 3), lengths[k]);
    assert_int_equal(fold(of), 9);
    free(of);
}

/* Two classes that alternate irregularly, or with two rhythms, are no loop. */
static void what_is_no_loop(void **state)
{
    struct sequence *of = begin();
    uint64_t random = 3;

    (void)state;
    for (int k = 0; k < 200; k++) {
        add(of, 'A', 5 + chance(&random, 100));
        add(of, 'B', 5 + chance(&random, 100));
    }
    assert_int_equal(fold(of), 400);
    of->phases.count = 0;
    for (int k = 0; k < 51; k++) {
        add(of, 'A', 40);
        add(of, 'B', 8);
        if (k == 25)
            continue;
        add(of, 'A', 4);
        add(of, 'B', 5);
    }
    assert_int_equal(fold(of), 202);
    free(of);
}

/* Two iterations of A B C are not taken for one: the loop that saves most rows is chosen. */
static void an_iteration_is_not_made_of_iterations(void **state)
{
    struct sequence *of = begin();

    (void)state;
    for (int k = 0; k < 40; k++)
        add_all(of, "ABC");
    assert_int_equal(fold(of), 3);
    assert_int_equal(of->phase[119].turn, 40);
    free(of);
}

/* Return the share of whole iterations that are found in loops of 4 parts. A part is left out or
 * added with a chance of `in_100` percent. */
static double found_whole(int turns, uint64_t in_100)
{
    double found = 0;

    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct sequence *of = begin();
        uint64_t random = seed, whole = 0, there = 0;

        add_all(of, "A");
        for (int k = 0; k < turns; k++) {
            uint64_t part = 1 + chance(&random, 2);
            int broken = chance(&random, 100) < in_100, added = broken && chance(&random, 2);

            there += !broken;
            for (size_t p = 0; p < 4; p++) {
                if (added && p == part)
                    add_all(of, "F");
                if (!broken || added || p != part)
                    add_all(of, &"B\0C\0D\0E"[2 * p]);
            }
        }
        add_all(of, "F");
        fold(of);
        for (size_t i = 0; i < of->phases.count; i++)
            whole += of->phase[i].part == 4;
        found += (double)whole / (double)there / 20;
        free(of);
    }
    return found;
}

static void broken_loops_are_found(void **state)
{
    (void)state;
    assert_true(found_whole(60, 2) > .99);
    assert_true(found_whole(60, 5) > .99);
    assert_true(found_whole(500, 5) > .99);
    assert_true(found_whole(500, 10) > .99);
}

/* Return how many of 100 sequences of random labels are taken for loops. Neighbouring labels
 * differ. Lengths vary little if `is_even`, otherwise much. */
static size_t loops_by_chance(int stretches, uint64_t kinds, int is_even)
{
    size_t loops = 0;

    for (uint64_t seed = 1; seed <= 100; seed++) {
        struct sequence *of = begin();
        uint64_t random = seed * 77;
        char letter = 'A';

        for (int i = 0; i < stretches; i++) {
            double unit = (1 + (double)chance(&random, 1000)) / 1001;

            letter =
                (char)('A' + ((uint64_t)(letter - 'A') + 1 + chance(&random, kinds - 1)) % kinds);
            add(of, letter, 20 + (uint64_t)(is_even ? 20 * unit : -80 * log(unit)));
        }
        loops += fold(of) < (size_t)stretches;
        free(of);
    }
    return loops;
}

static void chance_is_no_loop(void **state)
{
    static const struct {
        int stretches;
        uint64_t kinds;
        int is_even;
        size_t most;
    } cases[] = {{120, 2, 0, 1}, {120, 3, 0, 1}, {120, 4, 0, 1}, {120, 6, 0, 1}, {12, 4, 0, 1},
                 {20, 5, 0, 1},  {20, 6, 1, 2},  {400, 3, 1, 2}, {400, 4, 1, 2}, {400, 6, 1, 2}};

    (void)state;
    for (size_t k = 0; k < sizeof(cases) / sizeof(cases[0]); k++) {
        size_t loops = loops_by_chance(cases[k].stretches, cases[k].kinds, cases[k].is_even);

        if (loops > cases[k].most)
            fail_msg("%zu of 100 random sequences of %d kinds are loops", loops,
                     (int)cases[k].kinds);
    }
}

/* The end of the run belongs to an iteration that has begun, if its phases match the other
 * iterations. */
static void the_last_iteration(void **state)
{
    static const struct {
        const char *end, *turn;
    } ends[] = {{"", "iteration 10 of B C D E"},
                {"B", "iteration 11 of B C D E"},
                {"BC", "iteration 11 of B C D E"},
                {"F", ""},
                {"BD", ""},
                {"BCEF", ""}};
    char text[RPS_LOOPS_ITERATION_SIZE];

    (void)state;
    for (size_t k = 0; k < sizeof(ends) / sizeof(ends[0]); k++) {
        struct sequence *of = begin();

        add_all(of, "A");
        for (int turn = 0; turn < 10; turn++)
            add_all(of, "BCDE");
        add_all(of, ends[k].end);
        fold(of);
        assert_string_equal(rps_loops_iteration_text(&of->phases, text), ends[k].turn);
        free(of);
    }
    assert_string_equal(rps_loops_iteration_text(&(struct rps_phases){0}, text), "");
}

/* A text without room for all parts ends with "...", and not within a part. */
static void an_iteration_of_many_parts(void **state)
{
    struct sequence *of = begin();
    char text[RPS_LOOPS_ITERATION_SIZE];

    (void)state;
    add_all(of, "A");
    for (int turn = 0; turn < 10; turn++)
        add_all(of, "BCDEFGHIBCDEFGHIBCDEFGHIJKLMNOPQJKLMNOPQJKLMNOPQRSTUVW");
    fold(of);
    assert_string_equal(rps_loops_iteration_text(&of->phases, text),
                        "iteration 10 of 3 x (B C D E ...), 3 x (J K L M ...), R, S, ...");
    free(of);
}

/* Iterations before an interruption belong to the loop, even if more iterations come after the
 * interruption. */
static void a_loop_begins_before_an_interruption(void **state)
{
    struct sequence *of = begin();

    (void)state;
    for (int k = 0; k < 14; k++)
        add_all(of, k == 2 ? "EFEFEFEFEFABCD" : "ABCD");
    fold(of);
    check(&of->phase[0], 1, 1, 1);
    check(&of->phase[7], 1, 2, 4);
    check(&of->phase[8], 1, 2, 0); /* end of the previous iteration */
    check(&of->phase[18], 1, 3, 1);
    check(&of->phase[of->phases.count - 1], 1, 14, 4);
    free(of);
}

/* Three parts of very different lengths are a loop if their order cannot be random. */
static void a_loop_of_uneven_iterations(void **state)
{
    struct sequence *of = begin();

    (void)state;
    for (int k = 0; k < 12; k++)
        for (char letter = 'A'; letter < 'D'; letter++)
            add(of, letter, 10 + (uint64_t)(k * k * 7 % 90));
    assert_int_equal(fold(of), 3);
    free(of);
}

/* Only a part of the phases is folded. The other phases stay unchanged. */
static void a_part_is_folded(void **state)
{
    struct sequence *of = begin();

    (void)state;
    for (int k = 0; k < 20; k++)
        add_all(of, "ABC");
    assert_int_equal(rps_loops_fold(&of->phases, 30, 60), 3);
    check(&of->phase[29], 0, 0, 0);
    check(&of->phase[30], 1, 1, 1);
    free(of);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_loop_between_other_phases),
        cmocka_unit_test(iterations_are_odd),
        cmocka_unit_test(loops_in_loops),
        cmocka_unit_test(inner_iterations_vary),
        cmocka_unit_test(the_end_cuts_an_iteration),
        cmocka_unit_test(few_iterations_of_long_words),
        cmocka_unit_test(interruptions_are_no_iterations),
        cmocka_unit_test(inner_iterations_are_numbered),
        cmocka_unit_test(a_nap_is_no_iteration),
        cmocka_unit_test(a_run_has_three_loops),
        cmocka_unit_test(three_iterations),
        cmocka_unit_test(what_is_no_loop),
        cmocka_unit_test(an_iteration_is_not_made_of_iterations),
        cmocka_unit_test(broken_loops_are_found),
        cmocka_unit_test(chance_is_no_loop),
        cmocka_unit_test(the_last_iteration),
        cmocka_unit_test(an_iteration_of_many_parts),
        cmocka_unit_test(a_loop_begins_before_an_interruption),
        cmocka_unit_test(a_loop_of_uneven_iterations),
        cmocka_unit_test(a_part_is_folded),
    };

    return cmocka_run_group_tests_name("fold", tests, NULL, NULL);
}
