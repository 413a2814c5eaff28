/* Tests of rollups over runs of every shape: the blocks that exist, their contents, and that a
 * rolled-back transaction leaves no trace. */
#include "shapes.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "store/writer.h"
#include "rpistat/moments.h"

/* --- rows that come out ----------------------------------------------------------------------- */

struct rows {
    size_t count, room;
    struct rps_period *row; /* rows; owned by the struct */
    uint64_t fail;          /* number of the call that fails; 0: none */
};

static int keep_row(void *context, const struct rps_period *row)
{
    struct rows *rows = context;

    if (rows->fail > 0 && --rows->fail == 0)
        return SQLITE_BUSY;
    if (rows->count == rows->room) {
        rows->room = rows->room ? 2 * rows->room : 64;
        rows->row = realloc(rows->row, rows->room * sizeof(*rows->row));
        assert_non_null(rows->row);
    }
    rows->row[rows->count] = *row;
    if (row->scatter) {
        struct rps_scatter *scatter = malloc(sizeof(*scatter));

        assert_non_null(scatter);
        *scatter = *row->scatter;
        rows->row[rows->count].scatter = scatter;
    }
    rows->count++;
    return SQLITE_OK;
}

static void free_rows(struct rows *rows)
{
    for (size_t i = 0; i < rows->count; i++)
        free((void *)rows->row[i].scatter);
    free(rows->row);
}

static void roll_up(const struct shape *shape, struct rows *ret)
{
    const struct rps_rollup_sink sink = {ret, keep_row};
    struct rps_rollup *rollup = rps_rollup_new(shape->options.sets, &sink);

    memset(ret, 0, sizeof(*ret));
    for (size_t i = 0; i < shape->count; i++)
        assert_int_equal(rps_rollup_add(rollup, &shape->period[i]), SQLITE_OK);
    assert_int_equal(rps_rollup_end(rollup), SQLITE_OK);
    rps_rollup_free(rollup);
}

/* --- blocks, found otherwise ------------------------------------------------------------------ */

struct rotation {
    uint64_t number, first; /* rotation number, and number of its first period */
    uint32_t counted;       /* counted slots, two bits per set; with `running` */
    uint32_t running;       /* sets in which any event was on a counter */
    bool joined;            /* The rotation follows the previous one. */
};

/* The periods of a CPU, in order. */
static size_t periods_of(const struct shape *shape, int32_t cpu, const struct rps_period **ret)
{
    size_t count = 0;

    for (size_t i = 0; i < shape->count; i++) {
        if (shape->period[i].cpu == cpu)
            ret[count++] = &shape->period[i];
    }
    return count;
}

/* Find the complete rotations among the periods. */
static size_t find_rotations(const struct rps_period *const *period, size_t count, int sets,
                             struct rotation *ret)
{
    size_t found = 0, end = 0; /* end: index after the last complete rotation */

    for (size_t i = 0; i + (size_t)sets <= count; i++) {
        struct rotation rotation = {period[i]->rotation, period[i]->period, 0, 0, false};
        uint32_t there = 0;
        size_t n = 0;

        if (i > 0 && period[i - 1]->rotation == period[i]->rotation)
            continue;
        for (; n < (size_t)sets && period[i + n]->rotation == rotation.number &&
               (n == 0 || shape_follows(period[i + n - 1], period[i + n]));
             n++) {
            uint32_t set = period[i + n]->set_no;

            there |= 1u << set;
            rotation.counted |= period[i + n]->counted << (2 * set);
            rotation.running |= (period[i + n]->running_ns > 0) << set;
        }
        if (n < (size_t)sets || there != (1u << sets) - 1)
            continue;
        rotation.joined = found > 0 && end == i && ret[found - 1].number + 1 == rotation.number &&
                          shape_follows(period[i - 1], period[i]);
        ret[found++] = rotation;
        end = i + (size_t)sets;
    }
    return found;
}

