/*
 * Counts of symbols in observations: how often samples were in each function, or how often a
 * program used each of its states. They are signals of phases in addition to the counters. The mix
 * of a segment is compared regardless of the number of its counts: a period has one sample or two.
 */
#ifndef RPISTAT_COUNT_TABLE_H
#define RPISTAT_COUNT_TABLE_H

#include <stddef.h>
#include <stdint.h>

/* Symbols that a table distinguishes; the others are one symbol. */
#define RPS_COUNT_SYMBOLS_MAX 60

/* This many counts of dense samples are worth one independent count, because neighbouring samples
 * are often in one function. */
#define RPS_COUNT_SAMPLE_DIVISOR 1.5

struct rps_count {
    size_t observation;
    uint32_t symbol;
    float count; /* above 0; need not be whole */
};

struct rps_count_table {
    size_t count;   /* observations */
    size_t width;   /* symbols, of which the last may represent all others */
    double divisor; /* number of counts worth one independent count */
    size_t *begin;  /* owned; observation i has the entries begin[i] ... begin[i + 1] - 1 */
    struct rps_count *entry; /* owned; in order of observations and symbols, each pair once */
    int is_read;             /* 1: counts are readings of a state, not random draws */
};

/*
 * Make a table of counts in any order; those of one symbol in one observation add up. The table
 * owns *counts, from malloc, from then on. Without memory the program ends, rpistat/arena.h.
 */
struct rps_count_table rps_count_table_make(size_t count, size_t width, double divisor,
                                            struct rps_count *counts, size_t counts_count);

/* Append tables of the same symbols to each other. The result has the largest of their divisors. */
struct rps_count_table rps_count_table_join(const struct rps_count_table *const *table,
                                            size_t tables);

/* Release what the struct points to and zero it. */
void rps_count_table_free(struct rps_count_table *table);

#endif
