/* Puts the code that ran into a document: the samples and their reliability, a table, and the
 * functions of each phase. blocks_calls.c adds call trees. */
#include "blocks_parts.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "rpistat/clock.h"
#include "rpistat/document.h"
#include "rpistat/sample.h"
#include "rpistat/report.h"
#include "rpistat/text.h"
#include "rpistat/plan.h"

#define NAME_MIN     20  /* Characters of a command on the narrowest terminal. */
#define MODULE_MAX   24  /* Maximum characters of a module. */
#define TOP_MIN      .05 /* Minimum share of samples to list a second function or program. */
#define TOP_TEXT     3   /* Maximum number of functions or programs in a line of text. */
#define REASONS      3   /* Maximum number of modules whose missing names are explained. */
#define ADVICE_MIN   .03 /* Minimum share of the samples that an advice is about. */
#define WHOLE_CHAINS .9  /* Calls are reliable if at least this share of call stacks is complete. */

/* Format "12.5 %", or "3 of 9" if there are too few samples for shares. */
static char *of_samples_text(char ret[RPS_CODE_TEXT_SIZE], uint64_t samples, uint64_t all)
{
    if (all >= RPS_SHARES_SAMPLES_MIN)
        snprintf(ret, RPS_CODE_TEXT_SIZE, "%.1f %%", 100 * rps_shares_part(samples, all));
    else
        snprintf(ret, RPS_CODE_TEXT_SIZE, "%" PRIu64 " of %" PRIu64, samples, all);
    return ret;
}

static char *us_text(char ret[RPS_CODE_TEXT_SIZE], uint64_t us)
{
    snprintf(ret, RPS_CODE_TEXT_SIZE, "%.3f s", (double)us / 1e6);
    return ret;
}

/* Put a number of samples, or the time if the weights are microseconds. */
static void put_weight(const struct rps_code_filling *filling, struct rps_block *block,
                       uint64_t weight)
{
    char text[RPS_CODE_TEXT_SIZE];

    rps_put_int(block, (int64_t)weight, 1);
    if (filling->output->is_time)
        rps_put_words(block, "%s", weight > 0 ? us_text(text, weight) : "-");
}

/* --- the samples ------------------------------------------------------------------------------ */

static void report_sampling(const struct rps_code_filling *filling, struct rps_block *head)
{
    const struct rps_code_output *output = filling->output;
    const struct rps_sampling *s = &output->code->sampling;
    uint64_t samples = output->samples;
    const int is_machine =
        rps_run_is_of_machine(output->run->target) && !rps_run_is_of_cgroup(output->run->target);
    char share[RPS_CODE_TEXT_SIZE], often[RPS_CODE_TEXT_SIZE], got[RPS_CODE_TEXT_SIZE],
        few[RPS_CODE_TEXT_SIZE], off[RPS_CODE_TEXT_SIZE] = "";

    if (s->frequency > 0)
        snprintf(often, sizeof(often), "%" PRIu64 " Hz per CPU%s", s->frequency,
                 s->is_fixed ? ", at a fixed interval" : "");
    else
        snprintf(often, sizeof(often), "one per %" PRIu64 " events", s->threshold);
    if (isfinite(output->time.off_cpu) && !output->off_cpu &&
        !(output->time.is_least && output->time.off_cpu < .0005))
        snprintf(off, sizeof(off), " The %s for %s%.1f %% of %s time.",
                 is_machine ? "CPUs were idle" : "workload was off-CPU",
                 output->time.is_least ? "at least " : "", 100 * output->time.off_cpu,
                 is_machine ? "their" : "the elapsed");
    rps_samples_short_text(few, sizeof(few), s, samples, output->time.cpu_s, output->is_whole);
    if (few[0]) /* `few` already contains the expected number of samples. */
        snprintf(got, sizeof(got), "%" PRIu64 " sample%s", samples, samples == 1 ? "" : "s");
    else
        rps_samples_got_text(got, sizeof(got), s, samples, output->time.cpu_s, output->is_whole);
    rps_block_wrap(head, 0, 0, "%s (%s, %s).%s", got, s->event, often, off);
    if (samples < RPS_SHARES_SAMPLES_MIN && !output->off_cpu)
        rps_block_wrap(head, 0, 0, "Too few samples for shares.");
    if (few[0])
        rps_block_wrap(head, 0, 0, "%s", few);
    if (s->lost > 0)
        rps_block_wrap(head, 0, 0, "Lost: %s of the run's samples (the buffer was full)",
                       of_samples_text(share, s->lost, s->samples + s->lost));
    if (s->throttled > 0)
        rps_block_wrap(head, 0, 0,
                       "The kernel paused sampling %" PRIu64
                       " time%s in the whole run: too many samples per second.",
                       s->throttled, s->throttled == 1 ? "" : "s");
    if (s->lookups > 0)
        rps_block_wrap(head, 0, 0,
                       "Forks were lost %" PRIu64
                       " time%s in the whole run. The workload's processes were then found by "
                       "their parents; a process whose parent had exited may be missing.",
                       s->lookups, s->lookups == 1 ? "" : "s");
}

