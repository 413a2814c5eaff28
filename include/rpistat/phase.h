/* A phase: a time range of a run in which the event rates stay alike. A phase that recurs keeps its
 * label. The detector finds phases in observations. The store has phases as rows of table `phase`,
 * and charts show phases as shaded areas. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "rpistat/error.h"

/* Size of a remark on all phases of a run. */
#define RPS_PHASE_REMARK_SIZE 512

/* Maximum number of levels of inner loops in a loop. */
#define RPS_PHASE_INNER_MAX 2

/* Iteration of an inner loop that contains a phase. Values begin at 1; 0 means no inner loop. */
struct rps_inner_turn {
    int run;  /* Number of the part of the outer iteration that has these inner iterations */
    int turn; /* Number of the inner iteration in the outer iteration */
    int part; /* Number of the phase in the inner iteration */
};

struct rps_phase {
    uint64_t first, last;      /* First and last observation of the detector, or period of a run,
                                  inclusive, from 0 */
    uint64_t earliest, latest; /* Range in which `first` may lie. For the first phase and after a
                                  gap, both ends are `first`. */
    int64_t start_ns, end_ns;  /* Start and end of the phase since the start of the run (0: no
                                  times) */
    int label;                 /* Label (0: A), numbered by first appearance */
    double confidence;         /* Confidence that values change at `first`, 0 ... 1; 1 for the
                                first phase. After a gap, a boundary may have low confidence */
    double label_confidence;   /* Confidence that the phase has this label, 0 ... 1; below
                                  RPS_PHASE_LABEL_SURE, the label is shown with "?" */
    int trend; /* 1 or -1 for a ramp, in which values change steadily: direction of the value
                  that changes most. 0: no known ramp, or a phase from a store */
    int loop, turn, part; /* Numbers, from 1, of the loop (rpistat/loops.h), the iteration, and
                             the phase in the iteration. 0: none; `part` is also 0 in an outlier
                             iteration */
    struct rps_inner_turn
        inner[RPS_PHASE_INNER_MAX]; /* Iterations of inner loops, outermost first (not stored) */
};

/* Phases in order of time. They cover the whole run without overlap. The arrays are in the arena of
 * the function that returned them. */
struct rps_phases {
    size_t count;
    struct rps_phase *phase;
    int label_count;      /* Number of distinct labels */
    size_t outlier_count; /* Number of outliers: observations unlike all around them */
    uint64_t *outlier;    /* Numbers of the outliers, ascending */
    int64_t *outlier_ns;  /* Start and end of each outlier (NULL: unknown) */
    uint64_t wide;        /* Observations of an outlier after its first: 15 for 16 rotations */
};

/* The phases of a run at several levels, from coarse to fine. Every boundary of a level is also one
 * of the next finer level. Outliers are equal for all levels, and stored in the shown level. */
struct rps_phase_levels {
    size_t count;
    struct rps_phases *level; /* Phases of each level */
    size_t shown;             /* Index of the default level */
};

/* Buffer size for the text of any label. */
#define RPS_PHASE_LABEL_SIZE 16
#define RPS_PHASE_LABEL_SURE .75

/* Return the text of a label: A ... Z, AA, AB ... The text is written into `text`. */
const char *rps_phase_label(int label, char text[RPS_PHASE_LABEL_SIZE]);

/* Return the label with the given text, in upper or lower case, or -1. */
int rps_phase_label_parse(const char *text);

/* Change the labels of `phases` to the labels of an earlier analysis of the run, `before`. (The
 * later analysis may lack the beginning of the run.) Each label becomes the label of `before` with
 * which it shares most time; no label is used twice. A label that shares no time becomes the first
 * label that neither analysis uses. label_count is then the highest label plus one. The times of
 * the phases must be set. */
void rps_phases_keep_labels(struct rps_phases *phases, const struct rps_phases *before);

/* Return the index of the phase that contains a period, or SIZE_MAX. *at is the result of the
 * previous call (at first 0), and makes searches in order of time fast. */
size_t rps_phases_at(const struct rps_phases *phases, uint64_t period, size_t *at);

/* Return 1 if any phase is in a loop. */
int rps_phases_repeat(const struct rps_phases *phases);

/* Return when the observation or period with the given number begins, in ns. The time is exact at
 * bounds of phases, and of outliers with known times. Times inside a phase are interpolated. */
int64_t rps_phases_time(const struct rps_phases *phases, uint64_t number);

/* Return the phases of the level that is shown. */
struct rps_phases *rps_phase_levels_shown(const struct rps_phase_levels *levels);
