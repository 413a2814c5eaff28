/* What `rpistat phases` was asked, between its options (phases_options.c) and its work. */
#ifndef RPISTAT_CLI_PHASES_H
#define RPISTAT_CLI_PHASES_H

#include "cli.h"
#include "rpistat/csv_signals.h"
#include "rpistat/detect.h"
#include "rpistat/phase_output.h"
#include "rpistat/phases.h"

typedef int rps_phases_format(FILE *out, const struct rps_phase_output *output,
                              struct rps_error *err);

struct rps_phases_settings {
    struct rps_phases_options find;
    int64_t min_length_ns; /* when it is a duration */
    const char *cpus;
    const char *metrics; /* the list as it was typed; NULL: all */
    char *metric_text;   /* owned; cut up into `metric` */
    const char **metric; /* owned */
    size_t metric_count;
    rps_phases_format *format;
    const char *csv; /* NULL: a run */
    struct rps_csv_options table;
    int components;
    int no_samples;
};

extern const struct rps_option rps_phases_options[];

/* As struct rps_command has them: take one option; look at all of them together. */
int rps_phases_set_option(struct rps_cli *cli, int letter, const char *argument);
int rps_phases_check(struct rps_cli *cli);

/* --level "fine", or the number of phases that a level has. RPS_USAGE for another text. */
int rps_phases_level(const char *text, struct rps_level_choice *ret, struct rps_error *err);

/* Cut the list of --metric into names. RPS_FAILED without memory; what is there is to be freed. */
int rps_phases_split_metrics(struct rps_phases_settings *settings, struct rps_error *err);

#endif
