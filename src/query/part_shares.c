/* Formats the named shares of parts of a run, and checks whether the parts have as many samples as
 * expected. */
#include "rpistat/part_shares.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "rpistat/apart.h"
#include "rpistat/clock.h"
#include "rpistat/store.h"
#include "rpistat/text.h"
#include "rpistat/code_hooks.h"

#define FILE_MAX 100 /* Maximum bytes of a file's name after a function. */
#define SHORT    .8  /* Report a part that has less than this share of the expected samples. */

#define WAITED_FOR .9 /* Minimum share of CPU time that Linux reports as user or kernel. */

#define NEARLY             .9 /* A program with this share of samples is shown with its function. */
#define FUNCTION_THRESHOLD .1 /* Minimum share of samples to report a function after a program. */
#define CHANCE_SHARE_MIN   .2 /* Minimum share of a function that may differ by chance. */
#define DISTINCTIVE_MIN    .2 /* Minimum share of a name, if no name has half of the samples. */
#define FEW_SAMPLES_MIN    5  /* Minimum number of samples to print their numbers. */
#define STANDS_OUT         "function stands out"

#define UNKNOWN_WAITS_MIN .01 /* Minimum share of unknown waits in all waits to print them. */

#define WINDOW_MIN .15 /* Minimum difference from the rest to name code that both have most of. */

#define PROGRAMS_MAX 4   /* Maximum number of unsampled programs that one line names. */
#define PROGRAM_MIN  .01 /* Minimum share of the CPU time to list a program. */
#define NAME_MAX     40  /* Maximum bytes of a program's name. */

int rps_part_shares_find(struct rps_arena *arena, struct rps_reader *reader, int64_t run_id,
                         const struct rps_run_part *part, size_t count, const struct rps_cpus *cpus,
                         struct rps_part_shares *ret, struct rps_error *err)
{
    const struct rps_code_hooks *hooks = rps_store_used_hooks();

    for (size_t p = 0; p < count; p++)
        ret[p] = (struct rps_part_shares){0};
    return hooks && hooks->shares
               ? hooks->shares(arena, reader, run_id, part, count, cpus, ret, err)
               : 0;
}

int rps_part_shares_of_labels(struct rps_arena *arena, struct rps_reader *reader, int64_t run_id,
                              const struct rps_phases *phases, const struct rps_cpus *cpus,
                              struct rps_part_shares *ret, struct rps_error *err)
{
    struct rps_run_part part = rps_run_part_of_phases(arena, phases, 1);

    return rps_part_shares_find(arena, reader, run_id, &part, 1, cpus, ret, err);
}

struct rps_share_name rps_share_name_keep(struct rps_arena *arena,
                                          const struct rps_share_name *name)
{
    struct rps_share_name kept = *name;

    kept.name = rps_arena_text(arena, name->name);
    kept.module = rps_arena_text(arena, name->module);
    kept.file = rps_arena_text(arena, name->file);
    return kept;
}

double rps_shares_part(uint64_t samples, uint64_t all)
{
    return all < RPS_SHARES_SAMPLES_MIN ? NAN : (double)samples / (double)all;
}

/* --- text ------------------------------------------------------------------------------------- */

char *rps_share_name_text(char *ret, size_t size, const struct rps_share_name *name)
{
    const char *file = rps_text_file_name(name->file);
    char line[128] = "";

    if (name->line > 0)
        snprintf(line, sizeof(line), " (%.*s:%d)", (int)rps_text_cut(file, FILE_MAX), file,
                 name->line);
    else if (name->processes > 1)
        snprintf(line, sizeof(line), " (%zu sampled processes)", name->processes);
    rps_text_function(ret, size - strlen(line), name->name);
    return strcat(ret, line);
}

const char *rps_shares_percent_text(char *ret, size_t size, double share)
{
    if (share > 0 && share < .005)
        snprintf(ret, size, "under 1 %%");
    else
        snprintf(ret, size, "%.0f %%", 100 * share);
    return ret;
}

