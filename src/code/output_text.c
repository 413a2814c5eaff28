/*
 * Which code ran, for people: what was sampled and how far it can be trusted, then a table, a tree
 * of calls or the stacks that were seen most, and the functions of each phase.
 */
#include "rpistat/code_output.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "rpistat/output_file.h"
#include "rpistat/text.h"
#include "rpistat/table.h"
#include "rpistat/words.h"

#define WIDTH_DEFAULT 100
#define NAME_LEAST    20  /* characters of a function's name, however narrow the terminal */
#define CALL_LEAST    .01 /* of a tree, of all samples */
#define TOP_LEAST     .05 /* of a phase's samples, of functions beyond its first */
#define TOP_TEXT      3   /* functions of a phase; programs */
#define REASONS       3   /* modules of which it is said why they have no names */
#define WHOLE_CHAINS  .9  /* complete: calls can be trusted */
#define CELL_SIZE     320
#define INDENT        2

struct page {
    FILE *out;
    const struct rps_code_output *output;
    int width;
};

static const char *share_text(char *ret, double share)
{
    if (isfinite(share))
        snprintf(ret, CELL_SIZE, "%.1f %%", 100 * share);
    else
        strcpy(ret, "-");
    return ret;
}

static const char *part_text(char *ret, uint64_t samples, uint64_t all)
{
    return share_text(ret, rps_shares_part(samples, all));
}

/* "12.5 %", and of too few samples for shares "3 of 9". */
static const char *of_samples_text(char *ret, uint64_t samples, uint64_t all)
{
    if (all >= RPS_SHARES_SAMPLES_MIN)
        return part_text(ret, samples, all);
    snprintf(ret, CELL_SIZE, "%" PRIu64 " of %" PRIu64, samples, all);
    return ret;
}

/* "three.c:40", and "" where it is not known. */
static const char *line_text(char *ret, const char *file, int line)
{
    ret[0] = '\0';
    if (line > 0)
        snprintf(ret, CELL_SIZE, "%.250s:%d", rps_text_file_name(file), line);
    return ret;
}

/* --- what was sampled ------------------------------------------------------------------------- */

static void print_sampling(const struct page *page)
{
    const struct rps_sampling *s = &page->output->code->sampling;
    uint64_t samples = page->output->shares->samples;
    char share[CELL_SIZE], text[CELL_SIZE];

    fprintf(page->out, "%" PRIu64 " sample%s of ", samples, samples == 1 ? "" : "s");
    rps_text_print(page->out, s->event);
    if (s->frequency > 0)
        fprintf(page->out, ", %" PRIu64 " a second and CPU", s->frequency);
    else
        fprintf(page->out, ", one each %" PRIu64 " of them", s->threshold);
    if (isfinite(page->output->time.off_cpu))
        fprintf(page->out, "; %s of the time off the CPU, where none are taken",
                share_text(share, page->output->time.off_cpu));
    fputc('\n', page->out);
    if (samples < RPS_SHARES_SAMPLES_MIN)
        fputs("These are too few for shares.\n", page->out);
    if (rps_samples_short_text(text, sizeof(text), s, samples, page->output->time.cpu_s)[0])
        fprintf(page->out, "%s\n", text);
    if (s->lost > 0)
        fprintf(page->out, "Lost: %s of the run's samples, for which there was no room.\n",
                of_samples_text(share, s->lost, s->samples + s->lost));
    if (s->throttled > 0)
        fprintf(page->out,
                "The kernel stopped sampling for a moment %" PRIu64
                " time%s: too many samples a second.\n",
                s->throttled, s->throttled == 1 ? "" : "s");
}

