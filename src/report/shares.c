/* The report's shares of time, estimated from samples. If an event triggered the samples, the
 * shares are shares of this event's count. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "parts.h"
#include "rpistat/plan.h"
#include "rpistat/profile.h"
#include "rpistat/report.h"
#include "rpistat/text.h"

#define UNNAMED_MIN .0005 /* A smaller share is printed as 0.0 %. */
#define NAME_SIZE   128

#define FUNCTIONS_MAX 3   /* maximum number of the run's functions in a sentence */
#define FUNCTION_MIN  .01 /* minimum share of samples of each function after the first */

enum { WHOLE, LABELS, PARTS }; /* WHOLE: the reported part; LABELS: its phases */

int rps_report_read_shares(struct rps_report *report, struct rps_error *err)
{
    const struct rps_report_options *options = report->options;
    const struct rps_part_choice choice = {
        .from_ns = options->from_ns, .to_ns = options->to_ns, .region = options->region};
    struct rps_reader *reader = report->cpu_series.reader;
    struct rps_arena *arena = report->document->arena;
    int64_t run_id = report->run.run_id;
    struct rps_run_part part[PARTS] = {{0}};
    struct rps_part_shares shares[PARTS];
    int result = rps_run_part_choose(arena, reader, run_id, &choice, &part[WHOLE], err);

    if (result == 0 && report->phases) { /* the phases that lie within the reported part */
        part[LABELS] = rps_run_part_of_phases(arena, report->phases, 1);
        part[LABELS] = rps_run_part_both(arena, &part[LABELS], &part[WHOLE]);
    }
    rps_tally_operands(&report->tally, report->plan, report->operand);
    report->cpu_s = report->operand[RPS_OPERAND_CPU_SECONDS];
    if (result == 0)
        result =
            rps_part_shares_find(arena, reader, run_id, part, PARTS, &options->cpus, shares, err);
    if (result < 0)
        return result;
    report->shares = shares[WHOLE];
    report->label_shares = shares[LABELS];
    if (report->phases)
        rps_profile_code(report->profile, &report->label_shares);
    return 0;
}

/* Put the programs or control groups that used a machine's time. `by` is the grouping (`rpistat
 * code`). */
static void put_owners(struct rps_report *report, const struct rps_share_owners *owners,
                       const char *name, const char *heading, const char *by)
{
    const struct rps_column columns[] = {
        {"name", heading, .place = 3},
        {"self_share", "Share", RPS_VALUE_SHARE, .place = 1},
        {"samples", .kind = RPS_VALUE_INT},
        {"processes", "Sampled processes", RPS_VALUE_INT, .place = 2},
        {.name = "module"},
    };
    uint64_t all = report->shares.sample_count;
    struct rps_block *block;

    if (owners->count == 0 || all < RPS_SHARES_SAMPLES_MIN)
        return;
    block = rps_document_block(report->document, name, columns, RPS_COUNT(columns));
    block->indent = 2;
    for (size_t i = 0; i < owners->count; i++) {
        const struct rps_share_owner *owner = &owners->owner[i];

        rps_put_text(block, owner->name.name);
        rps_put_number(block, rps_shares_part(owner->samples, all));
        rps_put_int(block, (int64_t)owner->samples, 1);
        rps_put_int(block, (int64_t)owner->name.processes, 1);
        rps_put_text(block, owner->name.module);
    }
    if (owners->count < owners->all)
        rps_document_print(report->document, "  %zu more rows (see `rpistat code --by %s`)",
                           owners->all - owners->count, by);
}

/* Append "solve 12.3 %, main 4.0 %" to a text. If text is NULL, begin a new text. */
static char *add_shares(struct rps_document *document, char *text, const char *before,
                        const struct rps_share_top *top, int count)
{
    char name[NAME_SIZE];

    for (int t = 0; t < count && top[t].share >= RPS_SHARES_SHOWN_MIN; t++)
        text = rps_arena_print(
            document->arena, "%s%s%s %.1f %%", text ? text : "", t > 0 ? ", " : before,
            rps_share_name_text(name, sizeof(name), &top[t].name), 100 * top[t].share);
    return text;
}

/* For programs, put the shares of the programs that waited for a CPU. */
static void put_waits(struct rps_report *report)
{
    static const struct rps_column columns[] = {{.name = "name"},
                                                {"wait_s", .kind = RPS_VALUE_NUMBER}};
    const struct rps_share_owners *waits = &report->shares.waits;
    struct rps_block *block;

    if (waits->count == 0 || rps_report_is_part(report))
        return;
    block = rps_document_block(report->document, "waits", columns, 2);
    for (size_t i = 0; i < waits->count; i++) {
        rps_put_text(block, waits->owner[i].name.name);
        rps_put_number(block, (double)waits->owner[i].samples / 1e6);
    }
}