int rps_share_has_brackets(const char *text)
{
    for (const char *at = strchr(text, '['); at; at = strchr(at + 1, '[')) {
        if ((at == text || at[-1] == ' ') && strncmp(at, RPS_SHARE_JIT, strlen(RPS_SHARE_JIT)) != 0)
            return 1;
    }
    return 0;
}

const char *rps_share_jit_note(const struct rps_run *run, const struct rps_part_shares *shares)
{
    const char *map = NULL;
    int has_names = 0;

    for (size_t i = 0; i < shares->name_count && !map; i++) {
        if (strcmp(shares->name[i].name, RPS_SHARE_JIT) == 0)
            map = shares->name[i].module;
    }
    for (size_t i = 0; i < shares->name_count && map; i++)
        has_names |= !shares->name[i].is_unnamed && strcmp(shares->name[i].module, map) == 0;
    return has_names ? RPS_SHARE_JIT ": JIT-compiled code that its runtime did not name"
           : rps_run_is_of_command(run->target)
               ? RPS_SHARE_JIT ": to have names for Java and Node, record with --jit-names"
               : RPS_SHARE_JIT ": `rpistat code` shows how to record its names";
}

/* Append "9 % of samples in solve (elsewhere 0 %)", if the whole text fits. If is_few is 1, there
 * are too few samples for a share: "most samples in solve (elsewhere 0 %)". */
static void append_apart(char *ret, size_t size, enum rps_apart_kind kind,
                         const struct rps_share_apart *apart, const char *other, int is_few)
{
    char name[256], own[16], rest[16], clause[384];
    struct rps_share_name shown = apart->name;
    const size_t used = strlen(ret);

    if (kind == RPS_APART_TOTAL)
        shown.line = 0; /* most samples are in callees */
    snprintf(clause, sizeof(clause), "%s%s%s in %s%s%s (%s%s %s)", used > 0 ? ", " : "",
             is_few ? "most" : rps_shares_percent_text(own, sizeof(own), apart->share),
             strchr(ret, '%') ? ""
             : is_few         ? " samples"
                              : " of samples",
             kind == RPS_APART_CGROUP ? "control group " : "",
             rps_share_name_text(name, sizeof(name), &shown),
             kind == RPS_APART_TOTAL                                    ? " and its callees"
             : kind == RPS_APART_FUNCTION && apart->share < apart->rest ? " itself"
                                                                        : "",
             other ? other : "elsewhere", other ? ":" : "",
             rps_shares_percent_text(rest, sizeof(rest), apart->rest));
    if (used == 0 || used + strlen(clause) < size)
        snprintf(ret + used, size - used, "%s", clause);
}

static double difference_of(const struct rps_share_apart *apart)
{
    return apart->is_found ? fabs(apart->share - apart->rest) : 0;
}

/* Return 1 if a name has a larger share in the group than elsewhere. */
static int is_positive(const struct rps_share_apart *apart)
{
    return apart->is_found && apart->share > apart->rest;
}

/* Append a share that did not pass the test. Chance is not mentioned if the test had too few blocks
 * of periods, and a chance difference of as many independent clusters would be smaller. */
static void append_unsure(char *ret, size_t size, enum rps_apart_kind kind,
                          const struct rps_share_apart *apart, const struct rps_share_group *group)
{
    const double samples = fmax(1, (double)group->samples);
    const double share = (apart->share * samples + 1) / (samples + 2);
    const double error = RPS_CHANCE_Z * sqrt(RPS_CHANCE_CLUSTER * share * (1 - share) / samples);

    append_apart(ret, size, kind, apart,
                 !apart->is_tested && difference_of(apart) > error ? NULL
                                                                   : "perhaps by chance; elsewhere",
                 isnan(group->top->share));
}

/* Append the largest share, if the text is empty, and the largest share of a function, if the
 * largest shares are of programs. A program that all groups have says nothing. */