static void print_chains(const struct page *page)
{
    const struct rps_sampling *s = &page->output->code->sampling;

    if (strcmp(s->stacks, "none") == 0) {
        fputs("Callers were not recorded (--stacks none): totals are those of the functions "
              "themselves.\n",
              page->out);
        return;
    }
    if (s->samples >= RPS_SHARES_SAMPLES_MIN)
        fprintf(page->out, "Chains complete: %.0f %%",
                100 * rps_shares_part(s->complete, s->samples));
    else
        fprintf(page->out, "Chains complete: %" PRIu64 " of %" PRIu64, s->complete, s->samples);
    if ((double)s->complete < WHOLE_CHAINS * (double)s->samples)
        fputs("; the callers of the others are not known: trust what functions\n"
              "took themselves (self), not totals, trees and flame graphs. Build with\n"
              "-fno-omit-frame-pointer, or record with --stacks dwarf",
              page->out);
    fputs(".\n", page->out);
}

/* Of several processes, whose programs had most: functions do not say so where many have no
 * names. */
static void print_programs(const struct page *page)
{
    const struct rps_shares *programs = page->output->programs;
    char name[CELL_SIZE], share[CELL_SIZE];

    if (!programs || programs->samples < RPS_SHARES_SAMPLES_MIN ||
        !rps_shares_has_processes(page->output->code))
        return;
    for (size_t i = 0; i < programs->count && i < TOP_TEXT; i++)
        fprintf(page->out, "%s%s %s", i > 0 ? ", " : "Programs: ",
                rps_text_printable(name, sizeof(name), programs->share[i].name),
                part_text(share, programs->share[i].self, programs->samples));
    if (programs->count > TOP_TEXT)
        fputs("; all of them: --by program", page->out);
    fputs(".\n", page->out);
}

static void print_heading(const struct page *page)
{
    const struct rps_code_output *output = page->output;
    int used = fprintf(page->out, "Code of run %" PRId64 ", ", output->run->run_id);
    int width = page->width - used - (output->part ? rps_text_width(output->part) + 2 : 0);
    char title[4096], cut[sizeof(title)];

    rps_run_title(title, sizeof(title), output->run);
    fputs(rps_words_cut(cut, sizeof(cut), title, width > NAME_LEAST ? width : NAME_LEAST),
          page->out);
    if (output->part)
        fputs(", ", page->out);
    rps_text_print(page->out, output->part ? output->part : "");
    fputc('\n', page->out);
    print_sampling(page);
    if (output->by < RPS_SHARES_PROCESS && output->code->sampling.samples > 0)
        print_chains(page);
    print_programs(page);
}

/* --- the table -------------------------------------------------------------------------------- */

static size_t rows_of(const struct page *page, size_t count)
{
    return page->output->at_most > 0 && page->output->at_most < count ? page->output->at_most
                                                                      : count;
}

static void begin_table(const struct page *page, struct rps_text_table *table)
{
    enum rps_shares_by by = page->output->by;
    int is_task = by >= RPS_SHARES_PROCESS;

    rps_table_add_column(table, is_task ? "Share" : "Self", "", 0);
    if (!is_task)
        rps_table_add_column(table, "Total", "", 0);
    rps_table_add_column(table, "Samples", "", 0);
    if (by == RPS_SHARES_PROCESS || by == RPS_SHARES_THREAD)
        rps_table_add_column(table, "PID", "", 0);
    if (by == RPS_SHARES_THREAD)
        rps_table_add_column(table, "TID", "", 0);
    if (by <= RPS_SHARES_LINE) {
        rps_table_add_column(table, "Module", "", 1);
        rps_table_add_column(table, "Line", "", 1);
    }
    rps_table_add_column(table,
                         by == RPS_SHARES_MODULE    ? "Module"
                         : by == RPS_SHARES_PROCESS ? "Process"
                         : by == RPS_SHARES_THREAD  ? "Thread"
                         : by == RPS_SHARES_PROGRAM ? "Program"
                                                    : "Function",
                         "", 1);
}

static void set_number(struct rps_text_table *table, int column, int64_t number)
{
    char text[32];

    snprintf(text, sizeof(text), "%" PRId64, number);
    rps_table_set(table, column, text);
}

