/* Rows of runs. */
#include "rpistat/report.h"
#include "rpistat/clock.h"
#include "rpistat/store.h"

#include <string.h>

#define LABEL_MAX 24 /* columns a label, tags or a host may take on a terminal */

static const struct rps_column columns[] = {
    {"run", "RUN", RPS_VALUE_INT, .place = 1, .is_id = 1},
    {.name = "uuid"},
    {"label", "LABEL", RPS_VALUE_TEXT, .place = 2, .width_max = LABEL_MAX},
    {"command", "COMMAND", RPS_VALUE_TEXT, .place = 10},
    {.name = "target"},
    {"state", "STATE", RPS_VALUE_TEXT, .place = 6},
    {"start", "START", RPS_VALUE_TIME, .place = 4},
    {"end", .kind = RPS_VALUE_TIME},
    {"elapsed_s", "ELAPSED", RPS_VALUE_DURATION, .place = 7, .drop = 3},
    {"period_s", .kind = RPS_VALUE_DURATION},
    {"periods", "PERIODS", RPS_VALUE_INT, .place = 8, .drop = 2},
    {"gap_count", .kind = RPS_VALUE_INT},
    {.name = "pmu"},
    {"counters", .kind = RPS_VALUE_INT},
    {.name = "plan"},
    {NULL, "COUNTED", RPS_VALUE_TEXT, .place = 9, .drop = 1},
    {"order_seed", .kind = RPS_VALUE_INT},
    {.name = "end_reason"},
    {"exit_status", .kind = RPS_VALUE_INT},
    {"exit_signal", .kind = RPS_VALUE_INT},
    {"user_s", .kind = RPS_VALUE_DURATION},
    {"system_s", .kind = RPS_VALUE_DURATION},
    {"memory_bytes", .kind = RPS_VALUE_INT},
    {"recorder_cpu_s", .kind = RPS_VALUE_DURATION},
    {"recorder_after_s", .kind = RPS_VALUE_DURATION},
    {"host", "HOST", RPS_VALUE_TEXT, .place = 5, .shown = RPS_SHOWN_IF_DIFFERENT,
     .width_max = LABEL_MAX, .drop = 5},
    {.name = "cpu_model"},
    {"cpu_count", .kind = RPS_VALUE_INT},
    {.name = "kernel"},
    {.name = "architecture"},
    {.name = "version"},
    {"tags", "TAGS", RPS_VALUE_TAGS, .place = 3, .shown = RPS_SHOWN_IF_KNOWN,
     .width_max = LABEL_MAX, .drop = 4},
    {"argv", .kind = RPS_VALUE_BLOCK},
};

struct rps_block *rps_run_block(struct rps_document *document, const char *name)
{
    return rps_document_block(document, name, columns, sizeof(columns) / sizeof(columns[0]));
}

/* What counted, and what if that has another name. */
static void put_counted(struct rps_block *block, const struct rps_run *run, const char *plan)
{
    char counted[RPS_RUN_TEXT_SIZE];
    int differs = strcmp(run->pmu, plan) != 0;

    snprintf(counted, sizeof(counted), "%s%s%s", run->pmu, differs ? " " : "", differs ? plan : "");
    rps_put_text(block, counted);
}

void rps_run_block_put(struct rps_block *block, const struct rps_run *run,
                       const struct rps_run_summary *summary)
{
    int has_clock = run->start_realtime_ns >= 0, has_length = run->elapsed_ns >= 0;
    int has_ended = run->state != RPS_RUN_RECORDING && has_length && has_clock;
    char command[4096];

    rps_put_int(block, run->run_id, 1);
    rps_put_text(block, run->uuid);
    rps_put_text(block, run->label);
    rps_put_text(block, rps_run_title(command, sizeof(command), run));
    rps_put_text(block, run->target);
    rps_put_text(block, rps_run_states[run->state]);
    rps_put_int(block, run->start_realtime_ns, has_clock);
    if (!has_clock)
        rps_put_words(block, "?");
    rps_put_int(block, rps_clock_add_ns(run->start_realtime_ns, run->elapsed_ns), has_ended);
    rps_put_int(block, run->elapsed_ns, has_length);
    rps_put_int(block, run->period_ns, run->period_ns > 0);
    rps_put_int(block, (int64_t)summary->periods, 1);
    rps_put_int(block, summary->gap_count, 1);
    rps_put_text(block, run->pmu);
    rps_put_int(block, run->counter_count, run->counter_count >= 0);
    rps_put_text(block, summary->plan);
    put_counted(block, run, summary->plan);
    rps_put_int(block, run->order_seed, run->order_seed >= 0);
    rps_put_text(block, run->end_reason);
    rps_put_int(block, run->exit_status, run->exit_status >= 0);
    rps_put_int(block, run->exit_signal, run->exit_signal > 0);
    rps_put_int(block, run->user_ns, run->user_ns >= 0);
    rps_put_int(block, run->system_ns, run->system_ns >= 0);
    rps_put_int(block, run->memory_bytes, run->memory_bytes >= 0);
    rps_put_int(block, run->recorder_cpu_ns, run->recorder_cpu_ns > 0);
    rps_put_int(block, run->recorder_after_ns, run->recorder_after_ns >= 0);
    rps_put_texts(block, 2, run->host, run->cpu_model);
    rps_put_int(block, run->cpu_count, run->cpu_count > 0);
    rps_put_texts(block, 3, run->kernel, run->architecture, run->version);
    rps_put_tags(block, run->tag, run->tag_count);
    rps_put_list(block, (const char *const *)run->argv, (size_t)run->argc);
}
