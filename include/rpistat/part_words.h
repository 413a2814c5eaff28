/* Text for segments of a run that are not phases: bursts, outliers, a range of time. */
#ifndef RPISTAT_PART_WORDS_H
#define RPISTAT_PART_WORDS_H

#include <stdint.h>

#include "rpistat/arena.h"
#include "rpistat/cpus.h"
#include "rpistat/error.h"
#include "rpistat/part_shares.h"
#include "rpistat/phase.h"
#include "rpistat/run_part.h"

/* Return the segments of a part as phases whose labels are the groups. The gaps between the
 * segments, from period `first` to `last`, are phases of the label `rest`. Segments are in order;
 * if one overlaps an earlier one, the overlap is left out. The phases are the arena's; the caller
 * sets label_count and times. */
struct rps_phases rps_part_words_phases(struct rps_arena *arena, const struct rps_run_part *part,
                                        uint64_t first, uint64_t last, int rest);

/* Describe how each label of these phases differs from the whole run, as rps_profile_words does.
 * The array, one text per label, is the arena's. `shares` has one group per label, or none. It
 * walks the run once. Errors: those of rps_profile_run. */
int rps_part_words_find(struct rps_arena *arena, struct rps_reader *reader, int64_t run_id,
                        const struct rps_cpus *cpus, const struct rps_phases *phases,
                        const struct rps_part_shares *shares, const char ***ret,
                        struct rps_error *err);

#endif