/* name_width: of the last column; 0: it is left out, to see what the others need. */
static void fill_share(const struct page *page, struct rps_text_table *table,
                       const struct rps_share *share, int name_width)
{
    const struct rps_code_output *output = page->output;
    char text[CELL_SIZE];
    int c = 0;

    rps_table_add_row(table);
    rps_table_set(table, c++, part_text(text, share->self, output->shares->samples));
    if (output->by < RPS_SHARES_PROCESS)
        rps_table_set(table, c++, part_text(text, share->total, output->shares->samples));
    set_number(table, c++, (int64_t)share->self);
    if (output->by == RPS_SHARES_PROCESS || output->by == RPS_SHARES_THREAD)
        set_number(table, c++, share->pid);
    if (output->by == RPS_SHARES_THREAD)
        set_number(table, c++, share->tid);
    if (output->by <= RPS_SHARES_LINE) {
        rps_table_set(table, c++,
                      rps_words_cut(text, CELL_SIZE, rps_text_file_name(share->module), 24));
        rps_table_set(table, c++, line_text(text, share->file, share->line));
    }
    if (name_width > 0)
        rps_table_set(table, c, rps_words_cut(text, CELL_SIZE, share->name, name_width));
}

static int print_table(const struct page *page, struct rps_error *err)
{
    const struct rps_shares *shares = page->output->shares;
    size_t rows = rows_of(page, shares->count);
    struct rps_text_table table = {0};
    int name_width = 0, result;

    for (int pass = 0; pass < 2; pass++) {
        rps_table_free(&table);
        begin_table(page, &table);
        for (size_t i = 0; i < rows; i++)
            fill_share(page, &table, &shares->share[i], name_width);
        if (pass == 0 && !table.failed)
            name_width = page->width - rps_table_width(&table, table.column_count - 1) - 2;
        if (name_width < NAME_LEAST)
            name_width = NAME_LEAST;
    }
    result = rps_table_print(page->out, &table, table.column_count, page->width, err);
    rps_table_free(&table);
    if (rows < shares->count)
        fprintf(page->out, "\nand %zu more: --at-most\n", shares->count - rows);
    return result;
}

/* Why frames of that module have no names; NULL: nobody has looked for them. */
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

/* The modules that most samples without names are in, each once. */
static void print_reasons(const struct page *page)
{
    const struct rps_shares *shares = page->output->shares;
    const char *said[REASONS];
    int count = 0;

    for (size_t i = 0; i < shares->count && count < REASONS; i++) {
        const struct rps_share *share = &shares->share[i];
        const char *reason = NULL;
        int s = 0;

        while (s < count && strcmp(said[s], share->module) != 0)
            s++;
        if (s == count && share->how == RPS_LOCATION_NONE && share->self > 0)
            reason = find_reason(page->output->code, share->module);
        if (!reason)
            continue;
        said[count++] = share->module;
        fputs("  ", page->out);
        rps_text_print(page->out, share->module);
        fputs(": ", page->out);
        rps_text_print(page->out, reason);
        fputc('\n', page->out);
    }
}

static void print_unnamed(const struct page *page)
{
    uint64_t unnamed = rps_code_unnamed(page->output);
    char share[CELL_SIZE];

    if (unnamed == 0)
        return;
    fprintf(page->out,
            "\n%s of the samples are in code without names (module+address): `rpistat code "
            "--resolve` looks\nfor them again, with --binaries in files that you name.\n",
            of_samples_text(share, unnamed, page->output->shares->samples));
    print_reasons(page);
}

/* --- calls ------------------------------------------------------------------------------------ */

struct tree {
    const struct page *page;
    size_t *order;  /* owned; nodes by parent, most samples first */
    size_t *callee; /* owned; of each node where its next one is in `order` */
    size_t *count;  /* owned; how many it has */
};

