/*
 * The second noun right of the store: a phase, a stretch of a run in which the event rates stay
 * alike. A phase that comes back keeps its label. The detector makes phases of observations, the
 * store keeps them as rows of `phase`, the pictures shade them.
 */
#ifndef RPISTAT_PHASE_H
#define RPISTAT_PHASE_H

#include <stddef.h>
#include <stdint.h>

#include "rpistat/error.h"

/* Room for a remark on all phases of a run. */
#define RPS_PHASE_REMARK_SIZE 512

/* Levels of inner loops inside a loop, at most. */
#define RPS_PHASE_INNER_MAX 2

/* The turn of an inner loop that a phase is in. Values count from 1; 0: it is in no inner loop. */
struct rps_inner_turn {
    int run;  /* consecutive inner turns: which part of the outer turn they are */
    int turn; /* number of the inner turn in the outer turn */
    int part; /* number of the phase in the inner turn */
};

struct rps_phase {
    uint64_t first, last;      /* observations of the detector, or a run's period numbers; both
                                  inclusive, from 0 */
    uint64_t earliest, latest; /* `first` may lie anywhere in [earliest, latest]; both are `first`
                                  for the first phase and behind a gap */
    int64_t start_ns, end_ns;  /* since the start of the run; 0 for observations without times */
    int label;                 /* 0: A; numbered by first appearance */
    double confidence;       /* that there is a boundary at `first`, 0 ... 1; 1 for the first phase
                                  and behind a gap */
    double label_confidence; /* that the phase belongs to its label and to no other, 0 ... 1 */
    int trend; /* of a ramp, in which the values change steadily: 1 or -1, the direction of the
                  value that changes most; 0: not known to be a ramp; 0 in stored phases */
    int loop, turn, part; /* of loops, rpistat/fold.h: which, which turn of all of the run, and
                                which phase of the turn, from 1; 0: in none, and part of an odd turn */
    struct rps_inner_turn
        inner[RPS_PHASE_INNER_MAX]; /* in inner loops, the outermost first; not stored */
};

/* Phases in order of time; they cover the whole run without overlap. */
struct rps_phases {
    size_t count;
    struct rps_phase *phase; /* owned */
    int label_count;         /* distinct labels */
    size_t outlier_count;    /* observations that are like none around them, ascending */
    uint64_t *outlier;       /* owned */
    int64_t *outlier_ns;     /* owned; the start and end of each; NULL: not known */
    uint64_t wide; /* numbers that an outlier has beyond its own: of a block of 16 periods 15 */
};

/* The phases of a run at several levels, from coarse to fine: every boundary of one is a boundary
 * of the next. Outliers are the same for all; they stand in the level that is shown. */
struct rps_phase_levels {
    size_t count;
    struct rps_phases *level; /* owned */
    size_t shown;             /* the one to show when nothing else is asked for */
};

/* Room for the longest label. */
#define RPS_PHASE_LABEL_SIZE 16

/* The text of a label: A ... Z, AA, AB ...; written into text and returned. */
const char *rps_phase_label(int label, char text[RPS_PHASE_LABEL_SIZE]);

/* The label that a text means (of any case), or -1. */
int rps_phase_label_parse(const char *text);

/*
 * Give the phases of a later look at a run, of whose beginning it may see less, the labels that
 * they had in `before`: a label becomes the one that it shares most time with, each at most once;
 * one that shares none becomes the first that neither has. label_count is then the highest label
 * and one. Phases need their times. Returns RPS_FAILED without memory, and nothing is changed.
 */
int rps_phases_keep_labels(struct rps_phases *phases, const struct rps_phases *before,
                           struct rps_error *err);

/* The phase that a period lies in, SIZE_MAX for none. *at is where the last one was found, 0 at
 * first: periods that come in order of time are found at once. */
size_t rps_phases_at(const struct rps_phases *phases, uint64_t period, size_t *at);

/* Is any of them in a loop? */
int rps_phases_repeat(const struct rps_phases *phases);

/* When the observation or period of that number begins, ns: exact at the bounds of outliers whose times
 * are known and of phases, elsewhere by its share of the phase. */
int64_t rps_phases_time(const struct rps_phases *phases, uint64_t number);

/* Release what the struct points to and zero it; the struct itself is the caller's. */
void rps_phases_free(struct rps_phases *phases);
/* The phases of the level that is shown. */
struct rps_phases *rps_phase_levels_shown(const struct rps_phase_levels *levels);
void rps_phase_levels_free(struct rps_phase_levels *levels);

#endif
