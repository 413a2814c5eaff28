/* Functions that query a finished comparison. find.c creates the comparison. */
#include "rpistat/comparison.h"

#include <math.h>
#include <string.h>

#include "work.h"

#define ALL_OF_IT .01 /* a phase is the whole run if at most this share is outside it */

void rps_comparison_add_remark(struct rps_comparison *comparison, char *text)
{
    comparison->remark = rps_arena_grow(comparison->arena, comparison->remark,
                                        comparison->remark_count, sizeof(*comparison->remark));
    comparison->remark[comparison->remark_count++] = text;
}

int rps_comparison_figure(const struct rps_comparison *comparison, const char *name)
{
    for (size_t f = 0; f < comparison->figure_count; f++) {
        if (strcmp(comparison->figure[f].name, name) == 0)
            return (int)f;
    }
    return -1;
}

int rps_comparison_is_new(const struct rps_comparison *comparison, size_t row)
{
    const enum rps_comparison_side side =
        comparison->row[row].a_times > 0 ? RPS_SIDE_A : RPS_SIDE_B;

    for (size_t r = 0; r < comparison->run_count; r++) {
        const struct rps_phases *phases = &comparison->run[r].phases;
        size_t i = 0;

        while (i < phases->count && phases->phase[i].label != comparison->row[row].label)
            i++;
        if (comparison->run[r].side == side && phases->count > 0 && i == phases->count)
            return 0;
    }
    return (comparison->row[row].a_times == 0 || comparison->row[row].b_times == 0) &&
           rps_change_rank_chance(comparison->a_count, comparison->b_count) < RPS_CHANGE_ALPHA;
}

enum rps_comparison_verdict rps_comparison_verdict(const struct rps_change *change)
{
    if (isnan(change->adjusted) || isnan(change->a) || isnan(change->b))
        return RPS_VERDICT_NONE;
    if (change->p >= RPS_CHANGE_ALPHA)
        return RPS_VERDICT_SAME;
    if (change->adjusted >= RPS_CHANGE_ALPHA || change->is_few)
        return change->b < change->a ? RPS_VERDICT_PERHAPS_LESS : RPS_VERDICT_PERHAPS_MORE;
    return change->b < change->a ? RPS_VERDICT_LESS : RPS_VERDICT_MORE;
}

int rps_comparison_has_one_store(const struct rps_comparison *comparison)
{
    for (size_t i = 1; i < comparison->run_count; i++) {
        if (strcmp(comparison->run[i].store, comparison->run[0].store) != 0)
            return 0;
    }
    return 1;
}

size_t rps_comparison_shown_rows(const struct rps_comparison *comparison)
{
    const struct rps_comparison_row *row = comparison->row;
    int elapsed = rps_comparison_figure(comparison, "elapsed");

    if (comparison->row_count != 2 || elapsed < 0)
        return comparison->row_count;
    return fabs(row[1].change[elapsed].a / row[0].change[elapsed].a - 1) < ALL_OF_IT &&
                   fabs(row[1].change[elapsed].b / row[0].change[elapsed].b - 1) < ALL_OF_IT
               ? 1
               : 2;
}

void rps_comparison_each_family(struct rps_comparison *comparison, rps_comparison_family *family)
{
    size_t rows = comparison->row_count, end = rps_comparison_shown_rows(comparison);

    family(comparison, 0, end);
    if (end < rows)
        family(comparison, end, rows);
}
