/*
 * What a wing gives the core. cli hands it over before it opens a store (rps_store_use); no
 * room of the core includes a header of the wing. Every member may be NULL.
 */
#ifndef RPISTAT_WING_H
#define RPISTAT_WING_H

#include <stddef.h>
#include <stdint.h>

#include "rpistat/error.h"

struct rps_arena;
struct rps_call_sink;
struct rps_cpus;
struct rps_export_format;
struct rps_export_job;
struct rps_json;
struct rps_page_joint;
struct rps_part_choice;
struct rps_part_shares;
struct rps_picture;
struct rps_plot_options;
struct rps_reader;
struct rps_run_part;
struct rps_signal_provider;

struct rps_wing {
    const struct rps_signal_provider *signals;      /* rpistat/signal.h */
    const struct rps_export_format *const *formats; /* rpistat/export.h; the last is NULL */

    /* rps_part_shares_find, rpistat/part_shares.h. */
    int (*shares)(struct rps_arena *arena, struct rps_reader *reader, int64_t run_id,
                  const struct rps_run_part *part, size_t count, const struct rps_cpus *cpus,
                  struct rps_part_shares *ret, struct rps_error *err);

    /* Hand over the calls of a part (rpistat/export.h), as the samples of each period are laid one
     * after another; none where no samples were taken. Errors: the store's. */
    int (*calls)(struct rps_export_job *job, const struct rps_part_choice *choice,
                 const struct rps_cpus *cpus, const struct rps_call_sink *sink,
                 struct rps_error *err);

    /* Fill picture->code of a picture with bins; its line_count stays 0 where there is nothing to
     * show. Errors: the store's. */
    int (*panel)(struct rps_picture *picture, const struct rps_plot_options *options,
                 struct rps_error *err);

    /* A part of the data of a run's page, members of an object, of a picture with bins; and of the
     * page of several runs (rpistat/page_parts.h). Errors: the store's. */
    int (*page)(struct rps_json *json, const struct rps_picture *picture, struct rps_error *err);
    int (*page_joint)(struct rps_json *json, const struct rps_page_joint *joint,
                      struct rps_error *err);
};

#endif