/* Return whether a rotation may join a block with this mask. The rotation is added to the mask. */
static bool match(struct rotation *block, const struct rotation *rotation, int sets)
{
    for (int set = 0; set < sets; set++) {
        if ((block->running & rotation->running & (1u << set)) &&
            ((block->counted ^ rotation->counted) & (3u << (2 * set))))
            return false;
    }
    for (int set = 0; set < sets; set++) {
        if (!(block->running & (1u << set)))
            block->counted =
                (block->counted & ~(3u << (2 * set))) | (rotation->counted & (3u << (2 * set)));
    }
    block->running |= rotation->running;
    return true;
}

/* Expect that the rows of a level are those of the blocks. A change of the counted slots also ends
 * a block of level 1. */
static void expect_level(const struct shape *shape, const struct rows *rows, int32_t cpu, int level,
                         const struct rotation *rotation, size_t count)
{
    size_t at = 0, sets = (size_t)shape->options.sets;

    for (size_t i = 0, n; i < count; i += n) {
        struct rotation block = rotation[i];

        for (n = 1; i + n < count && rotation[i + n].joined &&
                    rotation[i + n].number >> (4 * level) == block.number >> (4 * level) &&
                    match(&block, &rotation[i + n], shape->options.sets);
             n++)
            ;
        for (size_t set = 0; set < sets; at++) {
            assert_true(at < rows->count);
            if (rows->row[at].level != level || rows->row[at].cpu != cpu)
                continue;
            if (rows->row[at].rotation != block.number || rows->row[at].merged != n)
                fail_msg("seed %" PRIu64 ", level %d, CPU %d: a block of %" PRIu64
                         " rotations from %" PRIu64 ", not of %zu from %" PRIu64,
                         shape->options.seed, level, cpu, rows->row[at].merged,
                         rows->row[at].rotation, n, block.number);
            assert_int_equal(rows->row[at].set_no, set);
            set++;
        }
    }
    for (; at < rows->count; at++)
        assert_false(rows->row[at].level == level && rows->row[at].cpu == cpu);
}

static void expect_blocks(const struct shape *shape, const struct rows *rows)
{
    const struct rps_period **period = calloc(shape->count + 1, sizeof(*period));
    struct rotation *rotation = calloc(shape->count + 1, sizeof(*rotation));

    assert_true(period && rotation);
    for (int n = 0; n < shape->options.cpus; n++) {
        int32_t cpu = shape->options.cpus > 1 ? 2 * n : RPS_CPU_ALL;
        size_t periods = periods_of(shape, cpu, period);
        size_t rotations = find_rotations(period, periods, shape->options.sets, rotation);

        for (int level = 1; level <= RPS_LEVELS; level++) {
            /* If nothing could be counted for a while, several ways of joining blocks are correct.
             */
            if (level == 1 || !(shape->options.changes && shape->options.sleeps))
                expect_level(shape, rows, cpu, level, rotation, rotations);
        }
    }
    for (size_t i = 0; i < rows->count; i++)
        shape_expect_row(shape, &rows->row[i], NULL);
    free(rotation);
    free(period);
}

static void blocks_of_every_shape(void **state)
{
    size_t count = 0;

    (void)state;
    for (uint64_t seed = 0; seed < 300; seed++) {
        struct shape_options options = shape_options_of(seed, seed % 50 == 0 ? 6000 : 600);
        struct shape shape;
        struct rows rows;

        shape_make(&shape, &options);
        roll_up(&shape, &rows);
        expect_blocks(&shape, &rows);
        count += rows.count;
        free_rows(&rows);
        shape_free(&shape);
    }
    print_message("# %zu rows of rollups, each the sum of its periods\n", count);
}

/* --- by hand ---------------------------------------------------------------------------------- */