/* Put shares with names into a document for programs. */

static const struct rps_column top_columns[] = {{.name = "name"},
                                                {"self_share", .kind = RPS_VALUE_SHARE},
                                                {.name = "module"},
                                                {.name = "file"},
                                                {"line", .kind = RPS_VALUE_INT}};

static void put_top(struct rps_block *top, const struct rps_share_group *group)
{
    for (int t = 0; t < group->count; t++) {
        const struct rps_share_name *name = &group->top[t].name;

        rps_put_text(top, name->name);
        rps_put_number(top, group->top[t].share);
        rps_put_texts(top, 2, name->module, name->file);
        rps_put_int(top, name->line, name->line > 0);
    }
}

void rps_report_shares(struct rps_report *report)
{
    const struct rps_share_group *group = report->shares.group;
    const char *event = report->shares.sampling.event;
    struct rps_document *document = report->document;
    struct rps_block *top;
    char *text = NULL, name[NAME_SIZE];
    double unnamed; /* share of unnamed code that is not listed */
    int is_whole = !rps_report_is_part(report) && report->options->cpus.count == 0;

    if (report->shares.group_count == 0)
        return;
    rps_put_int(rps_document_field(document, "samples", RPS_VALUE_INT), (int64_t)group->samples, 1);
    rps_put_number(rps_document_field(document, "expected_samples", RPS_VALUE_NUMBER),
                   rps_samples_expected(&report->shares.sampling, report->cpu_s, is_whole));
    rps_put_number(rps_document_field(document, "unnamed_share", RPS_VALUE_NUMBER), group->unnamed);
    top = rps_document_block(document, "top", top_columns, RPS_COUNT(top_columns));
    put_top(top, group);
    if (report->shares.programs.count == 0)
        text = add_shares(document, text, "", group->top, group->count);
    text = add_shares(document, text, text ? "; functions: " : "functions: ", group->function,
                      group->function_count);
    unnamed = group->unnamed;
    for (int t = 0; t < group->function_count; t++)
        unnamed -= group->function[t].name.is_unnamed ? group->function[t].share : 0;
    if (group->by_program && unnamed > UNNAMED_MIN)
        text = rps_arena_print(document->arena, "%s%s%swithout symbols %.1f %%", text ? text : "",
                               group->function_count > 0 ? ", " : "; functions: ",
                               unnamed < group->unnamed ? "other code " : "", 100 * unnamed);
    if (report->shares.sampling.frequency > 0)
        event = NULL; /* samples by page faults do not represent time */
    if (group->samples > 0 || report->shares.unsampled.cpu_s > 0)
        rps_block_title(
            top, "%s by %sfunction (%s; see `rpistat code`)", event ? event : "CPU time",
            group->by_program || report->shares.programs.count > 0 ? "program and " : "",
            rps_samples_got_text(name, sizeof(name), &report->shares.sampling, group->samples,
                                 report->cpu_s, is_whole));
    if (text || (group->samples > 0 && group->samples < RPS_SHARES_SAMPLES_MIN))
        rps_block_wrap(top, 2, 4, "%s", text ? text : "Too few samples for shares");
    if (is_whole)
        rps_share_block_unsampled(document, top, 2, &report->shares.sampling,
                                  &report->shares.unsampled, report->cpu_s);
    put_owners(report, &report->shares.programs, "programs", "Program", "program");
    put_owners(report, &report->shares.cgroups, "cgroups", "Cgroup", "cgroup");
    put_waits(report);
}

static double difference_of(const struct rps_share_group *group)
{
    return group->apart[RPS_APART_PROGRAM].share - group->apart[RPS_APART_PROGRAM].rest;
}

