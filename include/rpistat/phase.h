/*
 * A phase: a time range of a run in which the event rates stay alike. A phase that recurs keeps its
 * label. The detector makes phases of observations, the store keeps them as rows of `phase`, and
 * charts shade them.
 */
#ifndef RPISTAT_PHASE_H
#define RPISTAT_PHASE_H

#include <stddef.h>
#include <stdint.h>

#include "rpistat/error.h"

/* Size of a remark on all phases of a run. */
#define RPS_PHASE_REMARK_SIZE 512

/* Levels of inner loops inside a loop, at most. */
#define RPS_PHASE_INNER_MAX 2

/* The iteration of an inner loop that a phase is in. Values count from 1; 0: in no inner loop. */
struct rps_inner_turn {
    int run;  /* consecutive inner iterations: which part of the outer iteration they are */
    int turn; /* number of the inner iteration in the outer iteration */
    int part; /* number of the phase in the inner iteration */
};

struct rps_phase {
    uint64_t first, last;      /* observations of the detector, or a run's period numbers; both
                                  inclusive, from 0 */
    uint64_t earliest, latest; /* `first` may lie anywhere in [earliest, latest]; both are `first`
                                  for the first phase and after a gap */
    int64_t start_ns, end_ns;  /* since the start of the run; 0 for observations without times */
    int label;                 /* 0: A; numbered by first appearance */
    double confidence;       /* that there is a boundary at `first`, 0 ... 1; 1 for the first phase
                                and after a gap */
    double label_confidence; /* that the phase has this label and no other, 0 ... 1 */
    int trend; /* of a ramp, in which the values change steadily: 1 or -1, the direction of the
                  value that changes most; 0: no known ramp, or a stored phase */
    int loop, turn, part; /* in loops (rpistat/fold.h): number of the loop, the iteration, and the
                             phase in it, from 1; 0: none (part: or an outlier iteration) */
    struct rps_inner_turn
        inner[RPS_PHASE_INNER_MAX]; /* in inner loops, outermost first; not stored */
};

/* Phases in order of time; they cover the whole run without overlap. */
struct rps_phases {
    size_t count;
    struct rps_phase *phase; /* owned */
    int label_count;         /* distinct labels */
    size_t outlier_count;    /* observations unlike all around them, ascending */
    uint64_t *outlier;       /* owned */
    int64_t *outlier_ns;     /* owned; the start and end of each; NULL: unknown */
    uint64_t wide;           /* numbers of an outlier after its own: 15 for a block of 16 periods */
};

/* The phases of a run at several levels, from coarse to fine: every boundary of one level is a
 * boundary of the next. Outliers are the same for all; the level that is shown holds them. */
struct rps_phase_levels {
    size_t count;
    struct rps_phases *level; /* owned */
    size_t shown;             /* index of the default level */
};

/* Size for the longest label. */
#define RPS_PHASE_LABEL_SIZE 16

/* Return the text of a label: A ... Z, AA, AB ...; it is written into text. */
const char *rps_phase_label(int label, char text[RPS_PHASE_LABEL_SIZE]);

/* Return the label that a text means (in any case), or -1. */
int rps_phase_label_parse(const char *text);

/*
 * Give the phases of a later analysis of a run, which may see less of its beginning, the labels of
 * `before`. A label becomes the one that it shares most time with, each at most once. One that
 * shares none becomes the first that neither has. label_count is then the highest label and one.
 * Phases need their times. Return RPS_FAILED without memory, and change nothing.
 */
int rps_phases_keep_labels(struct rps_phases *phases, const struct rps_phases *before,
                           struct rps_error *err);

/* Return the index of the phase that contains a period, SIZE_MAX for none. *at is where the last
 * one was found, 0 at first: periods in order of time are found at once. */
size_t rps_phases_at(const struct rps_phases *phases, uint64_t period, size_t *at);

/* Return 1 if any phase is in a loop. */
int rps_phases_repeat(const struct rps_phases *phases);

/* Return when the observation or period of that number begins, ns. It is exact at the bounds of
 * phases, and of outliers whose times are known; inside a phase it is interpolated. */
int64_t rps_phases_time(const struct rps_phases *phases, uint64_t number);

/* Release the memory of the struct and zero it; the struct itself is the caller's. */
void rps_phases_free(struct rps_phases *phases);
/* Return the phases of the level that is shown. */
struct rps_phases *rps_phase_levels_shown(const struct rps_phase_levels *levels);
void rps_phase_levels_free(struct rps_phase_levels *levels);

#endif
