/* Detections of phases for programs: JSON and CSV. */
#include "rpistat/output_file.h"
#include "rpistat/phase_output.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "rpistat/report_parts.h"
#include "rpistat/rows.h"
#include "rpistat/text.h"

char *rps_phase_output_parameters(const struct rps_phases_options *find,
                                  const struct rps_detect_details *details, const char *cpus,
                                  const char *const *signal, size_t signal_count)
{
    const struct rps_detect_options *options = &find->detect;
    struct rps_json json;

    if (rps_json_open(&json, 1) < 0)
        return NULL;
    rps_json_object(&json, NULL);
    if (options->min_length > 0)
        rps_json_uint64(&json, "min_length", options->min_length);
    else
        rps_json_null(&json, "min_length");
    if (find->level.fine)
        rps_json_text(&json, "level", "fine");
    else if (find->level.size > 0)
        rps_json_uint64(&json, "level", find->level.size);
    else
        rps_json_null(&json, "level");
    if (find->level.at_most > 0)
        rps_json_uint64(&json, "at_most", find->level.at_most);
    else
        rps_json_null(&json, "at_most");
    rps_json_int64(&json, "sensitivity", find->level.steps);
    rps_json_bool(&json, "exact", options->exact);
    rps_json_int64(&json, "max_phases",
                   options->label_max > 0 ? options->label_max : RPS_DETECT_LABELS_DEFAULT);
    rps_json_bool(&json, "variance", options->variance);
    rps_json_text(&json, "cpu", cpus);
    rps_json_array(&json, "signals");
    for (size_t s = 0; s < signal_count; s++)
        rps_json_text(&json, NULL, signal[s]);
    rps_json_end(&json);
    rps_json_uint64(&json, "used_signals", details->used_signal_count);
    rps_json_double(&json, "penalty", details->penalty);
    rps_json_double(&json, "autocorrelation", details->autocorrelation);
    rps_json_double(&json, "objective", details->objective);
    rps_json_text(&json, "segments", details->linear ? "linear" : "constant");
    rps_json_end(&json);
    return rps_json_close(&json);
}

/* --- JSON and CSV ----------------------------------------------------------------------------- */

/* How sure the figures of one row are: of those that were counted in turns. */
static void put_intervals(struct rps_json *json, const struct rps_profile *profile,
                          const struct rps_interval *interval)
{
    rps_json_object(json, "intervals");
    for (size_t f = 0; f < profile->figure_count; f++) {
        if (interval[f].certainty <= RPS_CERTAINTY_COUNTED)
            continue;
        rps_json_object(json, profile->figure[f].name);
        rps_json_double(json, "low", interval[f].low);
        rps_json_double(json, "high", interval[f].high);
        rps_json_text(json, "certainty", rps_certainty_name(interval[f].certainty));
        rps_json_end(json);
    }
    rps_json_end(json);
}

/* The figures of one row of a profile's matrix, by name. */
static void put_figures(struct rps_json *json, const char *name, const struct rps_profile *profile,
                        const double *value)
{
    rps_json_object(json, name);
    for (size_t f = 0; f < profile->figure_count; f++)
        rps_json_double(json, profile->figure[f].name, value[f]);
    rps_json_end(json);
}

/* A figure's name in a CSV, NAME_metric where the row has that name already. */
static void name_figure(char *ret, size_t size, const struct rps_figure *figure, const char *suffix)
{
    static const char *const own[] = {"phase",    "label",   "first",      "last",
                                      "earliest", "latest",  "confidence", "label_confidence",
                                      "share",    "start_s", "end_s",      "start",
                                      "end"};
    const char *kind = "";

    for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++) {
        if (!suffix[0] && strcmp(own[i], figure->name) == 0)
            kind = "_metric";
    }
    snprintf(ret, size, "%s%s%s", figure->name, kind, suffix);
}

