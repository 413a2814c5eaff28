/* Put rows of the list of runs. */
#include "rpistat/report.h"
#include "rpistat/clock.h"
#include "rpistat/store.h"

#include <string.h>

#define LABEL_MAX 24 /* maximum columns of a label, tags or a host on a terminal */

#define COLUMNS(CELL, BY)                                                                          \
    CELL(INT, (run->run_id, 1), "run", "RUN", .place = 1, .is_id = 1)                              \
    CELL(TEXT, (run->uuid), "uuid")                                                                \
    CELL(TEXT, (run->label), "label", "LABEL", .place = 2, .width_max = LABEL_MAX)                 \
    CELL(TEXT, (rps_run_title(command, sizeof(command), run)), "command", "COMMAND", .place = 10)  \
    CELL(TEXT, (run->target), "target")                                                            \
    CELL(TEXT, (rps_run_states[run->state]), "state", "STATE", .place = 6)                         \
    BY(TIME, put_start(block, run), "start", "START", .place = 4)                                  \
    CELL(TIME, (rps_clock_add_ns(run->start_realtime_ns, run->elapsed_ns), has_ended(run)), "end") \
    CELL(DURATION, (run->elapsed_ns, run->elapsed_ns >= 0), "elapsed_s", "ELAPSED", .place = 7,    \
         .drop = 3)                                                                                \
    CELL(DURATION, (run->period_ns, run->period_ns > 0), "period_s")                               \
    CELL(INT, (summary->periods, 1), "periods", "PERIODS", .place = 8, .drop = 2)                  \
    CELL(INT, (summary->gap_count, 1), "gap_count")                                                \
    CELL(TEXT, (run->pmu), "pmu")                                                                  \
    CELL(INT, (run->counter_count, run->counter_count >= 0), "counters")                           \
    CELL(TEXT, (summary->plan), "plan")                                                            \
    BY(TEXT, put_counted(block, run, summary->plan), NULL, "COUNTED", .place = 9, .drop = 1)       \
    CELL(INT, (run->order_seed, run->order_seed >= 0), "order_seed")                               \
    CELL(TEXT, (run->end_reason), "end_reason")                                                    \
    CELL(INT, (run->exit_status, run->exit_status >= 0), "exit_status")                            \
    CELL(INT, (run->exit_signal, run->exit_signal > 0), "exit_signal")                             \
    CELL(DURATION, (run->user_ns, run->user_ns >= 0), "user_s")                                    \
    CELL(DURATION, (run->system_ns, run->system_ns >= 0), "system_s")                              \
    CELL(INT, (run->memory_bytes, run->memory_bytes >= 0), "memory_bytes")                         \
    CELL(DURATION, (run->recorder_cpu_ns, run->recorder_cpu_ns > 0), "recorder_cpu_s")             \
    CELL(DURATION, (run->recorder_after_ns, run->recorder_after_ns >= 0), "recorder_after_s")      \
    CELL(TEXT, (run->host), "host", "HOST", .place = 5, .shown = RPS_SHOWN_IF_DIFFERENT,           \
         .width_max = LABEL_MAX, .drop = 5)                                                        \
    CELL(TEXT, (run->cpu_model), "cpu_model")                                                      \
    CELL(INT, (run->cpu_count, run->cpu_count > 0), "cpu_count")                                   \
    CELL(TEXT, (run->kernel), "kernel")                                                            \
    CELL(TEXT, (run->architecture), "architecture")                                                \
    CELL(TEXT, (run->version), "version")                                                          \
    CELL(TAGS, (run->tag, run->tag_count), "tags", "TAGS", .place = 3,                             \
         .shown = RPS_SHOWN_IF_KNOWN, .width_max = LABEL_MAX, .drop = 4)                           \
    BY(BLOCK, rps_put_list(block, (const char *const *)run->argv, (size_t)run->argc), "argv")

static const struct rps_column columns[] = {COLUMNS(RPS_COLUMN, RPS_COLUMN)};

struct rps_block *rps_run_block(struct rps_document *document, const char *name)
{
    return rps_document_block(document, name, columns, RPS_COUNT(columns));
}

/* Put the name of the PMU. If the plan has another name, put the plan's name too. */
static void put_counted(struct rps_block *block, const struct rps_run *run, const char *plan)
{
    char counted[RPS_RUN_TEXT_SIZE];
    int differs = strcmp(run->pmu, plan) != 0;

    snprintf(counted, sizeof(counted), "%s%s%s", run->pmu, differs ? " " : "", differs ? plan : "");
    rps_put_text(block, counted);
}

/* Put the start of a run. The text shows a question mark if the time of day was unknown. */
static void put_start(struct rps_block *block, const struct rps_run *run)
{
    rps_put_int(block, run->start_realtime_ns, run->start_realtime_ns >= 0);
    if (run->start_realtime_ns < 0)
        rps_put_words(block, "?");
}

static int has_ended(const struct rps_run *run)
{
    return run->state != RPS_RUN_RECORDING && run->elapsed_ns >= 0 && run->start_realtime_ns >= 0;
}

void rps_run_block_put(struct rps_block *block, const struct rps_run *run,
                       const struct rps_run_summary *summary)
{
    char command[4096];

    COLUMNS(RPS_PUT, RPS_PUT_BY)
}
