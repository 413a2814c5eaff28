/* Settings of `rpistat phases`, from its options (phases_options.c) to its work. */
#ifndef RPISTAT_CLI_PHASES_H
#define RPISTAT_CLI_PHASES_H

#include "cli.h"
#include "format.h"
#include "rpistat/csv_signals.h"
#include "rpistat/detect.h"
#include "rpistat/phase_output.h"
#include "rpistat/phases.h"

struct rps_phases_settings {
    struct rps_phases_options find;
    int64_t min_length_ns; /* if it is a duration */
    const char *cpus;
    struct rps_names metric; /* none: all */
    enum rps_format format;
    const char *csv; /* NULL: a run */
    struct rps_csv_options table;
    int components;
    int no_samples;
};

extern const struct rps_option rps_phases_options[];

/* Check all settings together: the command's check(). */
int rps_phases_check(struct rps_cli *cli);

/* Parse --level "fine", or the number of phases of a level, into a struct rps_level_choice: options
 * set it. RPS_USAGE for any other text. */
int rps_phases_level(const char *option, const char *text, void *ret, struct rps_error *err);

#endif