/* The figures of a phase as cells, the ends of their intervals behind them. */
static void put_cells(struct rps_rows *rows, const struct rps_profile *profile, const double *value,
                      const struct rps_interval *interval)
{
    char name[RPS_NAME_SIZE + 16];

    for (size_t f = 0; f < profile->figure_count; f++) {
        name_figure(name, sizeof(name), &profile->figure[f], "");
        rps_rows_double(rows, name, value[f]);
    }
    for (size_t f = 0; f < profile->figure_count; f++) {
        int known = interval[f].certainty > RPS_CERTAINTY_COUNTED;

        name_figure(name, sizeof(name), &profile->figure[f], "_low");
        rps_rows_double(rows, name, known ? interval[f].low : NAN);
        name_figure(name, sizeof(name), &profile->figure[f], "_high");
        rps_rows_double(rows, name, known ? interval[f].high : NAN);
    }
}

/* The row of a phase; number 0 gives a CSV its names. */
static void put_phase(struct rps_rows *rows, const struct rps_phase_output *output, size_t i)
{
    const struct rps_phase *phase = &output->phases->phase[i];
    const struct rps_profile *profile = output->profile;
    size_t at = i * profile->figure_count;
    char label[RPS_PHASE_LABEL_SIZE];

    rps_rows_row(rows);
    rps_rows_uint(rows, "phase", i, 1);
    rps_rows_text(rows, "label", rps_phase_label(phase->label, label));
    rps_rows_uint(rows, "first", phase->first, 1);
    rps_rows_uint(rows, "last", phase->last, 1);
    rps_rows_uint(rows, "earliest", phase->earliest, 1);
    rps_rows_uint(rows, "latest", phase->latest, 1);
    rps_rows_double(rows, "confidence", phase->confidence);
    rps_rows_double(rows, "label_confidence", phase->label_confidence);
    rps_rows_double(rows, "share",
                    rps_profile_share(profile, phase->end_ns - phase->start_ns,
                                      phase->last - phase->first + 1));
    if (output->run)
        rps_rows_stretch(rows, output->run, phase->start_ns, phase->end_ns);
    if (rows->json) {
        put_figures(rows->json, "figures", profile, profile->phase + at);
        put_intervals(rows->json, profile, profile->phase_interval + at);
    } else {
        put_cells(rows, profile, profile->phase + at, profile->phase_interval + at);
    }
    rps_rows_end_row(rows);
}

static void put_phases(struct rps_rows *rows, const struct rps_phase_output *output)
{
    if (rps_rows_begin(rows, "phases"))
        put_phase(rows, output, 0);
    for (size_t i = 0; i < output->phases->count; i++)
        put_phase(rows, output, i);
    rps_rows_end(rows);
}

static void put_labels(struct rps_rows *rows, const struct rps_phase_output *output)
{
    struct rps_json *json = rows->json;
    const struct rps_profile *profile = output->profile;
    char label[RPS_PHASE_LABEL_SIZE], words[RPS_PROFILE_WORDS_SIZE];

    rps_json_array(json, "labels");
    for (int l = 0; l < profile->label_count; l++) {
        size_t at = (size_t)l * profile->figure_count;

        rps_json_object(json, NULL);
        rps_json_text(json, "label", rps_phase_label(l, label));
        rps_json_uint64(json, "occurrences", profile->label[l].occurrences);
        rps_json_uint64(json, "length", profile->label[l].periods);
        if (output->run)
            rps_json_seconds(json, "time_s", profile->label[l].length_ns);
        rps_json_double(
            json, "share",
            rps_profile_share(profile, profile->label[l].length_ns, profile->label[l].periods));
        if (rps_profile_words(words, profile, l, 0)[0])
            rps_json_text(json, "words", words);
        else
            rps_json_null(json, "words");
        if (output->shares)
            rps_report_rows_group(rows, &output->shares->sampling, &output->shares->group[l],
                                  profile->label[l].cpu_s);
        put_figures(json, "mean", profile, profile->mean + at);
        put_intervals(json, profile, profile->mean_interval + at);
        put_figures(json, "spread", profile, profile->spread + at);
        rps_json_end(json);
    }
    rps_json_end(json);
}