/* Put where the threads waited longest: "Off-CPU: 1.00 s in hold_the_lock (lock.c:7), ...". */
static void report_waited_most(const struct rps_code_filling *filling, struct rps_block *head)
{
    const struct rps_code_output *output = filling->output;
    const struct rps_shares *shares = output->shares;
    struct rps_share_group group = {.waited_s = (double)output->off_cpu->waited_us / 1e6};
    char text[TOP_TEXT * 2 * RPS_CODE_TEXT_SIZE];
    uint64_t *us = rps_arena_get(filling->document->arena, shares->count, sizeof(*us));
    size_t place[RPS_SHARES_WAITS], count;

    for (size_t i = 0; i < shares->count && output->waits; i++)
        us[i] = output->waits[i].waited_us;
    count = rps_shares_largest(us, shares->count, RPS_SHARES_WAITS, place);
    for (size_t t = 0; t < count; t++) {
        const struct rps_share *most = &shares->share[place[t]];

        group.wait[group.wait_count++] = (struct rps_share_top){
            .name = {.name = most->name, .module = "", .file = most->file, .line = most->line},
            .share = (double)us[place[t]] / (double)output->off_cpu->waited_us};
    }
    if (count > 0)
        rps_block_wrap(head, 0, 0, "Off-CPU: %s",
                       rps_share_waits_text(text, sizeof(text), &group, RPS_SHARES_WAITS) +
                           strlen("waited "));
}

static void report_waits(const struct rps_code_filling *filling, struct rps_block *head)
{
    const struct rps_code_output *output = filling->output;
    const struct rps_sampling *s = &output->code->sampling;
    char time[2][RPS_CODE_TEXT_SIZE];

    rps_block_wrap(
        head, 0, 0,
        "Threads: %s running (estimated from samples), %s asleep; time waiting for a CPU is not "
        "included",
        us_text(time[0], output->off_cpu->time_us - output->off_cpu->waited_us),
        us_text(time[1], output->off_cpu->waited_us));
    report_waited_most(filling, head);
    if (s->blocked_of > 1)
        rps_block_wrap(head, 0, 0,
                       "The length of each wait was measured. While switches were frequent, the "
                       "call stacks of waits are estimates: they were taken for 0.1 s of every "
                       "%.1f s.",
                       (double)s->blocked_of / 10);
    if (s->blocked_off_us > 0)
        rps_block_wrap(head, 0, 0,
                       "Unknown: %s more off-CPU (switches were too frequent, or were lost)",
                       us_text(time[0], s->blocked_off_us));
    if (s->switches_lost > 0)
        rps_block_wrap(head, 0, 0,
                       "Lost: %" PRIu64 " context switches of the run (the buffer was full)",
                       s->switches_lost);
}

#define TOP_MIN .05 /* Minimum share of the latency to name the first row in a sentence. */

#define GAP_MIN .01 /* Minimum time without periods that is reported, as a share of the periods. */

static void report_latency(const struct rps_code_output *output, struct rps_block *head)
{
    const struct rps_latency *of = output->latency;
    const struct rps_shares *shares = output->shares;
    char name[RPS_CODE_TEXT_SIZE],
        wait[RPS_CODE_TEXT_SIZE] = " (waiting for a CPU was not recorded)";

    if (of->has_waits)
        snprintf(wait, sizeof(wait),
                 ", %.3f s waiting for a CPU (%.0f %% of the time that they could run)", of->wait_s,
                 100 * of->wait_s / fmax(of->cpu_s + of->wait_s, 1e-9));
    if (shares->count > 0 && rps_shares_part(shares->share->self, output->weight) >= TOP_MIN &&
        output->samples >= RPS_SHARES_SAMPLES_MIN)
        rps_block_wrap(head, 0, 0, "%s has %.1f %% of the latency, and %.1f %% of the CPU time.",
                       rps_text_function(name, sizeof(name), shares->share->name),
                       100 * (double)shares->share->self / (double)output->weight,
                       100 * (double)output->cpu[0] / (double)output->samples);
    rps_block_wrap(head, 0, 0,
                   "Latency: %s%.3f s of %.3f s, in which a thread ran or waited for a CPU (from "
                   "samples: %.3f s)",
                   output->time.is_least ? "about " : "", of->busy_s, of->length_s,
                   (double)output->weight / 1e6);
    rps_block_wrap(head, 0, 0, "Threads: %.3f s running%s", of->cpu_s, wait);
    if (of->gap_s > GAP_MIN * of->length_s)
        rps_block_wrap(head, 0, 0,
                       "Not recorded: %.3f s; samples in this time are counted in the next "
                       "period.",
                       of->gap_s);
    if (of->cpu_s + 2 * of->wait_s < 1.01 * of->busy_s)
        rps_block_wrap(
            head, 0, 0,
            "Shares are about those without --latency: further threads have at most 1 %% "
            "of the time.");
}

