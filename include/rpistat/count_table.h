/* Counts of symbols in observations: how many samples were in each function, or how often a program
 * used each of its states. Phases are found from counts of symbols and from counters. Segments are
 * compared by their shares of symbols, regardless of how many counts they have, because a period
 * has only one or two samples. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Maximum number of symbols of a table. All other symbols count as one symbol. */
#define RPS_COUNT_SYMBOLS_MAX 60

/* If samples are dense, this number of counts is as informative as one independent count.
 * Neighbouring samples are often in the same function. */
#define RPS_COUNT_SAMPLE_DIVISOR 1.5

struct rps_count {
    size_t observation;
    uint32_t symbol;
    float count; /* Count above 0, possibly a fraction */
};

struct rps_count_table {
    size_t count;   /* Number of observations */
    size_t width;   /* Number of symbols; the last may represent all other symbols */
    double divisor; /* Number of counts that are as informative as one independent count */
    size_t *begin;  /* Index of entries (owned): observation i has begin[i] ... begin[i + 1] - 1 */
    struct rps_count *entry; /* Entries by observation and symbol, each pair once (owned) */
    int is_read;             /* 1: counts are readings of a state, not random draws */
};

/* Make a table from counts in any order. Counts of one symbol in one observation add up. The table
 * then owns *counts, which must come from malloc. If memory runs out, the program ends. */
struct rps_count_table rps_count_table_make(size_t count, size_t width, double divisor,
                                            struct rps_count *counts, size_t counts_count);

/* Join tables with equal symbols into one, in order. The result has the largest divisor. */
struct rps_count_table rps_count_table_join(const struct rps_count_table *const *table,
                                            size_t tables);

/* Release the memory that the struct points to, and zero the struct. */
void rps_count_table_free(struct rps_count_table *table);