static void append_largest(char *ret, size_t size, const struct rps_share_group *group)
{
    const struct rps_share_top *top = &group->top[0], *function = &group->function[0];
    const int has_function = group->function_count > 0 && function->share >= FUNCTION_THRESHOLD;
    char name[256], own[16], rest[16];

    rps_share_name_text(name, sizeof(name), &top->name);
    rps_shares_percent_text(own, sizeof(own), top->share);
    if (!ret[0] && top->share > 0 &&
        !(group->is_alike && (has_function || top->share >= RPS_SHARES_NAME_MIN))) {
        if (isnan(group->top_rest))
            snprintf(ret, size, "%s of samples in %s", own, name);
        else
            snprintf(ret, size, "%s of samples in %s (elsewhere %s)", own, name,
                     rps_shares_percent_text(rest, sizeof(rest), group->top_rest));
    }
    if (has_function)
        snprintf(ret + strlen(ret), size - strlen(ret), "%s%s %sin %s", ret[0] ? ", " : "",
                 rps_shares_percent_text(own, sizeof(own), function->share),
                 strchr(ret, '%') ? "" : "of samples ",
                 rps_share_name_text(name, sizeof(name), &function->name));
}

/* Format the name that has most samples, unless all groups have this name, and the names that
 * distinguish the group. If there are none, format the largest share. A control group is named if
 * it distinguishes the group more clearly than the program does. */
char *rps_share_group_text(char *ret, size_t size, const struct rps_share_group *group)
{
    static const enum rps_apart_kind order[] = {RPS_APART_PROGRAM, RPS_APART_PROGRAM_2,
                                                RPS_APART_CGROUP, RPS_APART_TOTAL,
                                                RPS_APART_FUNCTION};
    const struct rps_share_top *top = &group->top[0];
    const struct rps_share_apart *caller = &group->apart[RPS_APART_CALLER];
    const struct rps_share_apart *place = &group->apart[RPS_APART_PLACE];
    const struct rps_share_apart *total = &group->apart[RPS_APART_TOTAL];
    const struct rps_share_apart *unsure = &group->unsure;
    const int is_tested = group->apart[RPS_APART_FUNCTION].is_tested;
    const double by_program = difference_of(&group->apart[RPS_APART_PROGRAM]);
    enum rps_apart_kind kind = RPS_APART_PROGRAM;
    int is_named;
    char name[256], own[16], rest[16];

    ret[0] = '\0';
    if (group->count == 0)
        return ret;
    if (isnan(top->share) && !is_tested) {
        if (!group->other && group->weight == group->samples && group->samples >= FEW_SAMPLES_MIN &&
            2 * top->seen > group->samples)
            snprintf(ret, size, "%" PRIu64 " of %" PRIu64 " samples in %s", top->seen,
                     group->samples, rps_share_name_text(name, sizeof(name), &top->name));
        return ret;
    }
    is_named = top->share >= RPS_SHARES_NAME_MIN &&
               !(group->is_alike &&
                 (group->other ? fabs(top->share - group->top_rest) < WINDOW_MIN : is_tested));
    rps_share_name_text(name, sizeof(name), place->is_found ? &place->name : &top->name);
    if (is_named && group->other)
        snprintf(ret, size, "in %s (%s of samples, %s: %s)",
                 rps_text_function(name, sizeof(name), top->name.name),
                 rps_shares_percent_text(own, sizeof(own), top->share), group->other,
                 isnan(group->top_rest)
                     ? "too few"
                     : rps_shares_percent_text(rest, sizeof(rest), group->top_rest));
    else if (is_named)
        snprintf(ret, size, "in %s", name);
    if (is_named && caller->is_found)
        snprintf(ret + strlen(ret), size - strlen(ret), ", called by %s",
                 rps_text_function(name, sizeof(name), caller->name.name));
    for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++) {
        const struct rps_share_apart *apart = &group->apart[order[i]];

        if (apart->is_found && (group->other || is_positive(apart)) &&
            !(is_named && strcmp(apart->name.name, top->name.name) == 0) &&
            !(order[i] == RPS_APART_CGROUP &&
              difference_of(apart) < by_program + RPS_APART_SHARE_MIN) &&
            !(order[i] == RPS_APART_FUNCTION && total->is_found &&
              (apart->share < apart->rest || strcmp(apart->name.name, total->name.name) == 0)))
            append_apart(ret, size, order[i], apart, group->other, isnan(top->share));
    }
    if (group->other)
        return ret;
    if (is_positive(&group->chance) && group->chance.share >= CHANCE_SHARE_MIN &&
        !(is_positive(&group->unsure) && group->unsure.share > group->chance.share)) {
        kind = RPS_APART_TOTAL;
        unsure = &group->chance;
    }
    if (is_positive(unsure) && !(is_named && strcmp(unsure->name.name, top->name.name) == 0))
        append_unsure(ret, size, kind, unsure, group);
    if (!ret[0] || !is_tested)
        append_largest(ret, size, group);
    if (!ret[0])
        snprintf(ret, size, "no %s" STANDS_OUT, group->by_program ? "program or " : "");
    return ret;
}