static void the_grid(void **state)
{
    const struct shape_options options = {.seed = 5, .sets = 2, .cpus = 1, .rotations = 5000};
    static const size_t blocks[] = {0, 313, 20, 2, 1}; /* 5000 divided by 16, 256, 4096 and 65536 */
    struct shape shape;
    struct rows rows;

    (void)state;
    shape_make(&shape, &options);
    roll_up(&shape, &rows);
    for (int level = 1; level <= RPS_LEVELS; level++) {
        uint64_t merged = 0;
        size_t count = 0;

        for (size_t i = 0; i < rows.count; i++) {
            count += rows.row[i].level == level;
            merged += rows.row[i].level == level ? rows.row[i].merged : 0;
        }
        assert_int_equal(count, 2 * blocks[level]);
        assert_int_equal(merged, 2 * 5000);
    }
    free_rows(&rows);
    shape_free(&shape);
}

/* A row appears with the last period of its block and not earlier. Finer rows appear before coarser
 * rows. */
static void as_soon_as_complete(void **state)
{
    const struct shape_options options = {.seed = 6, .sets = 3, .cpus = 1, .rotations = 300};
    struct rows rows = {0};
    const struct rps_rollup_sink sink = {&rows, keep_row};
    struct rps_rollup *rollup = rps_rollup_new(3, &sink);
    struct shape shape;

    (void)state;
    shape_make(&shape, &options);
    for (size_t i = 0; i < shape.count; i++) {
        uint64_t whole = (i + 1) / 3;

        assert_int_equal(rps_rollup_add(rollup, &shape.period[i]), SQLITE_OK);
        assert_int_equal(rows.count, 3 * (whole / 16 + whole / 256));
    }
    rps_rollup_free(rollup);
    free_rows(&rows);
    shape_free(&shape);
}

/* --- transactions ----------------------------------------------------------------------------- */

/* Write a shape in batches; some fail at random and are written again. */
static void roll_up_with_failures(const struct shape *shape, uint64_t seed, struct rows *ret,
                                  size_t *ret_failures)
{
    const struct rps_rollup_sink sink = {ret, keep_row};
    struct rps_rollup *rollup = rps_rollup_new(shape->options.sets, &sink);
    uint64_t state = seed;
    bool ended = false;

    memset(ret, 0, sizeof(*ret));
    for (size_t at = 0; !ended;) {
        size_t end = at + shape_random(&state, 200), before = ret->count;
        int code = SQLITE_OK;

        end = end < shape->count ? end : shape->count;
        ret->fail = shape_random(&state, 3) ? 0 : 1 + shape_random(&state, 20);
        for (size_t i = at; i < end && code == SQLITE_OK; i++)
            code = rps_rollup_add(rollup, &shape->period[i]);
        if (code == SQLITE_OK && end == shape->count) {
            code = rps_rollup_end(rollup);
            ended = true;
        }
        if (code == SQLITE_OK && shape_random(&state, 5) > 0) {
            rps_rollup_commit(rollup);
            at = end;
            continue;
        }
        /* An insert or the COMMIT failed. */
        rps_rollup_roll_back(rollup);
        while (ret->count > before)
            free((void *)ret->row[--ret->count].scatter);
        ended = false;
        ++*ret_failures;
    }
    rps_rollup_free(rollup);
}

static int compare_rows(const void *a, const void *b)
{
    return memcmp(a, b, sizeof(struct rps_period));
}

/* Expect equal rows and equal scatter of their periods. */
static void expect_same(struct rows *a, struct rows *b)
{
    assert_int_equal(a->count, b->count);
    for (size_t n = 0; n < 2 && a->count > 0; n++) {
        struct rows *rows = n == 0 ? a : b;

        qsort(rows->row, rows->count, sizeof(*rows->row), compare_rows);
    }
    for (size_t i = 0; i < a->count; i++) {
        struct rps_period row = a->row[i], other = b->row[i];

        assert_non_null(row.scatter);
        assert_non_null(other.scatter);
        assert_memory_equal(row.scatter, other.scatter, sizeof(*row.scatter));
        row.scatter = other.scatter = NULL;
        assert_memory_equal(&row, &other, sizeof(row));
    }
}