/* Return the module whose file has the same name as `path`, such as "libjvm.so", or NULL. */
static const struct rps_module *find_file(const struct rps_code *code, const char *path)
{
    for (size_t m = 0; m < code->module_count; m++) {
        if (strcmp(rps_text_file_name(code->module[m].path), rps_text_file_name(path)) == 0)
            return &code->module[m];
    }
    return NULL;
}

static int is_jit(const struct rps_code *code, const char *path)
{
    const struct rps_module *module = find_file(code, path);

    return module && module->kind == RPS_MODULE_JIT;
}

/* Return the number of samples in the rows of a module (NULL: any), if is_unnamed of rows without
 * names, and of JIT-compiled code (1) or of other code (0; -1: both). */
static uint64_t count_self(const struct rps_code_output *output, const char *module, int is_unnamed,
                           int jit)
{
    uint64_t samples = 0;

    for (size_t i = 0; i < output->shares->count; i++) {
        const struct rps_share *share = &output->shares->share[i];

        if ((!module || strcmp(share->module, module) == 0) &&
            (!is_unnamed || share->how == RPS_LOCATION_NONE) &&
            (jit < 0 || is_jit(output->code, share->module) == jit))
            samples += share->self;
    }
    return samples;
}

/* For tables of functions or lines, return the number of samples in unnamed code; otherwise 0. */
static uint64_t count_unnamed(const struct rps_code_output *output)
{
    return output->by <= RPS_SHARES_LINE ? count_self(output, NULL, 1, -1) : 0;
}

/* Return how to get complete call stacks. JIT-compiled code cannot be rebuilt. */
static const char *chains_advice(const struct rps_code_output *output)
{
    for (int i = 0; i < output->run->argc; i++) {
        if (strcmp(output->run->argv[i], "-XX:+PreserveFramePointer") == 0)
            return "";
    }
    if (rps_shares_part(count_self(output, NULL, 0, 1), output->shares->samples) >= ADVICE_MIN)
        return !find_file(output->code, "libjvm.so") || count_self(output, NULL, 1, 1) == 0 ? ""
               : rps_run_is_of_command(output->run->target)
                   ? " Record with --jit-names to record the callers of Java's code."
                   : " Start Java with -XX:+PreserveFramePointer to record callers.";
    return strcmp(output->code->sampling.stacks, "fp") == 0
               ? " Build with -fno-omit-frame-pointer, or record with --stacks auto."
               : " If the call stacks are larger than 8 KiB, build with -fno-omit-frame-pointer "
                 "and record with --stacks fp.";
}

/* Return how to get a map of JIT-compiled code. */
static const char *map_advice(const struct rps_code_output *output)
{
    const int is_java = find_file(output->code, "libjvm.so") != NULL;

    if (!is_java && !find_file(output->code, "node"))
        return "";
    return rps_run_is_of_command(output->run->target) ? "; record with --jit-names to have one"
           : is_java ? "; java -XX:+UnlockDiagnosticVMOptions -XX:+DumpPerfMapAtExit writes one"
                     : "; node --perf-basic-prof writes one";
}

static void report_chains(const struct rps_code_filling *filling, struct rps_block *head)
{
    const struct rps_sampling *s = &filling->output->code->sampling;
    int whole = (double)s->complete >= WHOLE_CHAINS * (double)s->samples;
    int by_pointers = strcmp(s->stacks, "fp") == 0;

    if (strcmp(s->stacks, "none") == 0) {
        rps_block_wrap(head, 0, 0,
                       "Complete call stacks: not recorded (--stacks none); Total equals Self");
        return;
    }
    rps_block_wrap(head, 0, 0, "Complete call stacks%s: %.0f %% of the samples%s%s%s",
                   filling->output->is_whole ? "" : " in the whole run",
                   100 * rps_shares_part(s->complete, s->samples),
                   by_pointers && whole ? " (by frame pointers; the callers of functions without a "
                                          "frame are missing, as in the C library)"
                                        : "",
                   whole ? "" : ". Trust Self, not totals, trees and flame graphs.",
                   whole ? "" : chains_advice(filling->output));
}

