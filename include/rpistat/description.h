/*
 * What a run and its plan are, member by member: the one list of those who write all of it and read
 * it back, as the store's columns, so that none of them can leave one out.
 */
#ifndef RPISTAT_DESCRIPTION_H
#define RPISTAT_DESCRIPTION_H

#include <stddef.h>
#include <stdint.h>

enum rps_member_kind {
    RPS_MEMBER_TEXT,    /* char[size] */
    RPS_MEMBER_POINTER, /* char *, owned, or NULL */
    RPS_MEMBER_INT,
    RPS_MEMBER_UINT32,
    RPS_MEMBER_INT64,
    RPS_MEMBER_UINT64,
};

/* `unknown` of a number that is always known. */
#define RPS_MEMBER_NEVER INT64_MIN

struct rps_member {
    const char *name; /* NULL ends a table */
    enum rps_member_kind kind;
    size_t offset, size;
    int64_t unknown; /* the number that stands for "not known" */
};

#define RPS_MEMBER(kind, type, member, unknown)                                                    \
    {                                                                                              \
#member, kind, offsetof(type, member), sizeof(((type *)0)->member), unknown                \
    }

/* Of struct rps_run but for run_id, tags and command; struct rps_event; struct rps_metric without
 * its formula's steps. `state` is the last of run and event: the store has its name. */
extern const struct rps_member rps_run_members[], rps_event_members[], rps_metric_members[];

#endif