static void rolled_back(void **state)
{
    size_t failures = 0;

    (void)state;
    for (uint64_t seed = 0; seed < 200; seed++) {
        struct shape_options options = shape_options_of(seed, 1500);
        struct rows rows, again;
        struct shape shape;

        shape_make(&shape, &options);
        roll_up(&shape, &rows);
        roll_up_with_failures(&shape, seed, &again, &failures);
        expect_same(&rows, &again);
        free_rows(&rows);
        free_rows(&again);
        shape_free(&shape);
    }
    assert_true(failures > 200);
}

/* --- blocks in place of periods --------------------------------------------------------------- */

/* Return the rows of the block of a level that begins with the period, or NULL if there is no such
 * block. */
static const struct rps_period *block_at(const struct rows *rows, size_t sets, int level,
                                         const struct rps_period *first)
{
    for (size_t i = 0; i < rows->count; i += sets) {
        const struct rps_period *row = &rows->row[i];
        uint64_t number = row->period;

        for (size_t n = 1; n < sets; n++)
            number = row[n].period < number ? row[n].period : number;
        if (row->level == level && row->cpu == first->cpu && number == first->period)
            return row;
    }
    return NULL;
}

/* Remove from the list the rows of the block, and all finer rows that it replaces. */
static void take_out(struct rows *rows, struct rps_period block)
{
    size_t kept = 0;

    for (size_t i = 0; i < rows->count; i++) {
        const struct rps_period *row = &rows->row[i];

        if (row->cpu != block.cpu || row->level > block.level || row->rotation < block.rotation ||
            row->rotation >= block.rotation + block.merged)
            rows->row[kept++] = *row;
        else
            free((void *)row->scatter);
    }
    rows->count = kept;
}

static uint64_t last_of(const struct rps_period *block, size_t sets)
{
    uint64_t last = 0;

    for (size_t n = 0; n < sets; n++)
        last = block[n].last_period > last ? block[n].last_period : last;
    return last;
}

/* Roll up a shape in which some periods are replaced by their blocks in `all`. The expected rows
 * stay in `all`. */
static void roll_up_downsampled(const struct shape *shape, struct rows *all, struct rows *ret)
{
    const struct rps_rollup_sink sink = {ret, keep_row};
    struct rps_rollup *rollup = rps_rollup_new(shape->options.sets, &sink);
    size_t sets = (size_t)shape->options.sets;
    uint64_t state = shape->options.seed, next[64] = {0};

    memset(ret, 0, sizeof(*ret));
    for (size_t i = 0; i < shape->count; i++) {
        const struct rps_period *period = &shape->period[i], *block = NULL;
        uint64_t *at = &next[period->cpu + 1];
        int level = (int)shape_random(&state, RPS_LEVELS + 1);

        if (period->period < *at)
            continue;
        for (; level > 0 && !block; level--)
            block = block_at(all, sets, level, period);
        if (block) {
            *at = last_of(block, sets) + 1;
            assert_int_equal(rps_rollup_add_block(rollup, block), SQLITE_OK);
            take_out(all, *block);
        } else {
            assert_int_equal(rps_rollup_add(rollup, period), SQLITE_OK);
        }
    }
    assert_int_equal(rps_rollup_end(rollup), SQLITE_OK);
    rps_rollup_free(rollup);
}

/* Coarser blocks are equal, whether they are made of periods or of remaining finer blocks. */
static void blocks_of_blocks(void **state)
{
    size_t given = 0;

    (void)state;
    for (uint64_t seed = 0; seed < 200; seed++) {
        struct shape_options options = shape_options_of(seed, seed % 50 == 0 ? 6000 : 1200);
        struct rows rows, again;
        struct shape shape;

        shape_make(&shape, &options);
        roll_up(&shape, &rows);
        given += rows.count;
        roll_up_downsampled(&shape, &rows, &again);
        given -= rows.count;
        expect_same(&rows, &again);
        free_rows(&rows);
        free_rows(&again);
        shape_free(&shape);
    }
    assert_true(given > 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_of_every_shape), cmocka_unit_test(the_grid),
        cmocka_unit_test(as_soon_as_complete),   cmocka_unit_test(rolled_back),
        cmocka_unit_test(blocks_of_blocks),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