static int by_parent(const void *a, const void *b, void *context)
{
    const struct rps_call *call = context;
    size_t x = *(const size_t *)a, y = *(const size_t *)b;

    if (call[x].parent != call[y].parent)
        return call[x].parent < call[y].parent ? -1 : 1;
    if (call[x].total != call[y].total)
        return call[x].total < call[y].total ? 1 : -1;
    return (x > y) - (x < y);
}

static void print_call(const struct tree *tree, size_t node, int depth)
{
    const struct page *page = tree->page;
    const struct rps_call *call = &page->output->calls->call[node];
    uint64_t all = page->output->calls->call[0].total;
    char total[CELL_SIZE], self[CELL_SIZE], name[CELL_SIZE], line[CELL_SIZE];
    int width = page->width - 20 - INDENT * depth;

    fprintf(
        page->out, "  %7s  %7s  %*s%s", part_text(total, call->total, all),
        call->self > 0 ? part_text(self, call->self, all) : "", INDENT * depth, "",
        rps_words_cut(name, CELL_SIZE, call->function, width > NAME_LEAST ? width : NAME_LEAST));
    line_text(line, call->file, call->line);
    if (line[0] && rps_text_width(name) + rps_text_width(line) + 2 <= width) {
        fputs("  ", page->out);
        rps_text_print(page->out, line);
    }
    fputs(call->is_inlined ? " inlined\n" : "\n", page->out);
}

/* The nodes below one, without recursion: stacks may be deep. */
static void print_callees(const struct tree *tree)
{
    const struct rps_call *call = tree->page->output->calls->call;
    size_t node = 0;
    int depth = 0;

    for (;;) {
        if (tree->count[node] > 0) {
            size_t next = tree->order[tree->callee[node]++];

            tree->count[node]--;
            if (rps_shares_part(call[next].total, call[0].total) < CALL_LEAST) {
                tree->count[node] = 0;
                continue;
            }
            print_call(tree, next, depth++);
            node = next;
        } else if (node == 0) {
            break;
        } else {
            node = call[node].parent;
            depth--;
        }
    }
}

static int print_tree(const struct page *page, struct rps_error *err)
{
    const struct rps_calls *calls = page->output->calls;
    struct tree tree = {.page = page};
    int result = 0;

    tree.order = malloc((calls->count + 1) * sizeof(*tree.order));
    tree.callee = calloc(calls->count, sizeof(*tree.callee));
    tree.count = calloc(calls->count, sizeof(*tree.count));
    if (!tree.order || !tree.callee || !tree.count) {
        result = rps_error_memory(err);
    } else {
        for (size_t i = 1; i < calls->count; i++)
            tree.order[i - 1] = i;
        qsort_r(tree.order, calls->count - 1, sizeof(*tree.order), by_parent, calls->call);
        for (size_t i = 0; i + 1 < calls->count; i++) {
            size_t parent = calls->call[tree.order[i]].parent;

            if (tree.count[parent]++ == 0)
                tree.callee[parent] = i;
        }
        fputs("\n    Total     Self  Function, and what it calls\n", page->out);
        print_callees(&tree);
    }
    free(tree.order);
    free(tree.callee);
    free(tree.count);
    return result;
}

static int print_stacks(const struct page *page, struct rps_error *err)
{
    const struct rps_calls *calls = page->output->calls;
    size_t count, rows, *order = rps_code_stacks_order(calls, &count);
    char share[CELL_SIZE], way[16384];

    if (!order)
        return rps_error_memory(err);
    rows = rows_of(page, count);
    fputs("\n    Share  Samples  Stack\n", page->out);
    for (size_t i = 0; i < rows; i++)
        fprintf(page->out, "  %7s  %7" PRIu64 "  %s\n",
                part_text(share, calls->call[order[i]].self, calls->call[0].total),
                calls->call[order[i]].self, rps_code_way_text(way, sizeof(way), calls, order[i]));
    if (rows < count)
        fprintf(page->out, "\nand %zu more: --at-most\n", count - rows);
    free(order);
    return 0;
}