/* Put the programs that have most samples, if there are several processes. Functions without names
 * do not show which program ran. */
static void report_programs(const struct rps_code_filling *filling, struct rps_block *head)
{
    const struct rps_shares *programs = filling->output->programs;
    char text[TOP_TEXT * RPS_CODE_TEXT_SIZE] = "", share[RPS_CODE_TEXT_SIZE];
    size_t used = 0;

    if (!programs || programs->count == 0 || filling->output->samples < RPS_SHARES_SAMPLES_MIN ||
        !rps_shares_has_processes(filling->output->code))
        return;
    for (size_t i = 0;
         i < programs->count && i < TOP_TEXT &&
         (double)programs->share[i].self >= RPS_SHARES_SHOWN_MIN * (double)programs->samples;
         i++)
        used +=
            (size_t)snprintf(text + used, sizeof(text) - used, "%s%.200s %s", i > 0 ? ", " : "",
                             programs->share[i].name,
                             of_samples_text(share, programs->share[i].self, programs->samples));
    rps_block_wrap(head, 0, 0, "Programs: %s of the %s%s", text,
                   filling->output->latency ? "latency" : "samples",
                   programs->count <= TOP_TEXT ? ""
                   : filling->output->latency  ? " (see `rpistat code --latency --by program`)"
                                               : " (see `rpistat code --by program`)");
}

static void report_head(const struct rps_code_filling *filling)
{
    const struct rps_code_output *output = filling->output;
    struct rps_block *head = rps_document_block(filling->document, NULL, NULL, 0);
    const char *part = output->part ? output->part : "";
    const char *kind = output->latency ? "Latency" : output->is_time ? "Time" : "Code";
    int width =
        output->width - (int)strlen(kind) - (int)strlen(" of run , ") - rps_text_width(part) - 2;
    char title[4096], cut[sizeof(title)], number[32];

    width -= snprintf(number, sizeof(number), "%" PRId64, output->run->run_id);
    width += part[0] ? 0 : 2;
    rps_run_title(title, sizeof(title), output->run);
    rps_words_cut(cut, sizeof(cut), title, width > NAME_MIN ? width : NAME_MIN);
    rps_block_title(head, "%s of run %s, %s%s%s", kind, number, cut, part[0] ? ", " : "", part);
    if (output->off_cpu)
        report_waits(filling, head);
    if (output->latency)
        report_latency(output, head);
    report_sampling(filling, head);
    if (output->by < RPS_SHARES_PROCESS && output->code->sampling.samples >= RPS_SHARES_SAMPLES_MIN)
        report_chains(filling, head);
    report_programs(filling, head);
}

#define SAMPLING(CELL, BY)                                                                         \
    CELL(TEXT, (s->event), "event")                                                                \
    CELL(INT, (s->frequency, s->frequency > 0), "frequency")                                       \
    CELL(INT, (s->threshold, s->threshold > 0), "threshold")                                       \
    CELL(TEXT, (s->stacks), "callers")                                                             \
    CELL(INT, (s->samples, 1), "taken")                                                            \
    CELL(INT, (s->complete, 1), "complete")                                                        \
    CELL(INT, (s->lost, 1), "lost_samples")                                                        \
    CELL(INT, (s->throttled, 1), "throttled")                                                      \
    CELL(INT, (s->unmapped, 1), "unmapped")                                                        \
    CELL(BOOL, (s->is_wide, 1), "whole_cpus")                                                      \
    CELL(BOOL, (s->is_fixed, 1), "fixed_interval")                                                 \
    CELL(INT, (s->lookups, 1), "lookups")                                                          \
    CELL(NUMBER, (s->has_waits ? (double)s->blocked_us / 1e6 : NAN), "waited_s")                   \
    CELL(INT, (s->blocked_of, s->has_waits), "waits_of")                                           \
    CELL(NUMBER, (s->has_waits ? (double)s->blocked_off_us / 1e6 : NAN), "waits_unknown_s")        \
    CELL(INT, (s->switches_lost, s->has_waits), "lost_switches")

static void put_sampling(const struct rps_code_filling *filling)
{
    static const struct rps_column columns[] = {SAMPLING(RPS_COLUMN, RPS_COLUMN)};
    const struct rps_sampling *s = &filling->output->code->sampling;
    struct rps_block *block =
        rps_document_block(filling->document, "sampling", columns, RPS_COUNT(columns));

    block->is_object = 1;
    SAMPLING(RPS_PUT, RPS_PUT_BY)
}