char *rps_report_differences(const struct rps_report *report, char *ret, size_t size)
{
    const struct rps_share_group *group = report->label_shares.group;
    const struct rps_phase *phase;
    int label[FUNCTIONS_MAX + 1], count = 0; /* largest differences first */
    char name[NAME_SIZE], letter[RPS_PHASE_LABEL_SIZE], from[RPS_TEXT_NUMBER_SIZE];
    char own[16], rest[16];
    size_t used = 0,
           labels = report->shares.programs.count > 0 ? report->label_shares.group_count : 0;

    ret[0] = '\0';
    for (size_t l = 0; l < labels; l++) {
        int at = count < FUNCTIONS_MAX ? count : FUNCTIONS_MAX;

        if (!(difference_of(&group[l]) > 0))
            continue;
        for (count++; at > 0 && difference_of(&group[label[at - 1]]) < difference_of(&group[l]);
             at--)
            label[at] = label[at - 1];
        label[at] = (int)l;
    }
    for (int i = 0; i < count && i < FUNCTIONS_MAX && used < size; i++) {
        const struct rps_share_apart *apart = &group[label[i]].apart[RPS_APART_PROGRAM];

        for (phase = report->phases->phase; phase->label != label[i];)
            phase++;
        rps_text_stretch(from, sizeof(from), phase->start_ns);
        used += (size_t)snprintf(ret + used, size - used,
                                 "%s%s in %s (%s of its samples, %s elsewhere; from %s on)",
                                 i > 0 ? ", " : "Programs of phases: ",
                                 rps_text_function(name, sizeof(name), apart->name.name),
                                 rps_phase_label(label[i], letter),
                                 isnan(group[label[i]].top[0].share)
                                     ? "most"
                                     : rps_shares_percent_text(own, sizeof(own), apart->share),
                                 rps_shares_percent_text(rest, sizeof(rest), apart->rest), from);
    }
    if (count > FUNCTIONS_MAX && used < size)
        snprintf(ret + used, size - used, ", %d more (see `rpistat phases`)",
                 count - FUNCTIONS_MAX);
    return ret;
}

/* Append the largest shares, and the sum of the other shares of all `all` programs, so that the
 * shares add up to 100 %: "make 30 %, cc1 20 %, 4 others 50 %". The shares are in descending order.
 * If `all` is 0, omit the others. Return the number of bytes. */
static size_t append_shares(char *ret, size_t size, const struct rps_share_top *top, int top_count,
                            size_t all)
{
    char name[NAME_SIZE], percent[16];
    double part[FUNCTIONS_MAX + 1] = {1};
    size_t used = 0;
    int count = 0;

    for (; count < top_count && count < FUNCTIONS_MAX && isfinite(top[count].share) &&
           (count == 0 || top[count].share >= FUNCTION_MIN);
         count++) {
        part[count + 1] = fmax(0, part[count] - top[count].share); /* share of all others */
        part[count] = top[count].share;
    }
    if (all > 0) /* if `all` is above 0, the others are printed too */
        rps_text_round_parts(part, (size_t)count + 1, 1, .01);
    for (int t = 0; t < count && used < size; t++)
        used += (size_t)snprintf(ret + used, size - used, "%s%s %s", t > 0 ? ", " : "",
                                 rps_text_function(name, sizeof(name), top[t].name.name),
                                 rps_shares_percent_text(percent, sizeof(percent), part[t]));
    if (all > (size_t)count && used > 0 && used < size)
        used += (size_t)snprintf(
            ret + used, size - used, ", %zu other%s %s", all - (size_t)count,
            all == (size_t)count + 1 ? "" : "s",
            part[count] > 0 ? rps_shares_percent_text(percent, sizeof(percent), part[count])
                            : "under 1 %");
    return used < size ? used : size - 1;
}

char *rps_report_shares_of_run(const struct rps_report *report, char *ret, size_t size)
{
    const struct rps_share_group *group = report->shares.group;
    const size_t programs = report->shares.programs.all;
    char count[RPS_TEXT_NUMBER_SIZE], text[4 * NAME_SIZE + 128];
    const char *note = NULL;
    size_t used = 0;

    ret[0] = '\0';
    if (report->shares.group_count > 0 && group->program.share > 0) {
        used = append_shares(text, sizeof(text), &group->program, 1, 0);
        used += (size_t)sprintf(text + used, "; functions: ");
    }
    for (int t = 0; report->shares.group_count > 0 && t < group->count && t < FUNCTIONS_MAX; t++) {
        if (strcmp(group->top[t].name.name, RPS_SHARE_JIT) == 0)
            note = rps_share_jit_note(&report->run, &report->shares);
        else if (rps_share_has_brackets(group->top[t].name.name) && !note)
            note = RPS_SHARE_UNNAMED_NOTE;
    }
    if (report->shares.group_count > 0 && report->shares.sampling.frequency > 0 &&
        append_shares(text + used, sizeof(text) - used, group->top, group->count, programs) > 0)
        snprintf(ret, size, "CPU time: %s (%s samples%s%s)", text,
                 rps_text_count(count, sizeof(count), group->samples), note ? "; " : "",
                 note ? note : "");
    return ret;
}

