/* Functions that an extension provides to the core. cli passes them to the core before it opens a
 * store (rps_store_use). The core includes no header of the extension. Members may be NULL. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "rpistat/error.h"

struct rps_arena;
struct rps_call_sink;
struct rps_cpus;
struct rps_export_format;
struct rps_export_job;
struct rps_export_programs;
struct rps_json;
struct rps_page_joint;
struct rps_part_choice;
struct rps_part_shares;
struct rps_picture;
struct rps_plot_options;
struct rps_reader;
struct rps_run_part;
struct rps_signal_provider;

struct rps_code_hooks {
    const struct rps_signal_provider *signals;      /* Source of additional signals for phases */
    const struct rps_export_format *const *formats; /* Formats (rpistat/export.h); last: NULL */

    /* Find the shares of parts of a run: rps_part_shares_find in rpistat/part_shares.h. */
    int (*shares)(struct rps_arena *arena, struct rps_reader *reader, int64_t run_id,
                  const struct rps_run_part *part, size_t count, const struct rps_cpus *cpus,
                  struct rps_part_shares *ret, struct rps_error *err);

    /* Find the programs of the job's run (rpistat/export.h), in its arena. Errors: the store's. */
    int (*programs)(struct rps_export_job *job, struct rps_export_programs *ret,
                    struct rps_error *err);

    /* Pass on the calls and threads of a part (rpistat/export.h). The samples of each period are
     * placed one after another; without samples, there are no calls. Errors come from the store. */
    int (*calls)(struct rps_export_job *job, const struct rps_part_choice *choice,
                 const struct rps_cpus *cpus, const struct rps_call_sink *sink,
                 struct rps_error *err);

    /* Fill picture->code of a binned picture. If there is nothing to show, line_count of
     * picture->code is not changed from 0. Also add the metrics and series of options->function to
     * the picture, in its first panels. Errors come from the store, or from options->function. */
    int (*panel)(struct rps_picture *picture, const struct rps_plot_options *options,
                 struct rps_error *err);

    /* Put the extension's data, as members of an object, into the page of a run (a binned picture)
     * or of several runs (rpistat/page_parts.h). Errors come from the store. */
    int (*page)(struct rps_json *json, const struct rps_picture *picture, struct rps_error *err);
    int (*page_joint)(struct rps_json *json, const struct rps_page_joint *joint,
                      struct rps_error *err);
};