static void put_latency(const struct rps_code_output *output, struct rps_document *document)
{
    static const char *const name[] = {"latency_s", "busy_s", "elapsed_s", "cpu_s", "wait_s"};
    const struct rps_latency *of = output->latency;

    for (int i = 0; i < 5 && of; i++) {
        const double value[] = {(double)output->weight / 1e6, of->busy_s, of->length_s, of->cpu_s,
                                of->has_waits ? of->wait_s : NAN};

        rps_put_number(rps_document_field(document, name[i], RPS_VALUE_NUMBER), value[i]);
    }
}

static void put_fields(const struct rps_code_filling *filling)
{
    const struct rps_code_output *output = filling->output;
    struct rps_document *document = filling->document;
    char command[4096];

    rps_put_int(rps_document_field(document, "run", RPS_VALUE_INT), output->run->run_id, 1);
    rps_put_text(rps_document_field(document, "command", RPS_VALUE_TEXT),
                 rps_run_title(command, sizeof(command), output->run));
    rps_put_text(rps_document_field(document, "part", RPS_VALUE_TEXT), output->part);
    rps_put_text(rps_document_field(document, "by", RPS_VALUE_TEXT), rps_code_by_names[output->by]);
    put_sampling(filling);
    put_latency(output, document);
    rps_put_text(rps_document_field(document, "weight", RPS_VALUE_TEXT),
                 output->is_time ? "us" : "samples");
    rps_put_int(rps_document_field(document, "samples", RPS_VALUE_INT), (int64_t)output->samples,
                1);
    rps_put_number(
        rps_document_field(document, "expected_samples", RPS_VALUE_NUMBER),
        rps_samples_expected(&output->code->sampling, output->time.cpu_s, output->is_whole));
    rps_put_int(rps_document_field(document, "unnamed", RPS_VALUE_INT),
                (int64_t)count_unnamed(output), output->by <= RPS_SHARES_LINE);
    rps_put_number(rps_document_field(document, "off_cpu", RPS_VALUE_NUMBER), output->time.off_cpu);
}

/* --- the table -------------------------------------------------------------------------------- */

#define NAME(by, name) name,
const char *const rps_code_by_names[] = {RPS_SHARES_BY(NAME) NULL};

static size_t rows_of(const struct rps_code_output *output, size_t count)
{
    return output->at_most > 0 && output->at_most < count ? output->at_most : count;
}

/* Return 1 if the exact CPU time of at least one process is known. If `files` is 1, return 1 if the
 * source file of at least one process is known. */
static int has_any(const struct rps_shares *shares, int files)
{
    size_t i = 0;

    while (i < shares->count && !(files ? shares->share[i].file[0] : shares->share[i].cpu_ns >= 0))
        i++;
    return i < shares->count;
}

static struct rps_block *begin_shares(const struct rps_code_filling *filling)
{
    static const char *const headings[] = {
        [RPS_SHARES_FUNCTION] = "Function", [RPS_SHARES_LINE] = "Function",
        [RPS_SHARES_MODULE] = "Module",     [RPS_SHARES_PROCESS] = "Process",
        [RPS_SHARES_THREAD] = "Thread",     [RPS_SHARES_PROGRAM] = "Program",
        [RPS_SHARES_CGROUP] = "Cgroup",
    };
    enum rps_shares_by by = filling->output->by;
    int is_table = !filling->output->is_tree;
    int is_function = is_table && by <= RPS_SHARES_LINE, is_task = by >= RPS_SHARES_PROCESS;
    int has_pid = by == RPS_SHARES_PROCESS || by == RPS_SHARES_THREAD;
    const struct rps_column columns[] = {
        {.name = "name"},
        {NULL, is_table ? headings[by] : NULL, .place = 8},
        {"self",
         !is_table                  ? NULL
         : filling->output->is_time ? "Time"
                                    : "Samples",
         RPS_VALUE_INT, .place = 3, .drop = filling->output->is_time ? 3 : 1},
        {"self_share",
         !is_table ? NULL
         : is_task ? "Share"
                   : "Self",
         RPS_VALUE_SHARE, .place = 1},
        {"total", .kind = RPS_VALUE_INT},
        {"total_share", is_table && !is_task ? "Total" : NULL, RPS_VALUE_SHARE, .place = 2},
        {"module", is_function ? "Module" : NULL, .place = 6, .width_max = MODULE_MAX,
         .drop = filling->output->is_time || by == RPS_SHARES_LINE ? 2 : 0},
        {"file", has_pid && is_table && has_any(filling->output->shares, 1) ? "File" : NULL,
         .place = 9, .width_max = MODULE_MAX},
        {"line", .kind = RPS_VALUE_INT},
        {NULL, is_function ? "Line" : NULL, .place = 7, .drop = by == RPS_SHARES_FUNCTION,
         .width_max = RPS_CODE_TEXT_SIZE},
        {"in_kernel", .kind = RPS_VALUE_BOOL},
        {.name = "named_by"},
        {"pid", is_table && has_pid ? "PID" : NULL, RPS_VALUE_INT, .place = 4, .is_id = 1},
        {"tid", is_table && by == RPS_SHARES_THREAD ? "TID" : NULL, RPS_VALUE_INT, .place = 5,
         .is_id = 1},
        {"processes", is_table && by >= RPS_SHARES_PROGRAM ? "Sampled processes" : NULL,
         RPS_VALUE_INT, .place = 4},
        {"cpu_s", is_table && has_any(filling->output->shares, 0) ? "CPU time" : NULL,
         RPS_VALUE_DURATION, .unit = "s", .place = 10},
        {"waited", is_table ? "Waited" : NULL, RPS_VALUE_INT, .place = 4},
        {"waited_in", by == RPS_SHARES_FUNCTION && is_table ? "Waited in" : NULL, .place = 5,
         .width_max = MODULE_MAX},
    };
    struct rps_block *block =
        rps_document_block(filling->document, "code", columns,
                           RPS_COUNT(columns) - (filling->output->off_cpu ? 0 : 2));

