/*
 * The full export: wide, with all columns of a period and all that the store has beside periods, so
 * that an import gives the same run:
 *
 *     run,cpu,period,time_s,length_s,cycle,cycles,set,rotation,clock_running_ns,idle_ns,
 *     enabled_ns,running_ns,switch_ns,missed,about, then a column an event
 *
 * The first rows have nothing but `about`, a JSON object of one member: run, plan, clock, set,
 * event (of the set before it), metric, mark or gap. So has the last, whose member `end` says that
 * the file is whole. Samples of code are not in it, nor the phases that were found.
 */
#include <stdlib.h>
#include <string.h>

#include "export_wide.h"
#include "rpistat/code.h"
#include "rpistat/description.h"
#include "rpistat/json.h"
#include "rpistat/rows.h"

/* --- what is said about the run --------------------------------------------------------------- */

#define NOTE(kind, member) RPS_MEMBER(RPS_MEMBER_##kind, struct rps_note, member, RPS_MEMBER_NEVER)

static const struct rps_member no_members[] = {{.name = NULL}};

static const struct rps_member note_members[] = {
    NOTE(INT, cpu),      NOTE(INT64, start_ns), NOTE(INT64, length_ns),
    NOTE(POINTER, text), {.name = NULL},
};

static void put_members(struct rps_json *json, const struct rps_member *member, const void *of)
{
    for (; member->name; member++) {
        const void *at = (const char *)of + member->offset;

        switch (member->kind) {
        case RPS_MEMBER_TEXT:
            rps_json_text(json, member->name, at);
            break;
        case RPS_MEMBER_POINTER:
            rps_json_text(json, member->name, *(char *const *)at);
            break;
        case RPS_MEMBER_INT:
            rps_json_int64(json, member->name, *(const int *)at);
            break;
        case RPS_MEMBER_UINT32:
            rps_json_uint64(json, member->name, *(const uint32_t *)at);
            break;
        case RPS_MEMBER_INT64:
        case RPS_MEMBER_UINT64: /* its bits as a signed number, as in the store */
            rps_json_int64(json, member->name, *(const int64_t *)at);
            break;
        }
    }
}

/* A row that has nothing but these members of `of`. */
static int about(struct rps_export_job *job, const char *name, const struct rps_member *member,
                 const void *of, struct rps_error *err)
{
    struct rps_json json;
    char *text;

    if (rps_json_open(&json, 1) < 0)
        return rps_error_memory(err);
    rps_json_object(&json, NULL);
    rps_json_object(&json, name);
    put_members(&json, member, of);
    if (of == job->run)
        rps_rows_run_lists(&json, "command", job->run);
    rps_json_end(&json);
    rps_json_end(&json);
    text = rps_json_close(&json);
    if (!text)
        return rps_error_memory(err);
    rps_export_wide_text(job, text);
    free(text);
    return 0;
}

static int about_plan(struct rps_export_job *job, struct rps_error *err)
{
    const struct rps_plan *plan = job->plan;
    int result = about(job, "plan", rps_plan_members, plan, err);

    if (result == 0)
        result = about(job, "clock", rps_event_members, &plan->clock, err);
    for (int n = 0; n < plan->set_count && result == 0; n++) {
        result = about(job, "set", rps_set_members, &plan->set[n], err);
        for (int s = 0; s < plan->set[n].event_count && result == 0; s++)
            result = about(job, "event", rps_event_members, &plan->set[n].event[s], err);
    }
    for (int m = 0; m < plan->metric_count && result == 0; m++)
        result = about(job, "metric", rps_metric_members, &plan->metric[m], err);
    return result;
}

static int about_notes(struct rps_export_job *job, const char *name,
                       int (*read)(struct rps_reader *reader, int64_t run_id, struct rps_notes *ret,
                                   struct rps_error *err),
                       struct rps_error *err)
{
    struct rps_notes notes = {0};
    int result = read(job->reader, job->run->run_id, &notes, err);

    for (size_t i = 0; i < notes.count && result == 0; i++)
        result = about(job, name, note_members, &notes.note[i], err);
    rps_notes_free(&notes);
    return result;
}

/* --- the format ------------------------------------------------------------------------------- */

static int check_run(const struct rps_export_job *job, struct rps_error *err)
{
    int64_t thinned_ns = -1;

    if (job->run->state == RPS_RUN_RECORDING)
        return rps_error_set(err, RPS_FAILED,
                             "run %lld is being recorded: --format full is of runs that have ended",
                             (long long)job->run->run_id);
    if (rps_reader_thinned(job->reader, job->run->run_id, &thinned_ns, err) < 0)
        return RPS_FAILED;
    if (thinned_ns < 0)
        return 0;
    return rps_error_set(err, RPS_FAILED,
                         "run %lld was thinned, and a CSV file has periods alone: copy it with "
                         "'rpistat merge'",
                         (long long)job->run->run_id);
}

static int note_samples(const struct rps_export_job *job, struct rps_error *err)
{
    struct rps_code code = {0};
    int result = rps_reader_code(job->reader, job->run->run_id, &code, err);
    char note[200];

    snprintf(note, sizeof(note),
             "run %lld has samples of the code, which --format full leaves out: 'rpistat merge' "
             "copies a run with them",
             (long long)job->run->run_id);
    if (result > 0 && job->options->note)
        job->options->note(note);
    rps_code_free(&code);
    return result < 0 ? result : 0;
}

static int full_begin(struct rps_export_job *job, struct rps_error *err)
{
    static const char *const fixed[] = {
        "run",     "cpu",        "period",     "time_s",    "length_s",
        "cycle",   "cycles",     "set",        "rotation",  "clock_running_ns",
        "idle_ns", "enabled_ns", "running_ns", "switch_ns", "missed",
        "about"};
    int result = check_run(job, err);

    if (result == 0)
        result = note_samples(job, err);
    if (result == 0)
        result = rps_export_wide_begin(job, fixed, sizeof(fixed) / sizeof(fixed[0]), err);
    if (result == 0)
        result = about(job, "run", rps_run_members, job->run, err);
    if (result == 0)
        result = about_plan(job, err);
    if (result == 0)
        result = about_notes(job, "mark", rps_reader_marks, err);
    if (result == 0)
        result = about_notes(job, "gap", rps_reader_gaps, err);
    return result;
}

static void full_period(struct rps_export_job *job, const struct rps_period *period)
{
    rps_export_wide_place(job, period);
    rps_csv_uint64(job->state, period->rotation);
    rps_csv_uint64(job->state, period->clock_running_ns);
    if (period->idle_ns < 0)
        rps_csv_empty(job->state);
    else
        rps_csv_int64(job->state, period->idle_ns);
    rps_csv_uint64(job->state, period->enabled_ns);
    rps_csv_uint64(job->state, period->running_ns);
    rps_csv_int64(job->state, period->switch_ns);
    rps_csv_uint64(job->state, period->missed);
    rps_csv_empty(job->state); /* about */
    rps_export_wide_events(job, period);
    rps_csv_end_row(job->state);
}

static void full_end(struct rps_export_job *job)
{
    job->result = about(job, "end", no_members, NULL, &job->err);
    rps_export_csv_end(job);
}

const struct rps_export_format rps_export_full = {
    .name = "full",
    .summary = "wide, and all else of the run, for 'rpistat import'",
    .begin = full_begin,
    .period = full_period,
    .end = full_end,
    .release = rps_export_wide_release,
};