/* --- phases ----------------------------------------------------------------------------------- */

static void top_text(char ret[CELL_SIZE], const struct rps_share_group *group)
{
    char name[CELL_SIZE];
    size_t used = 0;

    ret[0] = '\0';
    for (int t = 0; t < group->count && t < TOP_TEXT && used < CELL_SIZE; t++) {
        if (t > 0 && group->top[t].share < TOP_LEAST)
            break;
        used += (size_t)snprintf(ret + used, CELL_SIZE - used, "%s%s %.0f %%", t > 0 ? ", " : "",
                                 rps_share_name_text(name, sizeof(name), &group->top[t].name),
                                 100 * group->top[t].share);
    }
    if (group->samples < RPS_SHARES_SAMPLES_MIN)
        snprintf(ret, CELL_SIZE, "too few to tell");
}

/* "120", and where more were expected "120 of 400". */
static const char *samples_text(char *ret, uint64_t samples, double expected)
{
    int used = snprintf(ret, CELL_SIZE, "%" PRIu64, samples);

    if (rps_samples_are_short(samples, expected))
        snprintf(ret + used, CELL_SIZE - (size_t)used, " of %.0f", expected);
    return ret;
}

static int print_groups(const struct page *page, struct rps_error *err)
{
    const struct rps_part_shares *groups = page->output->groups;
    char text[CELL_SIZE], label[RPS_PHASE_LABEL_SIZE], cut[CELL_SIZE];
    struct rps_text_table table = {0};
    int result;

    if (!groups || groups->group_count == 0)
        return 0;
    fputs("\nBy phase, the program's functions with the kernel's work for them:\n", page->out);
    rps_table_add_column(&table, "Phase", "", 1);
    rps_table_add_column(&table, "Samples", "", 0);
    rps_table_add_column(&table, "Off CPU", "", 0);
    rps_table_add_column(&table, "Functions", "", 1);
    for (size_t g = 0; g < groups->group_count; g++) {
        const struct rps_part_time *time = &page->output->groups_time[g];

        if (!isfinite(time->off_cpu)) /* the part has nothing of it */
            continue;
        rps_table_add_row(&table);
        rps_table_set(&table, 0, rps_phase_label((int)g, label));
        rps_table_set(
            &table, 1,
            samples_text(text, groups->group[g].samples,
                         rps_samples_expected(&page->output->code->sampling, time->cpu_s)));
        rps_table_set(&table, 2, share_text(text, time->off_cpu));
        top_text(text, &groups->group[g]);
        rps_table_set(&table, 3, rps_words_cut(cut, CELL_SIZE, text, page->width - 30));
    }
    result = rps_table_print(page->out, &table, table.column_count, page->width, err);
    rps_table_free(&table);
    return result;
}

static int write_page(const struct page *page, struct rps_error *err)
{
    int result = 0;

    print_heading(page);
    if (page->output->view == RPS_CODE_TREE)
        result = print_tree(page, err);
    else if (page->output->view == RPS_CODE_STACKS)
        result = print_stacks(page, err);
    else if (page->output->shares->count > 0)
        result = print_table(page, err);
    print_unnamed(page);
    return result == 0 ? print_groups(page, err) : result;
}

int rps_code_output_text(FILE *out, const struct rps_code_output *output, struct rps_error *err)
{
    const struct page page = {
        .out = out, .output = output, .width = output->width > 0 ? output->width : WIDTH_DEFAULT};
    locale_t before = (locale_t)0;
    int result;

    if (output->locale != (locale_t)0)
        before = uselocale(output->locale);
    result = write_page(&page, err);
    if (output->locale != (locale_t)0)
        uselocale(before);
    return result == 0 ? rps_output_written(out, "the code", err) : result;
}