    if (filling->output->latency)
        rps_block_column(block, (struct rps_column){"cpu_share", is_table ? "CPU" : NULL,
                                                    RPS_VALUE_SHARE, .place = 3});
    block->indent = 2;
    return block;
}

/* If cpu_s is above 0, put a row for this CPU time, which has no samples. The row's name is `name`.
 */
static void put_rest(struct rps_block *block, const char *name, double cpu_s)
{
    if (!(cpu_s > 0))
        return;
    rps_put_text(block, name);
    rps_put_blanks(block, (int)block->column_count - 2);
    rps_put_int(block, (int64_t)(cpu_s * RPS_NS_PER_S), 1);
}

/* If there are too few samples for shares, leave out functions with samples only in callees. */
static size_t count_rows(const struct rps_code_output *output)
{
    const struct rps_shares *shares = output->shares;
    size_t count = shares->count;

    while (output->at_most > 0 && !output->off_cpu && count > 0 &&
           shares->samples < RPS_SHARES_SAMPLES_MIN && shares->share[count - 1].self == 0)
        count--;
    return count;
}

static void put_shares(const struct rps_code_filling *filling)
{
    const struct rps_code_output *output = filling->output;
    const struct rps_shares *shares = output->shares;
    struct rps_block *block = begin_shares(filling);
    int is_task = output->by >= RPS_SHARES_PROCESS;
    size_t count = count_rows(output), rows = rows_of(output, count);
    char line[RPS_CODE_TEXT_SIZE], name[RPS_CODE_TEXT_SIZE];

    for (size_t i = 0; i < rows; i++) {
        const struct rps_share *share = &shares->share[i];

        rps_put_text(block, share->name);
        rps_put_text(block, output->by > RPS_SHARES_LINE
                                ? share->name
                                : rps_text_function(name, sizeof(name), share->name));
        put_weight(filling, block, share->self);
        rps_put_number(block, rps_shares_part(share->self, shares->samples));
        rps_put_int(block, (int64_t)share->total, 1);
        rps_put_number(block, rps_shares_part(share->total, shares->samples));
        rps_put_text(block, share->module);
        rps_put_words(block, "%s", rps_text_file_name(share->module));
        rps_put_text(block, share->file);
        rps_put_int(block, share->line, share->line > 0);
        rps_put_text(block, rps_code_line_text(line, share->file, share->line));
        rps_put_words(block, "%s", line);
        rps_put_int(block, share->is_kernel, !is_task);
        rps_put_text(block, is_task || output->by == RPS_SHARES_MODULE
                                ? NULL
                                : rps_location_how_name(share->how));
        rps_put_int(block, share->pid, share->pid >= 0);
        rps_put_int(block, share->tid, share->tid >= 0);
        rps_put_int(block, (int64_t)share->processes, share->processes > 0);
        rps_put_int(block, share->cpu_ns, share->cpu_ns >= 0);
        if (share->cpu_ns >= 0)
            rps_put_words(block, "%.3f", (double)share->cpu_ns / RPS_NS_PER_S);
        if (output->off_cpu) {
            put_weight(filling, block, output->waits[i].waited_us);
            rps_put_text(block, output->waits[i].reason);
        }
        if (output->latency)
            rps_put_number(block, rps_shares_part(output->cpu[i], output->samples));
    }
    if (!output->is_read && !output->is_time && output->is_whole) {
        put_rest(block, "[in the kernel, not sampled here]",
                 rps_samples_kernel_s(&output->code->sampling, output->time.cpu_s));
        put_rest(block, "[not sampled]", output->unsampled->cpu_s);
    }
    if (!output->is_tree && rows < count)
        rps_document_print(filling->document, "%zu more rows (--at-most N)", count - rows);
}