int rps_share_is_positive(const struct rps_share_group *group)
{
    int ret = 0;

    for (int k = 0; k < RPS_APART_KINDS; k++)
        ret |= is_positive(&group->apart[k]);
    return ret;
}

int rps_share_is_tested(const struct rps_share_group *group)
{
    return group->apart[RPS_APART_FUNCTION].is_tested && !group->unsure.is_found;
}

int rps_share_is_none(const char *text)
{
    return strstr(text, STANDS_OUT) != NULL;
}

char *rps_share_waits_text(char *ret, size_t size, const struct rps_share_group *group, int most)
{
    char name[256], time[RPS_TEXT_NUMBER_SIZE];
    size_t used = 0;

    ret[0] = '\0';
    for (int i = 0; i < group->wait_count && i < most && used < size; i++) {
        int64_t ns = (int64_t)(group->wait[i].share * group->waited_s * RPS_NS_PER_S);
        int is_unknown;

        rps_share_name_text(name, sizeof(name), &group->wait[i].name);
        is_unknown = strncmp(name, RPS_SHARE_UNKNOWN, strlen(RPS_SHARE_UNKNOWN)) == 0;
        used += (size_t)snprintf(ret + used, size - used, "%s%s %s%s", i > 0 ? ", " : "waited ",
                                 rps_text_stretch(time, sizeof(time), ns), is_unknown ? "" : "in ",
                                 is_unknown ? "at an unknown place" : name);
    }
    if (group->unknown_s > UNKNOWN_WAITS_MIN * (group->waited_s + group->unknown_s) && used < size)
        snprintf(ret + used, size - used, "%s%s in unknown waits", used > 0 ? ", " : "waited ",
                 rps_text_stretch(time, sizeof(time), (int64_t)(group->unknown_s * RPS_NS_PER_S)));
    return ret;
}

/* Return the name of the function whose share in the group is most distinctive, or NULL. If the top
 * names are programs and none of them has most samples, programs precede functions. */
static const char *distinctive_name(const struct rps_share_group *group)
{
    const struct rps_share_apart *const named[] = {
        &group->apart[RPS_APART_PROGRAM], &group->apart[RPS_APART_TOTAL],
        &group->apart[RPS_APART_FUNCTION], &group->chance, &group->unsure};
    const int has_program = group->by_program && !(group->top->share >= RPS_SHARES_NAME_MIN);

    for (size_t i = has_program ? 0 : 1; i < RPS_COUNT(named); i++) {
        if (is_positive(named[i]) && named[i]->share >= DISTINCTIVE_MIN)
            return named[i]->name.name;
    }
    return NULL;
}