char *rps_report_waits(const struct rps_report *report, char *ret, size_t size)
{
    const struct rps_share_owners *waits = &report->shares.waits;
    struct rps_share_top top[RPS_SHARES_OWNERS];

    for (size_t i = 0; i < waits->count; i++)
        top[i] = (struct rps_share_top){.name = waits->owner[i].name,
                                        .share = (double)waits->owner[i].samples /
                                                 (double)report->shares.wait_us};
    ret[0] = '\0';
    append_shares(ret, size, top, (int)waits->count, waits->all);
    return ret;
}

void rps_share_block_put(struct rps_block *block, const struct rps_sampling *sampling,
                         const struct rps_share_group *group, double cpu_s)
{
    double expected = rps_samples_expected(sampling, cpu_s, 0);

    rps_put_int(block, (int64_t)group->samples, 1);
    if (isfinite(expected) &&
        (rps_samples_at_most(sampling, 0, 0) || rps_samples_are_short(group->samples, expected)))
        rps_put_words(block, "%" PRIu64 " of %s%.0f", group->samples,
                      rps_samples_at_most(sampling, 0, 0) ? "at most " : "", expected);
    rps_put_number(block, expected);
    rps_put_number(block, group->unnamed);
    put_top(rps_put_block(block, top_columns, RPS_COUNT(top_columns)), group);
}

const struct rps_column *rps_share_block_columns(size_t *ret_count)
{
    static const struct rps_column stands_out[] = {{.name = "kind"},
                                                   {.name = "name"},
                                                   {"self_share", .kind = RPS_VALUE_SHARE},
                                                   {"elsewhere_share", .kind = RPS_VALUE_SHARE},
                                                   {.name = "module"},
                                                   {.name = "file"},
                                                   {"line", .kind = RPS_VALUE_INT}};

    *ret_count = RPS_COUNT(stands_out);
    return stands_out;
}

void rps_share_block_stand_out(struct rps_block *block, const struct rps_share_group *group)
{
    static const char *const kind[RPS_APART_KINDS] = {
        [RPS_APART_FUNCTION] = "function",
        [RPS_APART_PROGRAM] = "program",
        [RPS_APART_PROGRAM_2] = "program",
        [RPS_APART_CGROUP] = "control group",
        [RPS_APART_CALLER] = "caller",
        [RPS_APART_PLACE] = "place",
        [RPS_APART_TOTAL] = "function with callees",
    };
    char name[NAME_SIZE];

    for (int k = 0; k < RPS_APART_KINDS; k++) {
        const struct rps_share_apart *apart = &group->apart[k];

        if (!apart->is_found)
            continue;
        rps_put_texts(block, 2, kind[k], apart->name.name);
        rps_put_words(block, "%s",
                      k == RPS_APART_PLACE
                          ? rps_share_name_text(name, sizeof(name), &apart->name)
                          : rps_text_function(name, sizeof(name), apart->name.name));
        rps_put_number(block, apart->share);
        rps_put_number(block, apart->rest);
        rps_put_texts(block, 2, apart->name.module, apart->name.file);
        rps_put_int(block, apart->name.line, apart->name.line > 0);
    }
}

void rps_share_block_unsampled(struct rps_document *document, struct rps_block *block, int indent,
                               const struct rps_sampling *sampling,
                               const struct rps_unsampled *unsampled, double cpu_s)
{
    static const struct rps_column programs[] = {{.name = "name"},
                                                 {"processes", .kind = RPS_VALUE_INT},
                                                 {"threads", .kind = RPS_VALUE_INT},
                                                 {"cpu_s", .kind = RPS_VALUE_NUMBER}};
    double kernel_s = rps_samples_kernel_s(sampling, cpu_s);
    char text[512];
    struct rps_block *rows;

    rps_put_number(rps_document_field(document, "kernel_not_sampled_s", RPS_VALUE_NUMBER),
                   kernel_s > 0 ? kernel_s : NAN);
    rows = rps_document_block(document, "not_sampled", programs, RPS_COUNT(programs));
    for (size_t i = 0; i < unsampled->count; i++) {
        const struct rps_unsampled_program *program = &unsampled->program[i];

        rps_put_text(rows, program->name);
        rps_put_int(rows, (int64_t)program->processes, 1);
        rps_put_int(rows, (int64_t)program->threads, 1);
        rps_put_number(rows, program->cpu_s);
    }
    if (rps_samples_kernel_text(text, sizeof(text), sampling, cpu_s)[0])
        rps_block_wrap(block, indent, indent + 2, "%s", text);
    if (rps_unsampled_text(text, sizeof(text), unsampled, cpu_s)[0])
        rps_block_wrap(block, indent, indent + 2, "%s", text);
}