/* Return why frames of the module have no names; NULL: the module was not symbolized. */
static const char *find_reason(const struct rps_code *code, const char *module)
{
    for (size_t i = 0; i < code->location_count; i++) {
        const struct rps_location *at = &code->location[i];
        int64_t own = code->frame[at->frame].module;

        if (at->how == RPS_LOCATION_NONE && own >= 0 && strcmp(code->module[own].path, module) == 0)
            return at->function;
    }
    return NULL;
}

/* Put the modules with most unnamed samples, and the reasons why their functions have no names.
 * Each module appears once. */
static void report_reasons(const struct rps_code_filling *filling, struct rps_block *block)
{
    const struct rps_code_output *output = filling->output;
    const struct rps_shares *shares = output->shares;
    const char **seen =
        rps_arena_get(filling->document->arena, shares->count, sizeof(*seen)); /* modules */
    size_t seen_count = 0;
    int count = 0;

    for (size_t i = 0; i < shares->count && count < REASONS; i++) {
        const struct rps_share *share = &shares->share[i];
        const char *reason = NULL, *advice = "";
        size_t s = 0;

        while (s < seen_count && seen[s] != share->module) /* functions share the text */
            s++;
        if (s < seen_count || share->how != RPS_LOCATION_NONE)
            continue;
        seen[seen_count++] = share->module;
        if (rps_shares_part(count_self(output, share->module, 1, -1), shares->samples) >=
            ADVICE_MIN)
            reason = find_reason(output->code, share->module);
        if (!reason)
            continue;
        count++;
        if (strcmp(reason, RPS_LOCATION_NO_MAP) == 0)
            advice = map_advice(output);
        rps_block_wrap(block, 2, 4, "%s: %s%s", share->module, reason, advice);
    }
}

/* Report unnamed code if it has enough samples. `--resolve` finds no names of JIT-compiled code. */
static void report_unnamed(const struct rps_code_filling *filling)
{
    const struct rps_code_output *output = filling->output;
    const struct rps_shares *shares = output->shares;
    uint64_t unnamed = count_unnamed(output);
    struct rps_block *block;
    char share[RPS_CODE_TEXT_SIZE];
    const char *of = shares->samples < RPS_SHARES_SAMPLES_MIN ? "" : " of the";

    if (unnamed == 0 || rps_shares_part(unnamed, shares->samples) < ADVICE_MIN)
        return;
    block = rps_document_block(filling->document, NULL, NULL, 0);
    of_samples_text(share, unnamed, shares->samples);
    rps_block_wrap(
        block, 0, 0, "%s%s %s in functions without symbols (module+address).%s", share, of,
        output->is_time ? "time is" : "samples are",
        output->run->state == RPS_RUN_RECORDING
            ? " Symbols are read each minute while the run is recorded, and when it ends."
        : rps_shares_part(count_self(output, NULL, 1, 0), shares->samples) >= ADVICE_MIN
            ? " `rpistat code --resolve` searches again; --binaries adds files."
            : "");
    report_reasons(filling, block);
}

/* --- phases ----------------------------------------------------------------------------------- */