char *rps_share_group_name(char *ret, size_t size, const struct rps_share_group *group,
                           int is_of_several)
{
    const struct rps_share_top *top = group->top, *function = group->function;
    const struct rps_share_apart *program = &group->apart[RPS_APART_PROGRAM];
    const struct rps_share_apart *total = &group->apart[RPS_APART_TOTAL];
    const char *outer = top->name.name, *inner = NULL;
    const char *distinctive = is_of_several ? NULL : distinctive_name(group);
    size_t used;

    ret[0] = '\0';
    if (program->is_found && program->share >= RPS_SHARES_NAME_MIN && !group->by_program)
        return rps_text_function(ret, size, program->name.name);
    if (total->is_found && total->share >= RPS_SHARES_NAME_MIN && !group->by_program)
        return rps_text_function(ret, size, total->name.name);
    if (group->count == 0)
        return ret;
    if (!(top->share >= RPS_SHARES_NAME_MIN) ||
        (distinctive && top->name.is_unnamed && !group->by_program &&
         (top->name.name[0] == '[' || distinctive[0] != '[')))
        return distinctive ? rps_text_function(ret, size, distinctive) : ret;
    if (group->apart[RPS_APART_CALLER].is_found) {
        outer = group->apart[RPS_APART_CALLER].name.name;
        inner = top->name.name;
    } else if (group->by_program && distinctive) {
        inner = distinctive;
    } else if (total->is_found && total->share >= RPS_SHARES_NAME_MIN) {
        inner = total->name.name;
    } else if (group->function_count > 0 && function->share >= RPS_SHARES_NAME_MIN &&
               top->share >= NEARLY && (!function->name.is_unnamed || group->is_alike)) {
        inner = function->name.name;
    }
    if (!inner && !is_of_several && group->apart[RPS_APART_PLACE].is_found)
        return rps_share_name_text(ret, size, &group->apart[RPS_APART_PLACE].name);
    if (!inner)
        return rps_text_function(ret, size, outer);
    used = strlen(rps_text_function(ret, size, inner)) + strlen(": ");
    rps_text_function(ret, used < size / 2 ? size - used : size - size / 2, outer);
    used = strlen(strcat(ret, ": "));
    rps_text_function(ret + used, size - used, inner);
    return ret;
}

/* --- expected samples ------------------------------------------------------------------------- */

static int is_user_only(const struct rps_sampling *sampling)
{
    return strchr(sampling->event, ':') != NULL;
}

/* Return the share of the run's CPU time that was in the kernel and may not be sampled. The share
 * is 0 if it is unknown. The reason for an unknown share is that Linux reports too little CPU time,
 * because some processes had no parent that waited for them. */
static double kernel_part(const struct rps_sampling *sampling, double cpu_s)
{
    double all_ns = (double)sampling->user_ns + (double)sampling->kernel_ns;

    return is_user_only(sampling) && sampling->user_ns >= 0 && sampling->kernel_ns >= 0 &&
                   all_ns > 0 && all_ns >= WAITED_FOR * cpu_s * RPS_NS_PER_S
               ? (double)sampling->kernel_ns / all_ns
               : 0;
}

double rps_samples_expected(const struct rps_sampling *sampling, double cpu_s, int is_whole)
{
    int is_clock = strncmp(sampling->event, "cpu-clock", strlen("cpu-clock")) == 0 ||
                   strncmp(sampling->event, "task-clock", strlen("task-clock")) == 0 ||
                   strstr(sampling->event, "cycles");

    if (!is_clock || sampling->frequency == 0)
        return NAN;
    return (double)sampling->frequency * cpu_s * (is_whole ? 1 - kernel_part(sampling, cpu_s) : 1);
}

int rps_samples_at_most(const struct rps_sampling *sampling, double cpu_s, int is_whole)
{
    return is_user_only(sampling) && !(is_whole && kernel_part(sampling, cpu_s) > 0);
}

char *rps_samples_got_text(char *ret, size_t size, const struct rps_sampling *sampling,
                           uint64_t samples, double cpu_s, int is_whole)
{
    double expected = rps_samples_expected(sampling, cpu_s, is_whole);
    char got[RPS_TEXT_NUMBER_SIZE], most[RPS_TEXT_NUMBER_SIZE];

    rps_text_count(got, sizeof(got), samples);
    if (isfinite(expected) && rps_samples_at_most(sampling, cpu_s, is_whole))
        snprintf(ret, size, "%s of at most %s samples", got,
                 rps_text_figure(most, sizeof(most), 0, expected));
    else
        snprintf(ret, size, "%s sample%s", got, samples == 1 ? "" : "s");
    return ret;
}

double rps_samples_kernel_s(const struct rps_sampling *sampling, double cpu_s)
{
    return cpu_s * kernel_part(sampling, cpu_s);
}