static void put_whole(struct rps_json *json, const struct rps_profile *profile)
{
    rps_json_array(json, "figures");
    for (size_t f = 0; f < profile->figure_count; f++) {
        const struct rps_figure *figure = &profile->figure[f];

        rps_json_object(json, NULL);
        rps_json_text(json, "name", figure->name);
        rps_json_text(json, "label", figure->label);
        rps_json_text(json, "unit", figure->unit[0] ? figure->unit : NULL);
        rps_json_double(json, "whole", figure->whole);
        if (figure->interval.certainty > RPS_CERTAINTY_COUNTED) {
            rps_json_double(json, "low", figure->interval.low);
            rps_json_double(json, "high", figure->interval.high);
            rps_json_text(json, "certainty", rps_certainty_name(figure->interval.certainty));
        }
        rps_json_double(json, "spread", figure->spread);
        rps_json_double(json, "spread_inside", figure->inside);
        rps_json_double(json, "variation", figure->whole_cv);
        rps_json_double(json, "variation_inside", figure->inside_cv);
        rps_json_double(json, "apart", figure->apart);
        rps_json_end(json);
    }
    rps_json_end(json);
}

static void put_components(struct rps_json *json, const struct rps_phase_output *output)
{
    const struct rps_components *components = output->components;

    rps_json_array(json, "components");
    for (size_t c = 0; c < components->component_count; c++) {
        rps_json_object(json, NULL);
        rps_json_double(json, "share", components->share[c]);
        rps_json_object(json, "loadings");
        for (size_t s = 0; s < components->signal_count; s++)
            rps_json_double(json, output->component_signal[s],
                            components->loading[c * components->signal_count + s]);
        rps_json_end(json);
        rps_json_end(json);
    }
    rps_json_end(json);
}

static void put_levels(struct rps_json *json, const struct rps_phase_output *output)
{
    rps_json_array(json, "levels");
    for (size_t at = 0; at < output->level_count; at++) {
        rps_json_object(json, NULL);
        rps_json_uint64(json, "phases", output->level[at].stretches);
        rps_json_double(json, "lost", output->level[at].lost);
        rps_json_bool(json, "shown", at == output->level_shown);
        rps_json_end(json);
    }
    rps_json_end(json);
}

int rps_phase_output_json(FILE *out, const struct rps_phase_output *output, struct rps_error *err)
{
    const struct rps_run *run = output->run;
    struct rps_json *json;
    struct rps_rows rows;

    if (rps_rows_open(&rows, out, RPS_FORMAT_JSON, err) < 0)
        return RPS_FAILED;
    json = rows.json;
    rps_rows_text(&rows, "of", output->title);
    rps_rows_int(&rows, "run", run ? run->run_id : 0, run != NULL);
    rps_rows_text(&rows, "unit", output->unit);
    if (output->block > 0)
        rps_json_uint64(json, "block_rotations", (uint64_t)output->block);
    if (run)
        rps_rows_seconds(&rows, "periods_from_s", output->periods_from_ns,
                         output->periods_from_ns >= 0);
    rps_json_uint64(json, "observations", output->observations);
    if (run)
        rps_rows_seconds(&rows, "period_s", run->period_ns, run->period_ns > 0);
    rps_json_text(json, "method", output->method);
    rps_json_raw(json, "parameters", output->parameters);
    put_levels(json, output);
    rps_json_text(json, "remark", output->remark);
    put_phases(&rows, output);
    put_labels(&rows, output);
    put_whole(json, output->profile);
    rps_json_array(json, "outliers");
    for (size_t i = 0; i < output->phases->outlier_count; i++)
        rps_json_uint64(json, NULL, output->phases->outlier[i]);
    rps_json_end(json);
    if (output->components)
        put_components(json, output);
    if (rps_rows_close(&rows, 0, err) < 0)
        return RPS_FAILED;
    return rps_output_written(out, "the phases", err);
}

int rps_phase_output_csv(FILE *out, const struct rps_phase_output *output, struct rps_error *err)
{
    struct rps_rows rows;

    if (rps_rows_open(&rows, out, RPS_FORMAT_CSV, err) < 0)
        return RPS_FAILED;
    put_phases(&rows, output);
    if (rps_rows_close(&rows, 0, err) < 0)
        return RPS_FAILED;
    return rps_output_written(out, "the phases", err);
}