static char *top_text(char ret[RPS_CODE_TEXT_SIZE], const struct rps_share_group *group)
{
    double unlisted = group->unnamed; /* share of unnamed code that has no entry in the list */
    char name[RPS_CODE_TEXT_SIZE];
    size_t used = 0;

    ret[0] = '\0';
    for (int t = 0; t < group->count && t < TOP_TEXT && used < RPS_CODE_TEXT_SIZE; t++) {
        if (t > 0 && group->top[t].share < TOP_MIN)
            break;
        unlisted -= group->top[t].name.is_unnamed ? group->top[t].share : 0;
        used += (size_t)snprintf(
            ret + used, RPS_CODE_TEXT_SIZE - used, "%s%s %.0f %%", t > 0 ? ", " : "",
            group->by_program ? group->top[t].name.name
                              : rps_share_name_text(name, sizeof(name), &group->top[t].name),
            100 * group->top[t].share);
    }
    if (group->function_count > 0 && group->function[0].share >= TOP_MIN &&
        used < RPS_CODE_TEXT_SIZE) {
        unlisted -= group->function[0].name.is_unnamed ? group->function[0].share : 0;
        used += (size_t)snprintf(ret + used, RPS_CODE_TEXT_SIZE - used, "; %s %.0f %%",
                                 rps_share_name_text(name, sizeof(name), &group->function[0].name),
                                 100 * group->function[0].share);
    }
    if (unlisted >= TOP_MIN && used < RPS_CODE_TEXT_SIZE)
        snprintf(ret + used, RPS_CODE_TEXT_SIZE - used, "; %swithout symbols %.0f %%",
                 unlisted < group->unnamed ? "other code " : "", 100 * unlisted);
    if (group->count > 0 && isfinite(group->top[0].share))
        return ret;
    snprintf(ret, RPS_CODE_TEXT_SIZE, "too few samples");
    for (int k = 0; k < RPS_APART_KINDS; k++) {
        const struct rps_share_apart *apart = &group->apart[k];

        if (apart->is_found && apart->share > apart->rest) /* as the text of the phase says */
            snprintf(ret, RPS_CODE_TEXT_SIZE, "mostly %s",
                     rps_share_name_text(name, sizeof(name), &apart->name));
    }
    return ret;
}

static void put_labels(const struct rps_code_filling *filling)
{
    const struct rps_part_shares *groups = filling->output->groups;
    int by_program = groups && groups->group_count > 0 && groups->group[0].by_program;
    const struct rps_column columns[] = {
        {"label", "Class", .place = 1},
        {"off_cpu", "Off-CPU", RPS_VALUE_SHARE, .place = 3},
        {"samples", "Samples", RPS_VALUE_INT, .place = 2},
        {"expected_samples", .kind = RPS_VALUE_NUMBER},
        {"unnamed_share", .kind = RPS_VALUE_NUMBER},
        {"top", .kind = RPS_VALUE_BLOCK},
        {NULL, by_program ? "Programs" : "Functions", .place = 4},
    };
    static const struct rps_column of_time[] = {
        {NULL, "Class", .place = 1},
        {NULL, "Time", RPS_VALUE_INT, .place = 2},
        {NULL, "Waited", RPS_VALUE_SHARE, .place = 3},
        {NULL, "Functions", .place = 4},
    };
    int is_wall = filling->output->off_cpu != NULL;
    struct rps_block *block =
        rps_document_block(filling->document, "labels", is_wall ? of_time : columns,
                           is_wall ? RPS_COUNT(of_time) : RPS_COUNT(columns));
    char label[RPS_PHASE_LABEL_SIZE], text[RPS_CODE_TEXT_SIZE];
    int has_unnamed = 0;

    block->indent = 2;
    if (groups && groups->group_count > 0)
        rps_block_title(
            block,
            by_program ? "Programs by class, with the largest function (share of the class's %s)"
            : is_wall  ? "Functions by class (share of the time of all threads)"
                       : "Functions by class (share of the class's %s, kernel work included)",
            filling->output->latency ? "time" : "samples");
    for (size_t g = 0; groups && g < groups->group_count; g++) {
        const struct rps_share_group *group = &groups->group[g];
        const struct rps_part_time *time = is_wall ? NULL : &filling->output->groups_time[g];

        /* The off-CPU time of the group is unknown, or its threads did not live. */
        if (is_wall ? group->weight == 0 : !isfinite(time->off_cpu))
            continue;
        rps_put_text(block, rps_phase_label((int)g, label));
        if (is_wall) {
            put_weight(filling, block, group->weight);
            rps_put_number(block, group->waited_s * 1e6 / (double)group->weight);
        } else {
            rps_put_number(block, time->off_cpu);
            rps_share_block_put(block, &groups->sampling, group, time->cpu_s);
        }
        rps_put_text(block, top_text(text, group));
        has_unnamed |= rps_share_has_brackets(text);
    }
    if (has_unnamed)
        rps_document_print(filling->document, "  " RPS_SHARE_UNNAMED_NOTE);
}

void rps_code_blocks(struct rps_document *document, const struct rps_code_output *output)
{
    const struct rps_code_filling filling = {document, output};

    put_fields(&filling);
    report_head(&filling);
    if (!output->is_read || !output->is_tree)
        put_shares(&filling);
    if (output->is_tree)
        (output->is_read ? rps_code_put_tree : rps_code_put_calls)(&filling);
    document->csv = output->is_tree ? "calls" : "code";
    if (output->is_whole)
        rps_share_block_unsampled(document, rps_document_block(document, NULL, NULL, 0), 2,
                                  &output->code->sampling, output->unsampled, output->time.cpu_s);
    report_unnamed(&filling);
    put_labels(&filling);
}