int rps_samples_are_short(uint64_t samples, double expected)
{
    return expected >= RPS_SHARES_SAMPLES_MIN && (double)samples < SHORT * expected;
}

char *rps_samples_short_text(char *ret, size_t size, const struct rps_sampling *sampling,
                             uint64_t samples, double cpu_s, int is_whole)
{
    static const char stopped[] = "Linux stopped counting and sampling some processes.";
    double expected = rps_samples_expected(sampling, cpu_s, is_whole);
    char time[RPS_TEXT_NUMBER_SIZE], got[RPS_TEXT_NUMBER_SIZE], most[RPS_TEXT_NUMBER_SIZE];
    size_t used;

    ret[0] = '\0';
    if (!rps_samples_are_short(samples, expected))
        return ret;
    rps_text_count(got, sizeof(got), samples);
    rps_text_figure(most, sizeof(most), 0, expected);
    rps_text_duration(time, sizeof(time), (int64_t)(fmin(cpu_s, 1e9) * RPS_NS_PER_S));
    if (rps_samples_at_most(sampling, cpu_s, is_whole)) {
        snprintf(ret, size, "%s of at most %s samples in %s of CPU time: %s", got, most, time,
                 sampling->is_incomplete ? stopped : "the kernel's part may not be sampled here.");
        return ret;
    }
    used = (size_t)snprintf(ret, size, "%s of %s expected samples in %s of CPU time%s", got, most,
                            time,
                            kernel_part(sampling, cpu_s) > 0 ? ", without the kernel's part" : "");
    if (used < size && (sampling->is_incomplete || sampling->lost > 0 || sampling->throttled > 0))
        snprintf(ret + used, size - used, ": %s",
                 sampling->is_incomplete ? stopped
                                         : "some were lost, or the kernel paused sampling.");
    else if (used < size && sampling->is_wide)
        snprintf(ret + used, size - used, ".");
    else if (used < size)
        snprintf(ret + used, size - used, ": processes that end within %.4g ms are not sampled.",
                 1000 / (double)sampling->frequency);
    return ret;
}

/* --- time without samples --------------------------------------------------------------------- */

char *rps_unsampled_text(char *ret, size_t size, const struct rps_unsampled *unsampled,
                         double cpu_s)
{
    uint64_t processes = unsampled->processes, threads = unsampled->threads;
    char first[48] = "", other[48] = "";
    size_t used, told = 0;

    ret[0] = '\0';
    if (!(unsampled->cpu_s > 0) || !(cpu_s > 0))
        return ret;
    if (processes > 0)
        snprintf(first, sizeof(first), "%" PRIu64 " short process%s", processes,
                 processes == 1 ? "" : "es");
    if (threads > 0)
        snprintf(other, sizeof(other), "%s%" PRIu64 " short thread%s", processes > 0 ? ", " : "",
                 threads, threads == 1 ? "" : "s");
    used = (size_t)snprintf(ret, size, "[not sampled: %s%s%s", first, other,
                            processes + threads > 0 ? "; " : "");
    for (; told < unsampled->count && told < PROGRAMS_MAX && used < size; told++) {
        double part = unsampled->program[told].cpu_s / cpu_s;

        if (told > 0 && part < PROGRAM_MIN)
            break;
        used += (size_t)snprintf(ret + used, size - used, "%s%.*s %.0f %%", told > 0 ? ", " : "",
                                 (int)rps_text_cut(unsampled->program[told].name, NAME_MAX),
                                 unsampled->program[told].name, 100 * part);
    }
    if (used < size)
        snprintf(ret + used, size - used, "%s; share of the CPU time]",
                 told < unsampled->count ? ", ..." : "");
    return ret;
}

char *rps_samples_kernel_text(char *ret, size_t size, const struct rps_sampling *sampling,
                              double cpu_s)
{
    ret[0] = '\0';
    if (cpu_s > 0 && kernel_part(sampling, cpu_s) >= PROGRAM_MIN)
        snprintf(ret, size, "[in the kernel, not sampled here: %.0f %% of the CPU time]",
                 100 * kernel_part(sampling, cpu_s));
    return ret;
}
